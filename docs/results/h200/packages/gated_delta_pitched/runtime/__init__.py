"""The dispatcher of this package."""
