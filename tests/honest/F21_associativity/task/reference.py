import torch

VARIANTS = ("nominal", "shifted")


def make_inputs(sizes, rng, variant):
    made = {name: torch.randn(sizes["T"], sizes["D"], generator=rng) for name in "qkv"}
    if variant == "shifted":
        made["v"] += 1.0
    return made


def reference(q, k, v):
    return (q @ k.T) @ v
