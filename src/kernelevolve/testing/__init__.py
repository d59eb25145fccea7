"""Conformance suites: a new store, policy, farm, platform, toolchain or proposer is right when it passes its suite."""
