"""What each PTX instruction becomes: names as docs/program-format.md gives them, operands in PTX's order."""

from __future__ import annotations

import pytest

from tests.ptx_snippets import spelled

INTEGERS = [
    ("add.s32 %r0, %r1, %r2;", "add.b32 r, r, r"),
    ("add.u32 %r0, %r1, -4;", "add.b32 r, r, 0xfffffffc"),
    ("add.s64 %rd0, %rd1, -4;", "add.b64 d, d, 0xfffffffffffffffcl"),
    ("add.u16 %rs0, %rs1, -1;", "add.b16 r, r, 0xffff"),
    ("add.sat.s32 %r0, %r1, %r2;", "add.sat.s32 r, r, r"),
    ("sub.s32 %r0, 6, %r1;", "sub.b32 r, 0x6, r"),
    ("mul.lo.s32 %r0, %r1, %r2;", "mul.lo.b32 r, r, r"),
    ("mul.lo.u64 %rd0, %rd1, 3;", "mul.lo.b64 d, d, 0x3l"),
    ("mul.hi.s32 %r0, %r1, %r2;", "mul.hi.s32 r, r, r"),
    ("mul.hi.u64 %rd0, %rd1, %rd2;", "mul.hi.u64 d, d, d"),
    ("mul.wide.s32 %rd0, %r1, 4;", "mul.wide.s32 d, r, 0x4"),
    ("mul.wide.u16 %r0, %rs1, %rs2;", "mul.wide.u16 r, r, r"),
    ("mad.lo.s32 %r0, %r1, %r2, %r3;", "mad.lo.b32 r, r, r, r"),
    ("mad.wide.u32 %rd0, %r1, %r2, %rd3;", "mad.wide.u32 d, r, r, d"),
    ("mad.hi.u32 %r0, %r1, %r2, %r3;", "mad.hi.u32 r, r, r, r"),
    ("mul24.lo.s32 %r0, %r1, %r2;", "mul24.lo.s32 r, r, r"),
    ("sad.u32 %r0, %r1, %r2, %r3;", "sad.u32 r, r, r, r"),
    ("div.s32 %r0, %r1, %r2;", "div.s32 r, r, r"),
    ("rem.u64 %rd0, %rd1, 1000;", "rem.u64 d, d, 0x3e8l"),
    ("div.u16 %rs0, %rs1, %rs2;", "div.u16 r, r, r"),
    ("abs.s32 %r0, %r1;", "abs.s32 r, r"),
    ("neg.s64 %rd0, %rd1;", "neg.s64 d, d"),
    ("min.s32 %r0, %r1, 5;", "min.s32 r, r, 0x5"),
    ("max.u64 %rd0, %rd1, %rd2;", "max.u64 d, d, d"),
    ("min.u16 %rs0, %rs1, %rs2;", "min.u32 r, r, r"),
    ("min.s16 %rs0, %rs1, %rs2;", "min.s16 r, r, r"),
    ("popc.b64 %r0, %rd1;", "popc.b64 r, d"),
    ("clz.b32 %r0, %r1;", "clz.b32 r, r"),
    ("bfind.shiftamt.u32 %r0, %r1;", "bfind.shiftamt.u32 r, r"),
    ("brev.b64 %rd0, %rd1;", "brev.b64 d, d"),
    ("bfe.s64 %rd0, %rd1, %r2, 8;", "bfe.s64 d, d, r, 0x8"),
    ("bfi.b64 %rd0, %rd1, %rd2, 32, 32;", "bfi.b64 d, d, d, 0x20, 0x20"),
    ("prmt.b32 %r0, %r1, %r2, 0x1234;", "prmt.b32 r, r, r, 0x1234"),
    ("shf.l.wrap.b32 %r0, %r1, %r2, 7;", "shf.l.wrap.b32 r, r, r, 0x7"),
    ("dp4a.s32.u32 %r0, %r1, %r2, %r3;", "dp4a.s32.u32 r, r, r, r"),
    ("lop3.b32 %r0, %r1, %r2, %r3, 0x96;", "lop3.b32 r, r, r, r, 0x96"),
    ("szext.wrap.s32 %r0, %r1, %r2;", "szext.wrap.s32 r, r, r"),
]

