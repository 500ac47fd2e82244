"""Bundles: passed parts as data, to be timed on a GPU that belongs to somebody else. The page is docs/bundles.md.

gpus.py names the targets; format.py is the manifest and archive.py the zip file, read as what a stranger sent. write.py
makes an entry of a submission, classes.py finds those of a class; timing.py times each entry on the GPU that is here,
once rebuild.py and plans.py have nothing against it.
"""
