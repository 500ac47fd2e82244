"""What is said of an error that nobody foresaw."""

from __future__ import annotations


def of_itself(error: Exception) -> str:
    """The grader's own failure in a sentence; what PyTorch throws where memory is short is told as that."""
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return "This machine's memory has no room for a case of this size."
    return f"The grader itself failed ({type(error).__name__}: {error})."
