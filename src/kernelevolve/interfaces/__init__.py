"""The ways in and out: command line, report, export. Thin: they read the store and write text."""
