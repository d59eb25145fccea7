import torch

VARIANTS = ("nominal", "spike", "mixed")


def make_inputs(sizes, rng, variant):
    x = torch.randn(sizes["R"], sizes["K"], generator=rng)
    logits = torch.randn(sizes["K"], sizes["N"], generator=rng)
    if variant == "spike":
        x[:, int(torch.randint(sizes["K"], (1,), generator=rng))] += 20.0
    if variant == "mixed":
        logits[sizes["K"] // 2 :] *= 5.0
    return {"x": x, "logits": logits}


def reference(x, logits):
    return x @ torch.sigmoid(logits)
