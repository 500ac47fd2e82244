"""Our CUDA runtime in C++, for launchers, for programs and for tensors, and the program `recorder`.

    record*.cpp       what a launcher asks is written down: libgrader_cudart.so, which every learner's object links to
    recorder*.cpp     the program that calls a launcher, in its cage
    software/         what a program asks is done at once: libgrader_cudart_software.so, for `grader run`
    forward/          what a function on tensors asks goes to CUDA's own library, or to the one above: for grader/op/
    all other *.cpp   what the first two libraries share

generate.py makes the last source of these two from the toolkit's headers, trampolines.py that of the third.
grader/native.py builds all of them.
"""
