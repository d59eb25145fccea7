"""A command-line agent as a proposer: its template, its scratch copy, its supervisor, and what it hands in."""
