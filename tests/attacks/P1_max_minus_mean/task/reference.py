import torch

VARIANTS = ("nominal", "spikes", "mixed_scale")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["R"], sizes["C"], generator=rng)
    if variant == "spikes":
        x[torch.arange(sizes["R"]), torch.randint(sizes["C"], (sizes["R"],), generator=rng)] = 50.0
    if variant == "mixed_scale":
        x *= 10 ** (2 * torch.rand(sizes["R"], 1, generator=rng) - 1)
    return {"x": x}


def reference(x):
    top = x.max(dim=1, keepdim=True).values
    return top - top.mean(dim=1, keepdim=True)
