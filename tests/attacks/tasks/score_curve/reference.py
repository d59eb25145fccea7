import torch

VARIANTS = ("nominal", "spike", "slope")


def make_inputs(sizes, rng, variant):
    n = sizes["N"]
    start = torch.randn(n, generator=rng)
    if variant == "spike":
        start[int(torch.randint(n, (1,), generator=rng))] += 30.0
    if variant == "slope":
        start = start * 0.1 + torch.linspace(-2.0, 3.0, n)
    return {"start": start, "seed": int(torch.randint(1 << 30, (1,), generator=rng))}


def reference(start, seed, S):
    state, score = start.clone(), []
    for step in range(S):
        state = 0.5 * state + 0.25 * (torch.roll(state, 1) + torch.roll(state, -1))
        state[(seed + 7 * step) % state.numel()] += 1.0
        score.append(state.square().mean())
    return torch.stack(score)