LOGIC = [
    ("and.b32 %r0, %r1, 255;", "and.b32 r, r, 0xff"),
    ("or.b64 %rd0, %rd1, %rd2;", "or.b64 d, d, d"),
    ("xor.b16 %rs0, %rs1, %rs2;", "xor.b32 r, r, r"),
    ("not.b32 %r0, %r1;", "not.b32 r, r"),
    ("not.b16 %rs0, %rs1;", "not.b16 r, r"),
    ("cnot.b32 %r0, %r1;", "cnot.b32 r, r"),
    ("and.pred %p0, %p1, %p2;", "and.pred p, p, p"),
    ("not.pred %p0, %p1;", "not.pred p, p"),
    ("xor.pred %p0, %p1, %p2;", "xor.pred p, p, p"),
    ("shl.b32 %r0, %r1, 2;", "shl.b32 r, r, 0x2"),
    ("shl.b64 %rd0, %rd1, %r2;", "shl.b64 d, d, r"),
    ("shl.b16 %rs0, %rs1, 1;", "shl.b16 r, r, 0x1"),
    ("shr.s32 %r0, %r1, %r2;", "shr.s32 r, r, r"),
    ("shr.b32 %r0, %r1, 31;", "shr.u32 r, r, 0x1f"),
    ("shr.u16 %rs0, %rs1, %r2;", "shr.u32 r, r, r"),
    ("shr.s16 %rs0, %rs1, %r2;", "shr.s16 r, r, r"),
]

COMPARISONS = [
    ("setp.lt.s32 %p0, %r1, %r2;", "setp.lt.s32 p, _, r, r"),
    ("setp.eq.s32 %p0, %r1, 0;", "setp.eq.b32 p, _, r, 0x0"),
    ("setp.ne.u64 %p0, %rd1, %rd2;", "setp.ne.b64 p, _, d, d"),
    ("setp.eq.s16 %p0, %rs1, 3;", "setp.eq.b32 p, _, r, 0x3"),
    ("setp.gt.u16 %p0, %rs1, %rs2;", "setp.gt.u32 p, _, r, r"),
    ("setp.gt.s16 %p0, %rs1, -1;", "setp.gt.s16 p, _, r, 0xffff"),
    ("setp.lo.u32 %p0, %r1, %r2;", "setp.lt.u32 p, _, r, r"),
    ("setp.hs.u64 %p0, %rd1, %rd2;", "setp.ge.u64 p, _, d, d"),
    ("setp.ltu.f32 %p0, %f1, 0f3F800000;", "setp.ltu.f32 p, _, r, 0x3f800000"),
    ("setp.neu.ftz.f32 %p0, %f1, %f2;", "setp.neu.ftz.f32 p, _, r, r"),
    ("setp.num.f64 %p0, %fd1, %fd2;", "setp.num.f64 p, _, d, d"),
    ("setp.lt.s32 %p0|%p9, %r1, %r2;", "setp.lt.s32 p, p, r, r"),
    ("setp.lt.s32 _|%p9, %r1, %r2;", "setp.lt.s32 _, p, r, r"),
    ("setp.lt.and.s32 %p0, %r1, %r2, !%p1;", "setp.lt.and.s32 p, _, r, r, !p"),
    ("setp.eq.or.ftz.f32 %p0|%p9, %f1, %f2, %p1;", "setp.eq.or.ftz.f32 p, p, r, r, p"),
    ("set.eq.u32.f16x2 %r0, %r1, %r2;", "set.eq.u32.f16x2 r, r, r"),
    ("selp.b32 %r0, 1, 2, %p1;", "selp.b32 r, 0x1, 0x2, p"),
    ("selp.f32 %f0, %f1, 0f00000000, !%p1;", "selp.b32 r, r, 0x0, !p"),
    ("selp.f64 %fd0, %fd1, %fd2, %p1;", "selp.b64 d, d, d, p"),
    ("selp.u16 %rs0, %rs1, %rs2, %p1;", "selp.b32 r, r, r, p"),
    ("testp.finite.f32 %p0, %f1;", "testp.finite.f32 p, r"),
    ("isspacep.shared %p0, %rd1;", "isspacep.shared p, d"),
]

