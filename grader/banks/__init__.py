"""Shared memory's banks: which lanes of a warp meet in which, for loads with a known answer and for a learner's own."""
