"""Models behind an API as proposers. `proposer.py` is the one that all endpoints share; an endpoint is one file."""
