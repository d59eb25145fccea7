"""The built-in operators once more, element by element in plain Python: slow, and independent of the references.

Each function takes the inputs by name (and the axis sizes it needs) and returns nested lists or flat ones; floats
are computed in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

WORD = 2**64 - 1


def map_id(v: Tensor, table: Tensor) -> list[int]:
    first: dict[int, int] = {}
    for place, entry in enumerate(table.tolist(), 1):
        first.setdefault(entry, place)
    return [first.get(identifier, 0) for identifier in v.flatten().tolist()]


def lower_bound(value: float, borders: Sequence[float]) -> int:
    """NaN is below nothing, so that it ends above every border."""
    return sum(not border >= value for border in borders)


def merge_bucketized_dense(x: Tensor, borders: Tensor, border_offsets: Tensor) -> list[int]:
    out, first_id = [], 0
    offsets, edges = border_offsets.tolist(), borders.tolist()
    for feature, row in enumerate(x.tolist()):
        own = edges[offsets[feature] : offsets[feature + 1]]
        out += [first_id + lower_bound(value, own) for value in row]
        first_id += len(own) + 1
    return out


def bucketize(values: Tensor, borders: Tensor) -> list[int]:
    return [lower_bound(value, borders.tolist()) for value in values.tolist()]


def bucketize_torcharrow(values: Tensor, borders: Tensor) -> list[int]:
    edges = borders.tolist()
    out = []
    for value in values.tolist():
        if math.isnan(value):
            out.append(1 if len(edges) > 1 else 0)
            continue
        bucket = sum(edge < value for edge in edges)
        out.append(bucket + (edges[bucket : bucket + 2] == [value, value]))
    return out


def sigrid_hash(ids: Tensor, salt: int, max_value: int) -> list[int]:
    multiplier = 0x9DDFEA08EB382D69
    out = []
    for identifier in ids.tolist():
        key = identifier & WORD
        key = ((key ^ WORD) + key * 2**21) & WORD
        key ^= key // 2**24
        key = key * (1 + 2**3 + 2**8) & WORD
        key ^= key // 2**14
        key = key * (1 + 2**2 + 2**4) & WORD
        key ^= key // 2**28
        key = key * (1 + 2**31) & WORD
        high = salt & WORD
        first = (key ^ high) * multiplier & WORD
        first ^= first // 2**47
        second = (high ^ first) * multiplier & WORD
        second ^= second // 2**47
        hashed = second * multiplier & WORD
        out.append((hashed - 2**64 if hashed >= 2**63 else hashed) % max_value)
    return out


def batch_event_truncate(
    outer: Tensor, inner: Tensor, values: Tensor, limit: int
) -> tuple[list[int], list[int], list[int]]:
    flat, at = values.tolist(), 0
    kept_lengths, kept_values = [], []
    for lengths in inner.tolist():
        event = 0
        for n_events in outer.tolist():
            for place in range(n_events):
                if place < limit:
                    kept_lengths.append(lengths[event])
                    kept_values += flat[at : at + lengths[event]]
                at += lengths[event]
                event += 1
    return [min(n, limit) for n in outer.tolist()], kept_lengths, kept_values


def jagged_to_padded_dense(values: Tensor, offsets: Tensor, padding: float, L: int) -> list[Any]:
    rows, bounds = values.tolist(), offsets.tolist()
    out: list[Any] = []
    for start, stop in zip(bounds, bounds[1:], strict=False):
        row = rows[start:stop][:L]
        out += row + [[padding] * values.shape[1]] * (L - len(row))
    return out


def jagged_pooled_embedding(tables: Tensor, indices: Tensor, offsets: Tensor) -> list[float]:
    n_tables, _, width = tables.shape
    batch = (offsets.numel() - 1) // n_tables
    bounds, rows = offsets.tolist(), tables.tolist()
    out = []
    for sample in range(batch):
        for table in range(n_tables):
            bag = table * batch + sample
            used = [i for i in indices.tolist()[bounds[bag] : bounds[bag + 1]] if i != -1]
            out += [sum(rows[table][i][column] for i in used) for column in range(width)]
    return out


def dlrm_dot_interaction(dense: Tensor, sparse: Tensor) -> list[float]:
    out = []
    for row, others in zip(dense.tolist(), sparse.tolist(), strict=True):
        rows = [row, *others]
        out += row + [dot(rows[i], rows[j]) for i in range(len(rows)) for j in range(i + 1, len(rows))]
    return out


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(p * q for p, q in zip(a, b, strict=True))


def wukong_optimized_fm(x: Tensor, y: Tensor) -> list[float]:
    out = []
    for rows, others in zip(x.tolist(), y.tolist(), strict=True):
        columns = list(zip(*others, strict=True))
        for row in rows:
            weights = [dot(row, other) for other in rows]
            out += [dot(weights, column) for column in columns]
    return out


def normed(row: Sequence[float], gain: Sequence[float]) -> list[float]:
    size = math.sqrt(sum(value * value for value in row) / len(row) + 1e-6)
    return [value / size * factor for value, factor in zip(row, gain, strict=True)]


def interformer_pffn(x: Tensor, w1: Tensor, b1: Tensor, g1: Tensor, w2: Tensor, b2: Tensor, g2: Tensor) -> list[float]:
    out = []
    for sample in range(x.shape[0]):
        into, back = w1[sample].T.tolist(), w2[sample].T.tolist()
        for row in x[sample].tolist():
            hidden = [dot(row, w) + b for w, b in zip(into, b1[sample, 0].tolist(), strict=True)]
            hidden = normed([h * 0.5 * math.erfc(-h / math.sqrt(2)) for h in hidden], g1.tolist())
            final = [dot(hidden, w) + b for w, b in zip(back, b2[sample, 0].tolist(), strict=True)]
            out += normed(final, g2.tolist())
    return out


def hstu_attention(
    q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, num_targets: Tensor, alpha: float, L: int
) -> list[float]:
    out = torch.zeros(q.shape, dtype=torch.float64)
    for sequence, targets in enumerate(num_targets.tolist()):
        start, stop = int(offsets[sequence]), int(offsets[sequence + 1])
        history = stop - targets
        for query in range(start, stop):
            for key in [*range(start, min(query, history)), query]:
                for head in range(q.shape[1]):
                    score = alpha * dot(q[query, head].tolist(), k[key, head].tolist())
                    out[query, head] += score / (1 + math.exp(-score)) / L * v[key, head]
    return out.flatten().tolist()


def gated_delta_packed_decode(
    mixed_qkv: Tensor, a: Tensor, b: Tensor, A_log: Tensor, dt_bias: Tensor, state: Tensor, indices: Tensor
) -> list[float]:
    """Updates `state` like the operator."""
    _, heads, value_width, key_width = state.shape
    key_heads = (mixed_qkv.shape[1] - heads * value_width) // (2 * key_width)
    out = []
    for n, slot in enumerate(indices.tolist()):
        row = mixed_qkv[n].tolist()
        for head in range(heads):
            if slot < 0:
                out += [0.0] * value_width
                continue
            at = head // (heads // key_heads) * key_width
            q = unit(row[at : at + key_width])
            at += key_heads * key_width
            k = unit(row[at : at + key_width])
            at = 2 * key_heads * key_width + head * value_width
            x = float(a[n, head]) + float(dt_bias[head])
            softplus = x if x > 20 else math.log(1 + math.exp(x))
            decay = math.exp(-math.exp(float(A_log[head])) * softplus)
            beta = 1 / (1 + math.exp(-float(b[n, head])))
            for column, value in enumerate(row[at : at + value_width]):
                old = [decay * cell for cell in state[slot, head, column].tolist()]
                error = beta * (value - dot(old, k))
                new = [cell + error * key for cell, key in zip(old, k, strict=True)]
                state[slot, head, column] = torch.tensor(new, dtype=state.dtype)
                out.append(dot(new, q) / math.sqrt(key_width))
    return out


def unit(row: Sequence[float]) -> list[float]:
    size = math.sqrt(dot(row, row) + 1e-6)
    return [value / size for value in row]


def rms_norm(x: Tensor, weight: Tensor) -> list[list[float]]:
    return [normed(row, weight.tolist()) for row in x.tolist()]


def add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor) -> list[list[float]]:
    """Updates `residual` like the operator."""
    rows = [[p + q for p, q in zip(a, b, strict=True)] for a, b in zip(x.tolist(), residual.tolist(), strict=True)]
    residual.copy_(torch.tensor(rows, dtype=residual.dtype).view(residual.shape))
    return [normed(row, weight.tolist()) for row in rows]


def rms_norm_backward(grad: Tensor, x: Tensor, weight: Tensor) -> tuple[list[float], list[float]]:
    """By the quotient rule: the norm divides each element by the size of its row, which depends on all of them."""
    grad_x, grad_weight = [], [0.0] * x.shape[1]
    for upper, row in zip(grad.tolist(), x.tolist(), strict=True):
        size = math.sqrt(sum(value * value for value in row) / len(row) + 1e-6)
        weighted = [g * w for g, w in zip(upper, weight.tolist(), strict=True)]
        by_size = -dot(weighted, row) / size**2
        grad_x += [w / size + by_size * value / (len(row) * size) for w, value in zip(weighted, row, strict=True)]
        grad_weight = [t + g * v / size for t, g, v in zip(grad_weight, upper, row, strict=True)]
    return grad_x, grad_weight


def softmax(x: Tensor) -> list[float]:
    out = []
    for row in x.tolist():
        powers = [math.exp(value - max(row)) for value in row]
        out += [power / math.fsum(powers) for power in powers]
    return out


def conv1d(x: Tensor, weight: Tensor, bias: Tensor) -> list[float]:
    taps, length = weight.tolist(), x.shape[2]
    out = []
    for channels in x.tolist():
        for kernel, start in zip(taps, bias.tolist(), strict=True):
            for position in range(length):
                total = start
                for channel, tap in zip(channels, kernel, strict=True):
                    total += sum(tap[t] * channel[position + t - 1] for t in range(3) if 0 < position + t <= length)
                out.append(total)
    return out
