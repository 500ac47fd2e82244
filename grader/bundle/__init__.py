"""Bundles: passed parts as data, to be timed on a GPU that belongs to somebody else. The page is docs/bundles.md.

gpus.py names the targets; format.py is the manifest and archive.py the zip file, read as what a stranger sent. write.py
makes an entry of a submission; timing.py times each entry on the GPU that is here, and ready.py says what of it runs,
once cubins.py, plans.py and rebuild.py have nothing against it.
"""
