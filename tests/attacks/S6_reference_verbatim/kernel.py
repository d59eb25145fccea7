def row_scale(x, w, y, R, C):
    y.copy_(x * w + 1)