FLOATS = [
    ("add.f32 %f0, %f1, %f2;", "add.f32 r, r, r"),
    ("add.rn.f32 %f0, %f1, 0fBF800000;", "add.f32 r, r, 0xbf800000"),
    ("add.rz.ftz.f32 %f0, %f1, %f2;", "add.rz.ftz.f32 r, r, r"),
    ("add.ftz.sat.f32 %f0, %f1, %f2;", "add.ftz.sat.f32 r, r, r"),
    ("sub.f64 %fd0, %fd1, 0d3FF0000000000000;", "sub.f64 d, d, 0x3ff0000000000000l"),
    ("mul.rn.f32 %f0, %f1, %f2;", "mul.f32 r, r, r"),
    ("fma.rn.f32 %f0, %f1, %f2, %f3;", "fma.f32 r, r, r, r"),
    ("fma.rm.ftz.f32 %f0, %f1, %f2, %f3;", "fma.rm.ftz.f32 r, r, r, r"),
    ("mad.rn.f32 %f0, %f1, %f2, %f3;", "fma.f32 r, r, r, r"),
    ("div.rn.f32 %f0, %f1, %f2;", "div.f32 r, r, r"),
    ("div.full.f32 %f0, %f1, %f2;", "div.full.f32 r, r, r"),
    ("div.approx.ftz.f32 %f0, %f1, %f2;", "div.approx.ftz.f32 r, r, r"),
    ("sqrt.rn.f64 %fd0, %fd1;", "sqrt.f64 d, d"),
    ("sqrt.rp.f32 %f0, %f1;", "sqrt.rp.f32 r, r"),
    ("rcp.rn.f32 %f0, %f1;", "rcp.f32 r, r"),
    ("rcp.approx.ftz.f64 %fd0, %fd1;", "rcp.approx.ftz.f64 d, d"),
    ("ex2.approx.ftz.f32 %f0, %f1;", "ex2.approx.ftz.f32 r, r"),
    ("rsqrt.approx.f32 %f0, %f1;", "rsqrt.approx.f32 r, r"),
    ("neg.f32 %f0, %f1;", "neg.f32 r, r"),
    ("abs.ftz.f32 %f0, %f1;", "abs.ftz.f32 r, r"),
    ("min.NaN.f32 %f0, %f1, %f2;", "min.NaN.f32 r, r, r"),
    ("copysign.f32 %f0, %f1, %f2;", "copysign.f32 r, r, r"),
    ("add.f16 %rs0, %rs1, %rs2;", "add.f16 r, r, r"),
    ("fma.rn.f16x2 %r0, %r1, %r2, %r3;", "fma.f16x2 r, r, r, r"),
    ("add.f32 %f0, %f1, 0d3FF0000000000000;", "add.f32 r, r, 0x3f800000"),
    ("add.f64 %fd0, %fd1, 1.5;", "add.f64 d, d, 0x3ff8000000000000l"),
]

CONVERSIONS = [
    ("cvt.rn.f32.s32 %f0, %r1;", "cvt.rn.f32.s32 r, r"),
    ("cvt.rzi.s32.f32 %r0, %f1;", "cvt.rzi.s32.f32 r, r"),
    ("cvt.s64.s32 %rd0, %r1;", "cvt.s64.s32 d, r"),
    ("cvt.u32.u64 %r0, %rd1;", "cvt.u32.u64 r, d"),
    ("cvt.u16.u32 %rs0, %r1;", "cvt.u16.u32 r, r"),
    ("cvt.s32.s16 %r0, %rs1;", "cvt.s32.s16 r, r"),
    ("cvt.u16.u8 %rs0, %rs1;", "cvt.u16.u8 r, r"),
    ("cvt.sat.f32.f32 %f0, %f1;", "cvt.sat.f32.f32 r, r"),
    ("cvt.rn.f16.f32 %rs0, %f1;", "cvt.rn.f16.f32 r, r"),
    ("cvt.rn.f16x2.f32 %r0, %f1, %f2;", "cvt.rn.f16x2.f32 r, r, r"),
    ("mov.b64 %rd0, {%r1, %r2};", "mov.pack d, r, r"),
    ("mov.b32 %r0, {%rs1, %rs2};", "mov.pack.b32 r, r, r"),
    ("mov.b64 {%r0, %r9}, %rd1;", "mov.unpack r, r, d"),
    ("mov.b64 {_, %r9}, %fd1;", "mov.unpack _, r, d"),
    ("mov.b64 {%rs0, _, _, _}, %rd1;", "mov.unpack.v4.b64 r, _, _, _, d"),
    ("cvta.to.shared.u64 %rd0, %rd1;", "cvta.to.shared.b64 d, d"),
    ("cvta.local.u64 %rd0, %rd1;", "cvta.local.b64 d, d"),
    ("mov.u64 %rd0, %clock64;", "mov.clock64 d"),
    ("mov.u32 %r0, %clock;", "mov.clock r"),
]

