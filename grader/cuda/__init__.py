"""The real GPU: replays a Plan from the cubin, in a process that holds the learner's buffers and nothing else.

    with RealGPU(part) as gpu:                        session.py: the parent's side; sees no GPU itself
        recording = record(build, part, case, layout=gpu.layout(case))
        gpu.load(recording.plan, build.cubin)
        gpu.fill(inputs)
        gpu.run("graph", poison)                      one replay
        gpu.lap(poison)                               one that is timed, on a device that remembers nothing
        gpu.read(results)

replay.py is the child: it reserves addresses, and later maps memory there; driver.py, memory.py, working.py, kept.py
and script.py are what it does it with, variables.py, scrub.py and checksum.py what it does around a lap. The two speak
as grader/wire.py says. bench.py times a part: contest.py lets kernels take turns, watch.py looks at what they compute,
pieces.py judges it, decision.py says who is faster, standing.py all that is said of it. docs/races.md tells why.
presence.py says, without importing anything, whether there may be a GPU at all. The child never imports torch.
"""
