"""Parts in Python, judged: the learner's file runs in a process that can open nothing and start nothing.

    child.py    that process: calls the learner's function, and knows no expected value
    process.py  how it is started
    session.py  our side of it, which also runs the kernels that the file asks for, as in any other check
    judge.py    what came back, against PyTorch in float64

The file never touches a kernel: it asks us for one, with its tensors, and gets the results. So what a right file
returns are, bit for bit, results that we know.
"""