MEMORY = [
    ("ld.global.f32 %f0, [%rd1];", "ld.global.b32 r, d"),
    ("ld.global.nc.f64 %fd0, [%rd1+-8];", "ld.global.nc.b64 d, d, -8"),
    ("ld.volatile.global.s32 %r0, [%rd1+4];", "ld.volatile.global.b32 r, d, +4"),
    ("ld.acquire.gpu.global.u32 %r0, [%rd1];", "ld.acquire.gpu.global.b32 r, d"),
    ("ld.weak.global.cs.u32 %r0, [%rd1];", "ld.global.b32 r, d"),
    ("ld.u8 %rs0, [%rd1];", "ld.generic.u8 r, d"),
    ("ld.global.s8 %r0, [%rd1];", "ld.global.s8 r, d"),
    ("ld.shared.u16 %rs0, [%r1+2];", "ld.shared.u16 r, r, +2"),
    ("ld.local.s16 %rs0, [%rd1];", "ld.local.u16 r, d"),
    ("ld.const.b32 %r0, [%rd1];", "ld.const.b32 r, d"),
    ("ld.global.v2.f32 {%f0, %r9}, [%rd1];", "ld.global.b32.v2 r, r, d"),
    ("ld.global.v2.u64 {%rd0, _}, [%rd1];", "ld.global.b64.v2 d, _, d"),
    ("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f0, _, _, %r9}, [%rd1];", "ld.global.nc.b32.v4 r, _, _, r, d"),
    ("ld.param.u32 %r0, [a+12];", "ld.param.b32 r, +12"),
    ("ld.param.u32 %r0, [%rd1+4];", "ld.param.indexed.b32 r, d, +4"),
    ("st.global.f32 [%rd1+4], %f1;", "st.global.b32 d, r, +4"),
    ("st.global.f32 [%rd1], 0f3F800000;", "st.global.b32 d, 0x3f800000"),
    ("st.shared.f64 [%r1], %fd1;", "st.shared.b64 r, d"),
    ("st.global.u8 [%rd1], %rs1;", "st.global.u8 d, r"),
    ("st.global.s16 [%rd1], %r1;", "st.global.u16 d, r"),
    ("st.release.sys.global.u32 [%rd1], 0;", "st.release.sys.global.b32 d, 0x0"),
    ("st.local.v4.f32 [%rd1+16], {%f1, %f2, %f3, %f1};", "st.local.b32.v4 d, r, r, r, r, +16"),
    ("st.volatile.shared.u32 [%r1], %r2;", "st.volatile.shared.b32 r, r"),
    ("atom.global.add.u32 %r0, [%rd1], 1;", "atom.add.global.b32 r, d, 0x1"),
    ("atom.global.add.u32 %r5, [%rd1], 1;", "atom.add.global.b32 _, d, 0x1"),
    ("atom.shared.add.f32 %f0, [%r1+4], %f1;", "atom.add.shared.f32 r, r, r, +4"),
    ("atom.add.noftz.f16x2 %r0, [%rd1], %r1;", "atom.add.noftz.generic.f16x2 r, d, r"),
    ("atom.global.cas.b64 %rd0, [%rd1], %rd2, %rd3;", "atom.cas.global.b64 d, d, d, d"),
    ("atom.relaxed.gpu.global.max.s32 %r0, [%rd1], %r1;", "atom.max.global.s32 r, d, r"),
    ("atom.acq_rel.gpu.global.exch.b32 %r0, [%rd1], %r1;", "atom.acq_rel.gpu.exch.global.b32 r, d, r"),
    ("atom.global.cta.inc.u32 %r0, [%rd1], 5;", "atom.relaxed.cta.inc.global.u32 r, d, 0x5"),
    ("red.global.add.f64 [%rd1], %fd1;", "red.add.global.f64 d, d"),
]

