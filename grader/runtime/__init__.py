"""Our CUDA runtime in C++ (libgrader_cudart.so, which every learner's object links to) and the program `recorder`.

Sources named recorder*.cpp make the program, all others the library; generate.py makes the library's last source from
the toolkit's headers. grader/native.py builds both.
"""
