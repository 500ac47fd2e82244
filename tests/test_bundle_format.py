"""Bundles as strangers may send them: what is not exactly as `grader bundle` writes it is refused, in a sentence."""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.bundle import archive
from grader.bundle.archive import Bundle, BundleWriter
from grader.bundle.format import Bundled, BundleInvalid, Compiled, Manifest, PlanAt, from_json, to_json

SOURCE, CUBIN, PLAN = b"__global__ void k() {}", b"\x7fELF code", b'{"plan": 1}'
END_BYTES = 22
DIGEST = "0123456789abcdef" * 2

Files = dict[str, bytes]


def named(content: bytes, suffix: str) -> str:
    return hashlib.sha256(content).hexdigest() + suffix


def manifest() -> Manifest:
    plans = (PlanAt(1 << 45, 1 << 37, named(PLAN, ".json")),)
    entry = Bundled(
        player_id=DIGEST[:16],
        player_name="brisk otter 417",
        puzzle="puzzle_01_vector_add",
        part="vector_add",
        statement=DIGEST,
        file="2_vector_add.cu",
        source=named(SOURCE, ".cu"),
        compiled=(Compiled(90, named(CUBIN, ".cubin"), plans),),
    )
    return Manifest("13.0.88", (entry,))


def files() -> Files:
    """What lies in a good bundle."""
    held = {named(SOURCE, ".cu"): SOURCE, named(CUBIN, ".cubin"): CUBIN, named(PLAN, ".json"): PLAN}
    return {**held, "manifest.json": to_json(manifest()).encode()}


