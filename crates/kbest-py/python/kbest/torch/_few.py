"""Triton kernels for few labels: one program per sequence, transitions in registers, one launch forward and one backward.

Forward, in logarithms, with what is common to a row kept apart in ``offset``::

    a[0][y] = start[y] + node[0][y]
    a[t][y] = node[t][y] + log sum over p of exp(a[t-1][p] - max a[t-1]) * exp(edge[p][y] - max edge)

A factor that underflows is lost. Where it could matter (scores of a row and edges together lie 80 apart or more), a step is
summed in logarithms, pair by pair. Whether it does is decided per step, so that no input is silently wrong.

Backward, the state is ``w[t] = node[t] + beta[t]``, by the same kernel. What is made of both is in ``_gradient.py``.
"""

import triton
import triton.language as tl

#: Beyond this sum of logarithms, products of two factors come near the end of f32.
SPREAD = tl.constexpr(80.0)


@triton.jit
def finite_or_zero(x):
    """A maximum that may be subtracted."""
    return tl.where(x == float("-inf"), 0.0, x)


@triton.jit
def spread_below(a, top):
    """How far the smallest possible score lies below the largest."""
    return top - tl.min(tl.where(a == float("-inf"), top, a), 0)


@triton.jit
def load_edges(edges, labels, stride_p, stride_y, real: tl.constexpr, block: tl.constexpr):
    p = tl.arange(0, block)[:, None]
    y = tl.arange(0, block)[None, :]
    inside = (p < labels) & (y < labels)
    return tl.load(edges + p * stride_p + y * stride_y, mask=inside, other=float("-inf")).to(real)


@triton.jit
def row_of(order, b, i, steps, has_order: tl.constexpr):
    """The position of the i-th valid step."""
    if has_order:
        return tl.load(order + b * steps + i).to(tl.int64)
    else:
        return b * 0 + i  # as wide as b


@triton.jit
def positions_of(order, b, i, steps, valid, has_order: tl.constexpr):
    if has_order:
        return tl.load(order + b * steps + i, mask=valid, other=0).to(tl.int64)
    else:
        return b * 0 + i


@triton.jit
def length_of(lengths, b, steps, has_lengths: tl.constexpr):
    if has_lengths:
        return tl.load(lengths + b)
    else:
        return steps


@triton.jit
def gold_score(
    node, tags, edges, start, end, order, b, n, steps, labels,
    node_b, node_t, node_y, tags_b, tags_t, edges_p, edges_y,
    has_order: tl.constexpr, chunk: tl.constexpr,
):  # fmt: skip
    """The score of the given labels: a label out of range makes it NaN."""
    total = tl.zeros([chunk], tl.float64)
    for begin in range(0, n, chunk):
        i = begin + tl.arange(0, chunk)
        valid = i < n
        before = valid & (i > 0)
        if has_order:
            t = tl.load(order + b * steps + i, mask=valid, other=0).to(tl.int64)
            t_before = tl.load(order + b * steps + i - 1, mask=before, other=0).to(tl.int64)
        else:
            t = i.to(tl.int64)
            t_before = t - 1
        y = tl.load(tags + b * tags_b + t * tags_t, mask=valid, other=0)
        p = tl.load(tags + b * tags_b + t_before * tags_t, mask=before, other=0)
        known = (y >= 0) & (y < labels)
        both = known & (p >= 0) & (p < labels)
        score = tl.load(node + b * node_b + t * node_t + y * node_y, mask=valid & known, other=0.0).to(tl.float64)
        score += tl.load(edges + p * edges_p + y * edges_y, mask=before & both, other=0.0).to(tl.float64)
        score += tl.load(start + y, mask=valid & known & (i == 0), other=0.0).to(tl.float64)
        score += tl.load(end + y, mask=valid & known & (i == n - 1), other=0.0).to(tl.float64)
        total += tl.where(valid & (known == 0), float("nan"), score)
    return tl.sum(total, 0)


