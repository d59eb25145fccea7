import torch

VARIANTS = ("nominal", "ragged", "empty_rows", "single")


def make_inputs(sizes, rng, variant):
    """nominal: every bag has P rows. single: one bag has them all."""
    n_bags, mean = sizes["B"], sizes["P"]
    lengths = torch.full((n_bags,), mean)
    if variant != "nominal":
        lengths = torch.randint(0, 2 * mean + 1, (n_bags,), generator=rng)
    if variant == "empty_rows":
        lengths *= torch.rand(n_bags, generator=rng) < 0.3
    if variant == "single":
        lengths.zero_()
        lengths[n_bags // 3] = n_bags * mean
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return {"values": torch.randn(int(offsets[-1]), sizes["D"], generator=rng), "offsets": offsets}


def reference(values, offsets):
    n_bags = offsets.numel() - 1
    bag = torch.repeat_interleave(torch.arange(n_bags), offsets.diff(), output_size=values.shape[0])
    return values.new_zeros(n_bags, values.shape[1]).index_add_(0, bag, values)