TOGETHER = [
    ("bar.sync 0;", "bar.sync 0x0, _"),
    ("bar.sync %r1, 64;", "bar.sync r, 0x40"),
    ("barrier.cta.sync.aligned 1, 32;", "bar.sync 0x1, 0x20"),
    ("barrier.sync 1;", "barrier.sync 0x1, _"),
    ("bar.arrive 1, 64;", "bar.arrive 0x1, 0x40"),
    ("bar.red.popc.u32 %r0, 0, %p1;", "bar.red.popc.u32 r, 0x0, _, p"),
    ("bar.red.and.pred %p0, 0, 64, !%p1;", "bar.red.and.pred p, 0x0, 0x40, !p"),
    ("bar.warp.sync 0xffffffff;", "bar.warp.sync 0xffffffff"),
    ("shfl.sync.down.b32 %r0|%p0, %r1, 16, 31, -1;", "shfl.sync.down.b32 r, p, r, 0x10, 0x1f, 0xffffffff"),
    ("shfl.sync.idx.b32 %r0, %r1, %r2, %r3, 15;", "shfl.sync.idx.b32 r, _, r, r, r, 0xf"),
    ("shfl.sync.idx.b32 %r0, %r1, %r2, %r3, %r4;", "shfl.sync.idx.b32 r, _, p, r, r, r, r, true"),
    ("vote.sync.ballot.b32 %r0, !%p1, -1;", "vote.sync.ballot.b32 r, !p, 0xffffffff"),
    ("vote.ballot.sync.b32 %r0, %p1, -1;", "vote.sync.ballot.b32 r, p, 0xffffffff"),
    ("vote.sync.any.pred %p0, 1, %r1;", "vote.sync.any.pred p, true, r"),
    ("match.any.sync.b64 %r0, %rd1, -1;", "match.any.sync.b64 r, d, 0xffffffff"),
    ("match.all.sync.b32 %r0|%p0, %r1, -1;", "match.all.sync.b32 r, p, r, 0xffffffff"),
    ("redux.sync.max.s32 %r0, %r1, -1;", "redux.sync.max.s32 r, r, 0xffffffff"),
    ("activemask.b32 %r0;", "activemask.b32 r"),
    ("membar.gl;", "membar.gl"),
    ("fence.acq_rel.gpu;", "fence.acq_rel.gpu"),
    ("nanosleep.u32 100;", "nanosleep.u32 0x64"),
]


APART = [
    ("cp.async.ca.shared.global [%r1], [%rd1+8], 4;", "cp.async.b32 r, d, _, false, +8"),
    ("cp.async.cg.shared::cta.global.L2::128B [%r1], [%rd1], 16, %r2;", "cp.async.b128 r, d, r, false"),
    ("cp.async.ca.shared.global [%r1], [%rd1], 8, !%p1;", "cp.async.b64 r, d, _, !p"),
    ("cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %rd2;", "cp.async.b128 r, d, _, false"),
    ("cp.async.wait_group 1;", "cp.async.wait_group +1"),
    ("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];", "cp.async.mbarrier.arrive.noinc.shared.b64 r"),
    ("mbarrier.init.shared.b64 [%r1], 32;", "mbarrier.init.shared.b64 r, 0x20"),
    ("mbarrier.arrive.shared.b64 %rd0, [%r1];", "mbarrier.arrive.shared.b64 d, r, _"),
    ("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %rd0, [%r1], 2;", "mbarrier.arrive.shared.b64 d, r, 0x2"),
    ("mbarrier.arrive.relaxed.cluster.b64 _, [%rd1];", "mbarrier.arrive.relaxed.generic.b64 _, d, _"),
    ("mbarrier.arrive.expect_tx.shared.b64 _, [%r1], %r2;", "mbarrier.arrive.expect_tx.shared.b64 _, r, r"),
    (
        "mbarrier.try_wait.parity.acquire.cta.shared.b64 %p0, [%r1], 1, 99;",
        "mbarrier.test_wait.parity.shared.b64 p, r, 0x1",
    ),
]


@pytest.mark.parametrize(
    ("ptx", "expected"), [*APART, *INTEGERS, *LOGIC, *COMPARISONS, *FLOATS, *CONVERSIONS, *MEMORY, *TOGETHER]
)
def test_an_instruction_has_one_spelling(ptx: str, expected: str) -> None:
    assert spelled(ptx) == [expected]