def packed(path: Path, contents: Files, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as zipped:
        for name, content in contents.items():
            zipped.writestr(zipfile.ZipInfo(name), content, compression)
    return path


def refusal(path: Path, *, reading: str | None = None) -> str:
    try:
        with Bundle(path) as bundle:
            assert reading is not None, "it was taken for a bundle"
            bundle.read(reading)
    except BundleInvalid as refused:
        return str(refused)
    raise AssertionError("what is in it was taken")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with BundleWriter(path) as writer:
        assert writer.add(SOURCE, ".cu") == writer.add(SOURCE, ".cu") == named(SOURCE, ".cu")
        cubin, plan = writer.add(CUBIN, ".cubin"), writer.add(PLAN, ".json")
        writer.finish(manifest())
    with Bundle(path) as bundle:
        assert bundle.manifest == manifest()
        assert (bundle.read(cubin), bundle.read(plan)) == (CUBIN, PLAN)
        assert bundle.digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_same_content_makes_the_same_file(tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        with BundleWriter(tmp_path / name) as writer:
            for content, suffix in ((SOURCE, ".cu"), (CUBIN, ".cubin"), (PLAN, ".json")):
                writer.add(content, suffix)
            writer.finish(manifest())
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_bundle_that_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    with BundleWriter(tmp_path / "x.zip") as writer:
        writer.add(SOURCE, ".cu")
    assert list(tmp_path.iterdir()) == []


# ---- the manifest ---------------------------------------------------------------------------------------------------


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    document = json.loads(to_json(manifest()))
    change(document)
    return json.dumps(document).encode()


def first(document: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = document["entries"][0]
    return entry


MANIFESTS: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"{", "no JSON"),
    "deeper than anybody reads": (b"[" * 100_000, "no JSON"),
    "bytes that are no text": (b"\xff\xfe\xff", "no JSON"),
    "a list": (b"[]", "other keys"),
    "a number past all numbers": (changed(lambda d: d).replace(b"90", b"1e999"), "target that cannot be"),
    "not a number": (changed(lambda d: d).replace(b"90", b"NaN"), "NaN"),
    "a key twice": (b'{"bundle": 1, "bundle": 1}', "a key twice"),
    "a later version": (changed(lambda d: d.update(bundle=2)), "version 2"),
    "a version that is true": (changed(lambda d: d.update(bundle=True)), "bundle that cannot be"),
    "a key more": (changed(lambda d: d.update(more=1)), "other keys"),
    "a key less": (changed(lambda d: first(d).pop("statement")), "other keys"),
    "no entries": (changed(lambda d: d.update(entries=[])), "1 to 10,000 entries"),
    "too many entries": (changed(lambda d: d.update(entries=d["entries"] * 10_001)), "1 to 10,000 entries"),
    "no target": (changed(lambda d: first(d).update(compiled=[])), "compiled"),
    "no plan": (changed(lambda d: first(d)["compiled"][0].update(plans=[])), "plans"),
    "a cubin for each GPU ever made": (
        changed(lambda d: first(d).update(compiled=first(d)["compiled"] * 17)),
        "1 to 16 compiled",
    ),
    "plans without end": (
        changed(lambda d: first(d)["compiled"][0].update(plans=first(d)["compiled"][0]["plans"] * 9)),
        "1 to 8 plans",
    ),
    "a plan that is a source": (
        changed(lambda d: first(d)["compiled"][0]["plans"][0].update(plan=named(SOURCE, ".cu"))),
        ".json belongs",
    ),
    "a target with five digits": (
        changed(lambda d: first(d)["compiled"][0].update(target=10_000)),
        "target that cannot",
    ),
    "a target that is text": (changed(lambda d: first(d)["compiled"][0].update(target="90")), "target"),
    "an address that no GPU has": (
        changed(lambda d: first(d)["compiled"][0]["plans"][0].update(first=1 << 60)),
        "first that cannot be",
    ),
    "buffers on top of each other": (
        changed(lambda d: first(d)["compiled"][0]["plans"][0].update(between=0)),
        "between that cannot be",
    ),
    "a statement that is no hash": (changed(lambda d: first(d).update(statement="x" * 32)), "statement that cannot be"),
    "a part elsewhere": (changed(lambda d: first(d).update(part="../x")), "part that cannot be"),
    "a path for a file": (changed(lambda d: first(d).update(source="../../etc/passwd")), "file's name"),
    "a cubin for a source": (changed(lambda d: first(d).update(source=named(CUBIN, ".cubin"))), ".cu belongs"),
    "a source file elsewhere": (changed(lambda d: first(d).update(file="../2_vector_add.cu")), "file that cannot be"),
    "an option for a compiler": (changed(lambda d: first(d).update(file="-o.cu")), "file that cannot be"),
    "a puzzle elsewhere": (changed(lambda d: first(d).update(puzzle="../x")), "puzzle that cannot be"),
    "a name that moves the cursor": (
        changed(lambda d: first(d)["player"].update(name="\x1b[2J")),
        "name that cannot be shown",
    ),
    "a name that no board takes": (changed(lambda d: first(d)["player"].update(name="a" * 41)), "name that cannot be"),
    "a name of nothing": (changed(lambda d: first(d)["player"].update(name=" ")), "name that cannot be shown"),
    "an id that no board takes": (changed(lambda d: first(d)["player"].update(id="a" * 17)), "player's id that cannot"),
    "uses without end": (
        changed(lambda d: first(d).update(uses={f"e{number}": named(SOURCE, ".cu") for number in range(65)})),
        "no uses that can be",
    ),
    "an entry elsewhere": (
        changed(lambda d: first(d).update(uses={"../x": named(SOURCE, ".cu")})),
        "uses that cannot be",
    ),
    "a cubin for a part that it builds on": (
        changed(lambda d: first(d).update(uses={"x": named(CUBIN, ".cubin")})),
        ".cu or .py belongs",
    ),
    "an nvcc that is a command": (changed(lambda d: d.update(nvcc="$(reboot)")), "nvcc that cannot be"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_is_not_as_it_should_be_is_refused(name: str) -> None:
    text, words = MANIFESTS[name]
    with pytest.raises(BundleInvalid, match=words.replace("+", r"\+")):
        from_json(text)


def test_a_manifest_goes_there_and_back() -> None:
    assert from_json(to_json(manifest()).encode()) == manifest()


# ---- the zip file ---------------------------------------------------------------------------------------------------


def test_a_good_one_is_taken(tmp_path: Path) -> None:
    with Bundle(packed(tmp_path / "x.zip", files())) as bundle:
        assert bundle.read(named(SOURCE, ".cu")) == SOURCE


CONTENTS: dict[str, tuple[Callable[[Files], object], str]] = {
    "no manifest": (lambda f: f.pop("manifest.json"), "manifest.json is missing"),
    "a file less": (lambda f: f.pop(named(CUBIN, ".cubin")), "is missing"),
    "a file more": (lambda f: f.update({named(b"more", ".cu"): b"more"}), "belongs to no entry"),
    "a path out of it": (lambda f: f.update({"../evil.cu": b""}), "belongs to no entry"),
    "a program": (lambda f: f.update({"run.sh": b"reboot"}), "none that a bundle has"),
    "a pickle": (lambda f: f.update({"x.pkl": b"cos\nsystem"}), "none that a bundle has"),
    "a name with colours": (lambda f: f.update({"\x1b[31m.exe": b""}), "none that a bundle has"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_zip_that_holds_something_else_is_refused(name: str, tmp_path: Path) -> None:
    contents, (change, words) = files(), CONTENTS[name]
    change(contents)
    said = refusal(packed(tmp_path / "x.zip", contents))
    assert words in said
    assert said.isprintable()


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    contents = files()
    contents[named(CUBIN, ".cubin")] = b"\x7fELF else"
    path = packed(tmp_path / "x.zip", contents)
    assert "it was changed" in refusal(path, reading=named(CUBIN, ".cubin"))


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", files())
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as zipped:
        zipped.writestr(named(CUBIN, ".cubin"), b"other")
    assert "two files of one name" in refusal(path)


@pytest.mark.parametrize(("content", "why"), [(b"", "it is empty"), (b"short", "no zip file")])
def test_what_is_too_short_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    assert why in refusal(tmp_path / "x.zip")


def test_a_bundle_of_gigabytes_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "x.zip", files())
    size = path.stat().st_size
    monkeypatch.setattr(archive, "MOST_BYTES", size)
    Bundle(path).close()
    monkeypatch.setattr(archive, "MOST_BYTES", size - 1)
    assert f"it has {size:,} bytes" in refusal(path)


def test_a_manifest_without_end_is_not_unpacked(tmp_path: Path) -> None:
    long = files() | {"manifest.json": b" " * ((32 << 20) + 1)}
    assert "manifest.json has 33,554,433 bytes" in refusal(packed(tmp_path / "x.zip", long))


@pytest.mark.parametrize("suffix", [".cubin", ".json"])
def test_code_and_plans_without_end_are_not_unpacked(suffix: str, tmp_path: Path) -> None:
    bomb = bytes((16 << 20) + 1)
    before = named(CUBIN if suffix == ".cubin" else PLAN, suffix)
    contents = {name: content for name, content in files().items() if name != before} | {named(bomb, suffix): bomb}
    contents["manifest.json"] = contents["manifest.json"].replace(before.encode(), named(bomb, suffix).encode())
    assert "at most 16,777,216 can be" in refusal(packed(tmp_path / "x.zip", contents), reading=named(bomb, suffix))


def test_a_source_of_gigabytes_is_not_unpacked(tmp_path: Path) -> None:
    """Forty megabytes of zeros are forty kilobytes in the file."""
    contents, bomb = files(), bytes(40 << 20)
    contents[named(bomb, ".cu")] = bomb
    contents["manifest.json"] = changed(lambda d: first(d).update(source=named(bomb, ".cu")))
    del contents[named(SOURCE, ".cu")]
    path = packed(tmp_path / "x.zip", contents)
    assert path.stat().st_size < 1 << 20
    assert "at most 1,048,576 can be" in refusal(path, reading=named(bomb, ".cu"))


def test_a_file_that_lies_about_its_size_is_read_no_further(tmp_path: Path) -> None:
    """The directory says 22 bytes of what unpacks to megabytes."""
    contents, bomb = files(), bytes(8 << 20)
    contents[named(SOURCE, ".cu")] = bomb
    path = packed(tmp_path / "x.zip", contents)
    raw = path.read_bytes().replace(struct.pack("<I", len(bomb)), struct.pack("<I", len(SOURCE)))
    path.write_bytes(raw)
    assert "damaged" in refusal(path, reading=named(SOURCE, ".cu"))


def test_files_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """The way to make a bomb of a small file: many entries of the directory that are one stretch of it."""
    path = packed(tmp_path / "x.zip", files(), zipfile.ZIP_STORED)
    raw = bytearray(path.read_bytes())
    starts = [place for place in range(len(raw)) if raw[place : place + 4] == b"PK\x01\x02"]
    raw[starts[1] + 42 : starts[1] + 46] = raw[starts[0] + 42 : starts[0] + 46]
    path.write_bytes(raw)
    assert "one in another" in refusal(path)


def test_files_that_share_one_byte_are_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", files(), zipfile.ZIP_STORED)
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 20] += 1  # the bytes of the first
    path.write_bytes(raw)
    assert "one in another" in refusal(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_that_no_bundle_has_is_refused(method: int, tmp_path: Path) -> None:
    assert "compressed in a way" in refusal(packed(tmp_path / "x.zip", files(), method))


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", files())
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(raw)
    assert "compressed in a way" in refusal(path)


def ending(path: Path, change: Callable[[bytes], bytes]) -> Path:
    raw = path.read_bytes()
    path.write_bytes(raw[:-END_BYTES] + change(raw[-END_BYTES:]))
    return path


ENDINGS: dict[str, Callable[[bytes], bytes]] = {
    "a comment": lambda end: end[:-2] + b"\x05\0hello",
    "entries beyond all counting": lambda end: end[:8] + b"\xff\xff\xff\xff" + end[12:],
    "fewer entries than there are": lambda end: end[:8] + b"\1\0\1\0" + end[12:],
    "entries on another disk": lambda end: end[:8] + b"\1\0" + end[10:],
    "a directory larger than its entries": lambda end: end[:12] + struct.pack("<I", 1 << 20) + end[16:],
    "another disk": lambda end: end[:4] + b"\1\0" + end[6:],
    "no end": lambda end: b"",
}


@pytest.mark.parametrize("name", ENDINGS)
def test_an_end_that_no_bundle_has_is_refused_before_the_rest_is_read(name: str, tmp_path: Path) -> None:
    assert "no zip file" in refusal(ending(packed(tmp_path / "x.zip", files()), ENDINGS[name]))


def test_something_before_the_zip_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", files())
    path.write_bytes(b"#!/bin/sh\nreboot\n" + path.read_bytes())
    assert "no zip file" in refusal(path)


def test_what_is_no_zip_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"PK", b"\0" * 100, zlib.compress(b"x" * 1000)):
        (tmp_path / "x.zip").write_bytes(content)
        assert refusal(tmp_path / "x.zip")
    assert "cannot be read" in refusal(tmp_path / "nowhere.zip")
    assert "cannot be read" in refusal(tmp_path)


def test_no_damage_to_one_byte_gets_out_as_a_traceback(tmp_path: Path) -> None:
    """Each byte of a bundle, wrong: it is refused, or what it holds is what its names say."""
    raw = packed(tmp_path / "good.zip", files()).read_bytes()
    path = tmp_path / "x.zip"
    for place in range(len(raw)):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 0x5A]) + raw[place + 1 :])
        with contextlib.suppress(BundleInvalid), Bundle(path) as bundle:
            for member in {name for entry in bundle.manifest.entries for name in entry.members}:
                assert named(bundle.read(member), "") == member.partition(".")[0]
