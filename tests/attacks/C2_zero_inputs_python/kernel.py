def row_sum(x, y, R, C):
    x.zero_()
    y.zero_()
