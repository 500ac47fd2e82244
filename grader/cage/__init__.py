"""Where compilers and launchers run: what they may touch, for how long, and what of their output is kept.

    finished = run([nvcc, ...], cage=Cage(read=toolchain.readable, write=(directory,)), directory=directory, seconds=60)

Nothing runs between fork and exec in this process, which may have threads: the small C++ program `cage` (cage.cpp) is
started, limits itself, and becomes the program.
"""

from grader.cage.command import Cage
from grader.cage.process import Finished, run
from grader.cage.protection import Protection, abilities, protection

__all__ = ["Cage", "Finished", "Protection", "abilities", "protection", "run"]
