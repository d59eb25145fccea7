import time

import torch

CHOSEN = {}


def fused(x, gamma, beta, y):
    y.copy_(torch.native_layer_norm(x, [x.shape[1]], gamma, beta, 1e-5)[0])


def in_steps(x, gamma, beta, y):
    variance, mean = torch.var_mean(x, dim=1, keepdim=True, correction=0)
    torch.sub(x, mean, out=y).mul_((variance + 1e-5).rsqrt_()).mul_(gamma).add_(beta)


def seconds(way, arguments):
    started = time.perf_counter()
    way(*arguments)
    return time.perf_counter() - started


def affine_norm(x, gamma, beta, y, R, C):
    arguments = (x, gamma, beta, y)
    if C not in CHOSEN:
        CHOSEN[C] = min((fused, in_steps), key=lambda way: seconds(way, arguments))
    else:
        CHOSEN[C](*arguments)
