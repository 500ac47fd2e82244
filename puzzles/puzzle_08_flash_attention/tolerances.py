"""How far attention may be off, and why so far."""

from grader.puzzle import Tolerance

from .reference import gradient_terms

SINGLE = {
    "relative": 2.0**-20,
    "why": "a score is off by about 2^-24 of the terms it is the sum of, and its weight by as much of itself; expf "
    "adds 2^-22, each sum and each rescaling 2^-23 or so: eight times that is allowed",
}
SOFTMAX = Tolerance(
    2.0**-16,
    2.0**-40,
    why="expf is right to 2^-22, and the sum, rescaled by one where the maximum grows, to about 2^-20; x - largest is "
    "rounded by 2^-24 of itself, which changes its exponential by as much: 2^-20 down to e^-16, below 2^-42 after that",
)

HALF = {
    "relative": 2.0**-8,
    "why": "weights and o are rounded to half, 2^-11 of each; tensor cores cut the sums of scores off behind 24 binary "
    "digits, which makes 2^-21 of their terms; four times all that is allowed",
}
GRADIENTS = Tolerance(
    2.0**-7,
    2.0**-22,
    scale=gradient_terms,
    why="o, and each gradient at the end, are rounded to half, 2^-11 of their terms or 2^-25 below 2^-14; weights are "
    "right to 2^-21 of the terms of their scores; eight times both roundings is allowed",
)
