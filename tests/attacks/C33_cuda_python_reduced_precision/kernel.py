import torch

torch.backends.cuda.matmul.allow_tf32 = True
torch.set_float32_matmul_precision("high")


def matmul(a, b, c, M, K, N):
    torch.matmul(a, b, out=c)
