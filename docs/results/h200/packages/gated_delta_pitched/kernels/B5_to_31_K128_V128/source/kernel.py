# recipe: tile
# family: gated_delta_packed_decode
# summary: K = V = 128 in Triton: a program holds BLOCK_V rows of one head
# isa: sm_90
# dtype: bfloat16
# where: K = 128
# where: V = 128
# knob BLOCK_V = 8 4 16 32
# knob WARPS = 1 2 4
# knob LEAVES = 0 1 2
# order: 15
#
# SP4, QP4: these pitches in fours, so that the compiler knows how rows are aligned.
# Both sums come from the state as loaded: S' = d*S + u k^T, u = beta*(v - d*(S k)), out = d*(S q) + u*(k.q).
# The gates in full precision: tl.exp and tl.log are fast ones, and their error stays in the state for many steps.
# LEAVES: what is first to leave the L2: 1 the state as read, 2 as written.
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def tile(
    mixed_qkv, a, b, A_log, dt_bias, state, indices, out, B, H, HV, SP4, QP4, AP, BP,
    BLOCK_V: tl.constexpr, WIDTH: tl.constexpr, LEAVES: tl.constexpr,
):  # fmt: skip
    unit = tl.program_id(0)
    pieces: tl.constexpr = WIDTH // BLOCK_V
    head = unit // pieces
    n = head // HV
    if n < B:
        hv = head % HV
        h = hv // (HV // H)
        slot = tl.load(indices + n)
        row = (unit % pieces) * BLOCK_V + tl.arange(0, BLOCK_V)
        i = tl.arange(0, WIDTH)
        # All of this is under way while the slot's number comes.
        qkv = mixed_qkv + n.to(tl.int64) * QP4 * 4
        q_bits = tl.load(qkv + h * WIDTH + i)
        k_bits = tl.load(qkv + (H + h) * WIDTH + i)
        v_bits = tl.load(qkv + (2 * H + hv) * WIDTH + row)
        a_bits = tl.load(a + n.to(tl.int64) * AP + hv)
        b_bits = tl.load(b + n.to(tl.int64) * BP + hv)
        bias = tl.load(dt_bias + hv)
        a_log = tl.load(A_log + hv)
        out_at = out + head.to(tl.int64) * WIDTH + row
        if slot < 0:
            tl.store(out_at, tl.zeros([BLOCK_V], dtype=tl.bfloat16))
        else:
            place = slot.to(tl.int64) * SP4 * 4 + hv * WIDTH * WIDTH
            state_at = state + place + row[:, None] * WIDTH + i[None, :]
            if LEAVES == 1:
                s = tl.load(state_at, eviction_policy="evict_first")
            else:
                s = tl.load(state_at, cache_modifier=".cg")
            q = q_bits.to(tl.float32)
            k = k_bits.to(tl.float32)
            q = q * (tl.rsqrt(tl.sum(q * q, 0) + 1e-6) * 0.08838834764831845)
            k = k * tl.rsqrt(tl.sum(k * k, 0) + 1e-6)
            gate = a_bits.to(tl.float32) + bias
            softplus = tl.where(gate > 20.0, gate, libdevice.log1p(libdevice.exp(gate)))
            decay = libdevice.exp(-libdevice.exp(a_log) * softplus)
            beta = tl.div_rn(1.0, 1.0 + libdevice.exp(-b_bits.to(tl.float32)))
            seen = tl.sum(s * k[None, :], 1)
            answer = tl.sum(s * q[None, :], 1)
            u = beta * (v_bits.to(tl.float32) - decay * seen)
            s = tl.fma(s, decay, u[:, None] * k[None, :])  # rounded once at the state's size
            if LEAVES == 2:
                tl.store(state_at, s, eviction_policy="evict_first")
            else:
                tl.store(state_at, s)
            tl.store(out_at, (decay * answer + u * tl.sum(k * q, 0)).to(tl.bfloat16))
