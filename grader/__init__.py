"""A CUDA course that grades itself."""

__version__ = "0.1.0"
