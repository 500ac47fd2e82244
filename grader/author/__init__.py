"""Authors' tools: a new puzzle from a template, the rules that every puzzle keeps, and mutants of its solutions."""
