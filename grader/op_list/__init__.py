"""A list of op calls in Python → the C++ entry that makes these calls.

translate.py a file → what is compiled for it
listing.py   runs the learner's file, in a cage, and reads what comes back
calls.py     a call, and what is wrong with a list
look.py      whether it is a list of calls that can be made: ops, tensors, attributes, shapes
entry.py     the C++ that is compiled in its place, each call at the learner's own line
planned.py   its plan, launch by launch: op, variant, kernel, bytes
losses.py    what the loss is from step to step, for a list that trains
reading.py   a part that asks about such a plan, judged
"""
