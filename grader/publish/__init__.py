"""Turns `book/` into a site and an EPUB; chapters are Markdown that Jinja2 makes from the course's own files."""
