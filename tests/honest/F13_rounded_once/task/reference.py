import torch

VARIANTS = ("nominal", "positive")


def make_inputs(sizes, rng, variant):
    """Between -1 and 1, so that rounding after every step stays within the rule too."""
    made = {name: torch.rand(sizes["N"], generator=rng) for name in "abcd"}
    if variant == "nominal":
        made = {name: value * 2 - 1 for name, value in made.items()}
    return made


def reference(a, b, c, d):
    return (a * b + c) * d
