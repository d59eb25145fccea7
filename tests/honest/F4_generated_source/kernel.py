import torch

STEPS = ("sub_(mean)", "mul_(rstd)", "mul_(gamma)", "add_(beta)")
SCOPE = {}
exec("def finish(y, mean, rstd, gamma, beta):\n" + "".join(f"    y.{step}\n" for step in STEPS), SCOPE)


def affine_norm(x, gamma, beta, y, R, C):
    variance, mean = torch.var_mean(x, dim=1, keepdim=True, correction=0)
    y.copy_(x)
    SCOPE["finish"](y, mean, (variance + 1e-5).rsqrt_(), gamma, beta)
