import torch

VARIANTS = ("nominal", "directed")


def make_inputs(sizes, rng, variant):
    """nominal: edges without a direction, hence symmetric where the sizes allow it."""
    x = torch.rand(sizes["R"], sizes["C"], generator=rng)
    if variant == "nominal" and sizes["R"] == sizes["C"]:
        x = (x + x.T) / 2
    return {"x": x}


def reference(x):
    return x.sum(dim=1)
