"""The command line. One file per command; what is heavy is imported inside the commands."""
