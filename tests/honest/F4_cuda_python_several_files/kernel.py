import scaling


def row_scale(x, w, y, R, C):
    scaling.scale(x, w, y)
