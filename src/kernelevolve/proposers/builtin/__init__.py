"""The proposer that needs neither a model nor a network: a recipe library, PyTorch Inductor's C++, and tuning."""
