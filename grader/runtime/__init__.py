"""Our CUDA runtime in C++, once for launchers and once for programs, and the program `recorder`.

    record*.cpp       what a launcher asks is written down: libgrader_cudart.so, which every learner's object links to
    recorder*.cpp     the program that calls a launcher, in its cage
    software/         what a program asks is done at once: libgrader_cudart_software.so, for `grader run`
    all other *.cpp   what both libraries share

generate.py makes the last source of each library from the toolkit's headers. grader/native.py builds all three.
"""
