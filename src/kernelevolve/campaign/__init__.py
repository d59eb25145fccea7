"""A campaign: the loop from the tree to a brief, to candidates, to verdicts, and back into the store."""
