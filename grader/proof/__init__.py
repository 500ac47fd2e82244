"""Three kernels whose verdict is known: `grader doctor --prove` judges them and says whether each came out so."""
