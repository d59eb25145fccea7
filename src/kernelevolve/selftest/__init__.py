"""The judge put to the test by its own corpus: every attack must be caught, every honest kernel accepted."""
