def matmul(a, b, c, M, K, N):
    return