SEVERAL = [
    ("ld.global.u32 %rd0, [%rd1];", ["ld.global.b32 r, d", "cvt.u64.u32 d, r"]),
    ("ld.global.s8 %rd0, [%rd1];", ["ld.global.s8 r, d", "cvt.s64.s32 d, r"]),
    ("ld.global.s8 %rs0, [%rd1];", ["ld.global.s8 r, d", "cvt.u16.u32 r, r"]),
    ("st.global.u32 [%rd1], %rd2;", ["cvt.u32.u64 r, d", "st.global.b32 d, r"]),
    ("cvt.s16.s32 %r0, %r1;", ["cvt.s16.s32 r, r", "cvt.s32.s16 r, r"]),
    (
        "add.cc.u32 %r0, %r1, %r2; addc.cc.u32 %r9, %r1, 0; addc.u32 %r0, %r1, %r9;",
        ["add.cc.b32 r, p, r, r", "addc.cc.b32 r, p, r, 0x0, p", "addc.b32 r, r, r, p"],
    ),
    (
        "mad.lo.cc.u32 %r0, %r1, %r2, %r3; madc.hi.u32 %r9, %r1, %r2, 0;",
        ["mad.lo.cc.b32 r, p, r, r, r", "madc.hi.u32 r, r, r, 0x0, p"],
    ),
    ("setp.eq.s32 %p0, %r1, 0; @%p0 trap;", ["setp.eq.b32 p, _, r, 0x0", "@p trap"]),
    ("@!%p1 mov.u32 %r0, 5;", ["@!p mov.b32 r, 0x5"]),
    ("prefetch.global.L2 [%rd1];", []),
    ("pmevent 3;", []),
    ("applypriority.global.L2::evict_normal [%rd1], 128;", []),
    ("griddepcontrol.wait;", []),
    ("fence.proxy.async;", []),
    ("fence.mbarrier_init.release.cluster;", []),
    ("createpolicy.fractional.L2::evict_first.b64 %rd0, 1.0;", []),
    ("red.global.add.v2.f32 [%rd1+4], {%f1, %f2};", ["red.add.global.f32 d, r, +4", "red.add.global.f32 d, r, +8"]),
    ("mov.u32 %r0, %clusterid.x;", ["mov.clusterid.x r"]),
    ("mov.u32 %r0, %reserved_smem_offset_1;", ["mov.reserved_smem_offset_1 r"]),
    ("@%p1 brkpt;", ["@p trap"]),
    ("set.eq.u32.f32 %r0, %f1, %f2;", ["setp.eq.f32 p, _, r, r", "selp.b32 r, 0xffffffff, 0x0, p"]),
    ("set.lt.and.f32.s32 %f0, %r1, %r2, !%p1;", ["setp.lt.and.s32 p, _, r, r, !p", "selp.b32 r, 0x3f800000, 0x0, p"]),
    ("slct.s32.f32 %r0, %r1, %r2, %f1;", ["setp.ge.f32 p, _, r, 0x0", "selp.b32 r, r, r, p"]),
    ("slct.f64.s32 %fd0, %fd1, %fd2, %r1;", ["setp.ge.s32 p, _, r, 0x0", "selp.b64 d, d, d, p"]),
]


@pytest.mark.parametrize(("ptx", "expected"), SEVERAL)
def test_some_take_several_operations(ptx: str, expected: list[str]) -> None:
    assert spelled(ptx) == expected


@pytest.mark.parametrize(
    "ptx",
    [
        "vadd4.u32.u32.u32 %r0, %r1, %r2, 0;",
        "wgmma.fence.sync.aligned;",
        "ld.global.v2.f32 {%f0, %f4, %f5}, [%rd1];",
        "add.s32 %r0, %rd1, 5;",
        "add.s32 %r0, %r1;",
        "cp.async.ca.shared.global [%r1], [%rd1], 5;",
        "cp.async.cg.shared.global [%r1], [%rd1], 8;",
        "cp.async.bulk.commit_group;",
        "mbarrier.arrive.shared.b64 %rd0, [%r1], 1, 2;",
        "mbarrier.test_wait.shared.b64 %rd0, [%r1], %rd2;",
        "tex.2d.v4.f32.f32 {%f0, _, _, _}, [%rd1, {%f1, %f2}];",
    ],
)
def test_what_is_not_understood_is_kept_as_text(ptx: str) -> None:
    assert spelled(ptx) == [f'unsupported "{ptx}"']


def test_variables_are_addressed_by_space() -> None:
    before = ".global .align 4 .u32 counter = 7;\n.const .align 4 .f32 table[4];\n.shared .align 4 .b8 s[16];\n"
    assert spelled("mov.u64 %rd0, counter;", before=before) == ["mov.variable d, counter"]
    assert spelled("mov.u64 %rd0, table+8;", before=before) == ["mov.variable d, table", "add.b64 d, d, 0x8l"]
    assert spelled("ld.shared.f32 %f0, [s+8];", before=before) == ["ld.shared.b32 r, 0x0, +8"]
    assert spelled("ld.const.f32 %f0, [table+4];", before=before) == ["ld.const.b32 r, d, +4"]
    assert spelled("atom.global.add.u32 %r0, [counter], 1;", before=before) == ["atom.add.global.b32 r, d, 0x1"]
    assert spelled("cvta.shared.u64 %rd0, %rd1;", before=before) == ["cvta.shared.b64 d, d"]
