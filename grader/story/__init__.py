"""The story of one thread: what it ran, with variables and values, up to the store that went wrong."""
