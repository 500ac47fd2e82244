"""`grader profile`: what a part's kernels ask of memory, line by line, and Nsight Compute's numbers beside ours.

counts.py    what the software GPU counted, under Nsight Compute's names
run.py       a file, a case, and who counts
table.py     the counts in the terminal
"""
