"""Who is how fast: results that were timed on a GPU, kept, ranked, exchanged and shown.

Leaderboard(workspace).note(entry)      a passed, timed part
part_boards(results, statement)         ranked, with ties, one board a part and device
write_pages(folder, …)                  static web pages
"""