@triton.jit(do_not_specialize=["batch", "steps"])
def chain_kernel(
    node, edges, border, end, lengths, order, tags, states, log_z, gold, factors, extremes,
    batch, steps, labels, node_b, node_t, node_y, tags_b, tags_t, edges_p, edges_y,
    back: tl.constexpr, has_lengths: tl.constexpr, has_order: tl.constexpr, has_tags: tl.constexpr, keep: tl.constexpr,
    real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """The states of a sequence: forward scores; or, if ``back``, from its end, with the axes of the edges exchanged.

    ``border`` is added to the first row that is met. Only the forward pass has log Z and the score of given labels.
    """
    b = tl.program_id(0).to(tl.int64)
    y = tl.arange(0, block)
    inside = y < labels
    n = length_of(lengths, b, steps, has_lengths)
    edge = load_edges(edges, labels, edges_p, edges_y, real, block)
    top = finite_or_zero(tl.max(tl.max(edge, 1), 0))
    spread = top - tl.min(tl.min(tl.where(edge == float("-inf"), top, edge), 1), 0)
    factor = tl.exp(edge - top)
    if keep and not back:
        if b == 0:  # for the gradient
            both = inside[:, None] & inside[None, :]
            tl.store(factors + y[:, None] * labels + y[None, :], factor, mask=both)
            tl.store(extremes, top)
            tl.store(extremes + 1, spread)
    row = node + b * node_b + y * node_y
    i = n * 0
    if back:
        i = n - 1
    t = row_of(order, b, i, steps, has_order)
    a = tl.load(border + y, mask=inside, other=float("-inf")).to(real)
    a += tl.load(row + t * node_t, mask=inside, other=float("-inf")).to(real)
    if keep:
        tl.store(states + ((b * 0 + i) * batch + b) * labels + y, a, mask=inside)
    offset = tl.zeros([1], tl.float64)
    for step in range(1, n):
        i = step
        if back:
            i = n - 1 - step
        t = row_of(order, b, i, steps, has_order)
        scores = tl.load(row + t * node_t, mask=inside, other=float("-inf")).to(real)
        high = finite_or_zero(tl.max(a, 0))
        if spread_below(a, high) + spread < SPREAD:
            inflow = tl.log(tl.sum(tl.exp(a - high)[:, None] * factor, 0))
        else:
            way = (a - high)[:, None] + (load_edges(edges, labels, edges_p, edges_y, real, block) - top)
            best = finite_or_zero(tl.max(way, 0))
            inflow = tl.log(tl.sum(tl.exp(way - best[None, :]), 0)) + best
        a = inflow + scores
        offset += (high + top).to(tl.float64)
        if keep:
            tl.store(states + ((b * 0 + i) * batch + b) * labels + y, a, mask=inside)
    if not back:
        last = a + tl.load(end + y, mask=inside, other=float("-inf")).to(real)
        high = finite_or_zero(tl.max(last, 0))
        total = tl.log(tl.sum(tl.exp(last - high), 0)).to(tl.float64) + high.to(tl.float64) + offset
        tl.store(log_z + b + tl.arange(0, 1), total)
    if has_tags:
        score = gold_score(
            node, tags, edges, border, end, order, b, n, steps, labels,
            node_b, node_t, node_y, tags_b, tags_t, edges_p, edges_y, has_order, 128,
        )  # fmt: skip
        tl.store(gold + b, score)


@triton.jit(do_not_specialize=["steps"])
def order_kernel(mask, order, lengths, steps, mask_b, mask_t, chunk: tl.constexpr):
    """Lists the valid positions of a sequence."""
    b = tl.program_id(0).to(tl.int64)
    count = tl.zeros([1], tl.int32)
    for begin in range(0, steps, chunk):
        t = begin + tl.arange(0, chunk)
        on = (tl.load(mask + b * mask_b + t * mask_t, mask=t < steps, other=0) != 0).to(tl.int32)
        place = count + tl.cumsum(on, 0) - 1
        tl.store(order + b * steps + place, t, mask=on != 0)
        count += tl.sum(on, 0)
    tl.store(lengths + b + tl.arange(0, 1), tl.maximum(count, 1))  # nothing is read outside even so
