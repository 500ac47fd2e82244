"""The real GPU: replays a Plan from the cubin, in a process that holds the learner's buffers and nothing else.

    with RealGPU(part) as gpu:                        session.py: the parent's side; sees no GPU itself
        recording = record(build, part, case, layout=gpu.layout(case))
        gpu.load(recording.plan, build.cubin)
        gpu.run(memory, part, how="graph")
        gpu.time(part)

replay.py is the child: it reserves addresses, and later maps memory there; driver.py, memory.py and script.py are what
it does it with. The two speak as grader/wire.py says; timing.py is the arithmetic on times. presence.py says, without
importing anything, whether there may be a GPU at all. Nothing here imports torch when it is imported, and the child
never does.
"""
