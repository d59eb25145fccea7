import torch


def score_curve(start, seed, score, N, S):
    padded = torch.empty(N + 2)
    state = start.clone()
    for step in range(S):
        padded[1:-1] = state
        padded[0], padded[-1] = state[-1], state[0]
        torch.add(padded[:-2], padded[2:], out=state)
        state.mul_(0.25).add_(padded[1:-1], alpha=0.5)
        state[(seed + 7 * step) % N] += 1.0
        score[step] = torch.dot(state, state) / N
