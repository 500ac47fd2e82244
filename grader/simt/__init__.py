"""The software GPU.

PTX is read (`ptx_reader`) and lowered (`lower`) to a program (`program`), which the C++ machine in `machine/` loads and
executes; `software` runs plans on it, `findings` and `counters` say what was seen.
"""
