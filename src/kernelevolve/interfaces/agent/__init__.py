"""The agent protocol: an agent proposes; the loop returns what it may see and whether it really won."""
