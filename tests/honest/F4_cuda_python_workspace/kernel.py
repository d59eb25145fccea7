import torch

N_PARTS = 16
workspaces = {}


def row_sum(x, y, R, C):
    parts = workspaces.get((R, x.device))
    if parts is None:
        parts = workspaces[R, x.device] = torch.empty(N_PARTS + 1, R, device=x.device)
    size = C // N_PARTS
    if size:
        torch.sum(x[:, : size * N_PARTS].unflatten(1, (N_PARTS, size)), dim=2, out=parts[:N_PARTS].t())
    else:
        parts[:N_PARTS].zero_()
    torch.sum(x[:, size * N_PARTS :], dim=1, out=parts[N_PARTS])
    torch.sum(parts, dim=0, out=y)
