# /// task
# schema_version = 1
# name = "scaled_tanh"
# summary = "tanh of each row times a scale of its own"
#
# [axes]
# R = { low = 0, high = 1000000, description = "rows" }
# C = { low = 0, high = 65536, description = "columns" }
#
# [[inputs]]
# name = "x"
# dtype = "float"
# dims = ["R", "C"]
#
# [[inputs]]
# name = "scale"
# dtype = "float"
# dims = ["R"]
#
# [[outputs]]
# name = "out"
# dtype = "float"
# dims = ["R", "C"]
#
# [rule]
# kind = "scaled"
# rtol = 1e-5
# rms = 1e-5
#
# [platforms.cpu]
# dtype = "float32"
# shapes.shown = [{ R = 512, C = 1024 }]
# shapes.search = [{ R = 300, C = 2000 }]
# shapes.sealed = [{ R = 800, C = 700 }]
# ///
"""A whole task in one file. The comment block above is TOML and is read without running this file."""

import torch


def make_inputs(sizes, rng, variant):
    return {
        "x": torch.randn(sizes["R"], sizes["C"], generator=rng),
        "scale": torch.randn(sizes["R"], generator=rng),
    }


def reference(x, scale):
    return torch.tanh(x) * scale[:, None]
