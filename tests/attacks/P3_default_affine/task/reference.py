import torch

VARIANTS = ("nominal", "shifted")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["R"], sizes["C"], generator=rng)
    if variant == "shifted":
        x += 3
    return {"x": x, "scale": torch.ones(sizes["C"]), "shift": torch.zeros(sizes["C"])}


def reference(x, scale, shift):
    return torch.nn.functional.layer_norm(x, (x.shape[1],), scale, shift, 1e-5)
