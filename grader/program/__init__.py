"""`grader run`: a whole CUDA program with its own main, on the software back end of our CUDA runtime.

    build.py    the program by nvcc, and its PTX lowered, both in the cache
    run.py      the program as a process of its own, and what its runtime wrote down
    log.py      that, as data
    sources.py  what the source says of a call: the variable it fills, whether its result is looked at
    words.py    all of it as findings in words

It is the user's own code on the user's own machine: no cage.
"""
