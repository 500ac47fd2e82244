"""`grader sweep`: the same kernel in blocks of other sizes.

constants.py    the constants of a source, and what its launches say of the block
arithmetic.py   what an expression of whole numbers comes to
choice.py       the constant that the size of the block hangs on, and the values to try
trials.py       each value in a copy of the file: built, recorded, checked, its occupancy
contest.py      the times of those that are right, in turn with the file as it is
table.py        what came of it, in the terminal
"""
