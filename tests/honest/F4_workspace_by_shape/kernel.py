import torch

WORKSPACES = {}


def matmul(a, b, c, M, K, N):
    # Only the memory is kept: both halves of the product are written before they are added.
    if (M, N) not in WORKSPACES:
        WORKSPACES[M, N] = torch.empty(2, M, N)
    halves, middle = WORKSPACES[M, N], K // 2
    torch.mm(a[:, :middle], b[:middle], out=halves[0])
    torch.mm(a[:, middle:], b[middle:], out=halves[1])
    torch.add(halves[0], halves[1], out=c)
