def relu(x, y, R, C):
    y.copy_(x)
