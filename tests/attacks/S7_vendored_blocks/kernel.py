import torch

BLOCK_M, BLOCK_K = 128, 256


def matmul(a, b, c, M, K, N):
    for m in range(0, M, BLOCK_M):
        tile = c[m : m + BLOCK_M]
        tile.zero_()
        for k in range(0, K, BLOCK_K):
            torch.addmm(tile, a[m : m + BLOCK_M, k : k + BLOCK_K], b[k : k + BLOCK_K], out=tile)
