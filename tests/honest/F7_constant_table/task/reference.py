import torch

VARIANTS = ("nominal", "few_codes")


def make_inputs(sizes, rng, variant):
    codes = torch.randint(0, 256, (sizes["R"], sizes["H"]), generator=rng).to(torch.uint8)
    if variant == "few_codes":
        codes &= 0x88
    return {"codes": codes, "scale": torch.rand(sizes["R"], generator=rng) + 0.1}


def reference(codes, scale):
    halves = torch.stack((codes & 15, codes >> 4), dim=-1).flatten(1)
    return (halves.float() - 8) * scale[:, None]
