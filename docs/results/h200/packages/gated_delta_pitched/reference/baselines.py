"""Other implementations of the packed decode step, called where they are installed."""

from __future__ import annotations

from torch import Tensor


def vllm(
    mixed_qkv: Tensor, a: Tensor, b: Tensor, A_log: Tensor, dt_bias: Tensor, state: Tensor, indices: Tensor
) -> Tensor:
    """vLLM's own kernel. It takes slot 0 for padding as well; nominal inputs do not use that slot."""
    from vllm.third_party.flash_linear_attention.ops.fused_recurrent import (
        fused_recurrent_gated_delta_rule_packed_decode as decode,
    )

    _, heads, value_width, key_width = state.shape
    out = mixed_qkv.new_empty(indices.numel(), 1, heads, value_width)
    decode(
        mixed_qkv, a, b, A_log, dt_bias, key_width**-0.5, state, out, indices, use_qk_l2norm_in_kernel=True
    )  # fmt: skip
    return out.squeeze(1)


ARMS = {"vllm": vllm}
