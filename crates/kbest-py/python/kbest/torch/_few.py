"""Triton kernels for few labels: one program per sequence, transitions in registers, one launch forward and one backward.

Forward, in logarithms, with what is common to a row kept apart in ``offset``::

    a[0][y] = start[y] + node[0][y]
    a[t][y] = node[t][y] + log sum over p of exp(a[t-1][p] - max a[t-1]) * exp(edge[p][y] - max edge)

A factor that underflows is lost. Where it could matter (scores of a row and edges together lie 80 apart or more), a step is
summed in logarithms, pair by pair. Whether it does is decided per step, so that no input is silently wrong.

Backward, the state is ``w[t] = node[t] + beta[t]``. The probabilities of labels are those of ``a + beta``, divided by their
own sum, so that large scores cost no precision. Expected pairs are summed as outer products and multiplied by
``exp(edge)`` once, at the end.
"""

import triton
import triton.language as tl

#: Beyond this sum of logarithms, products of two factors come near the end of f32.
SPREAD = tl.constexpr(80.0)
#: The largest logarithm of a factor of an outer product.
RISE = tl.constexpr(60.0)
FORBIDDEN = tl.constexpr(float("-inf"))


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
def forward_kernel(
    node, edges, start, end, lengths, order, tags, alphas, log_z, gold,
    batch, steps, labels, node_b, node_t, node_y, tags_b, tags_t, edges_p, edges_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, has_tags: tl.constexpr, keep: tl.constexpr,
    real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    y = tl.arange(0, block)
    inside = y < labels
    n = length_of(lengths, b, steps, has_lengths)
    edge = load_edges(edges, labels, edges_p, edges_y, real, block)
    top = finite_or_zero(tl.max(tl.max(edge, 1), 0))
    spread = top - tl.min(tl.min(tl.where(edge == float("-inf"), top, edge), 1), 0)
    factor = tl.exp(edge - top)
    row = node + b * node_b + y * node_y
    t = row_of(order, b, n * 0, steps, has_order)
    a = tl.load(start + y, mask=inside, other=float("-inf")).to(real)
    a += tl.load(row + t * node_t, mask=inside, other=float("-inf")).to(real)
    if keep:
        tl.store(alphas + b * labels + y, a, mask=inside)
    offset = tl.zeros([1], tl.float64)
    for i in range(1, n):
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
            tl.store(alphas + ((b * 0 + i) * batch + b) * labels + y, a, mask=inside)
    last = a + tl.load(end + y, mask=inside, other=float("-inf")).to(real)
    high = finite_or_zero(tl.max(last, 0))
    total = tl.log(tl.sum(tl.exp(last - high), 0)).to(tl.float64) + high.to(tl.float64) + offset
    tl.store(log_z + b + tl.arange(0, 1), total)
    if has_tags:
        score = gold_score(
            node, tags, edges, start, end, order, b, n, steps, labels,
            node_b, node_t, node_y, tags_b, tags_t, edges_p, edges_y, has_order, 128,
        )  # fmt: skip
        tl.store(gold + b, score)


@triton.jit
def count_gold(
    slot, tags, order, weight, b, n, steps, labels, tags_b, tags_t, has_order: tl.constexpr, chunk: tl.constexpr
):
    """Adds a weight for each pair of the given labels. All addends of a call are equal: their order does not matter."""
    for begin in range(1, n, chunk):
        i = begin + tl.arange(0, chunk)
        valid = i < n
        if has_order:
            t = tl.load(order + b * steps + i, mask=valid, other=0).to(tl.int64)
            t_before = tl.load(order + b * steps + i - 1, mask=valid, other=0).to(tl.int64)
        else:
            t = i.to(tl.int64)
            t_before = t - 1
        y = tl.load(tags + b * tags_b + t * tags_t, mask=valid, other=0)
        p = tl.load(tags + b * tags_b + t_before * tags_t, mask=valid, other=0)
        known = valid & (y >= 0) & (y < labels) & (p >= 0) & (p < labels)
        tl.atomic_add(slot + p * labels + y, tl.zeros([chunk], weight.dtype) + weight, mask=known)


@triton.jit(do_not_specialize=["batch", "steps"])
def backward_kernel(
    node, edges, end, lengths, order, tags, alphas, grad_z, grad_gold, grad_node, sums,
    batch, steps, labels, programs, node_b, node_t, node_y, tags_b, tags_t, edges_p, edges_y, grad_b, grad_t, grad_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, has_tags: tl.constexpr,
    real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Each program takes every n-th sequence and sums gradients of edges, start and end into its own row of ``sums``."""
    program = tl.program_id(0)
    y = tl.arange(0, block)
    inside = y < labels
    edge = load_edges(edges, labels, edges_p, edges_y, real, block)
    top = finite_or_zero(tl.max(tl.max(edge, 1), 0))
    spread = top - tl.min(tl.min(tl.where(edge == float("-inf"), top, edge), 1), 0)
    factor = tl.exp(edge - top)
    pairs = tl.zeros([block, block], real)
    at_start = tl.zeros([block], real)
    at_end = tl.zeros([block], real)
    slot = sums + program.to(tl.int64) * (labels * labels + 2 * labels)
    places = slot + y[:, None] * labels + y[None, :]
    both_inside = inside[:, None] & inside[None, :]
    for sequence in range(program, batch, programs):
        b = program.to(tl.int64) * 0 + sequence
        n = length_of(lengths, b, steps, has_lengths)
        row = node + b * node_b + y * node_y
        grad_row = grad_node + b * grad_b + y * grad_y
        weight = tl.load(grad_z + b).to(real)
        gold = tl.load(grad_gold + b).to(real)
        beta = tl.load(end + y, mask=inside, other=float("-inf")).to(real)
        w = beta  # replaced before it is read
        low = weight * 0.0
        far = batch < 0
        for k in range(0, n):
            i = n - 1 - k
            t = row_of(order, b, i, steps, has_order)
            a = tl.load(alphas + ((b * 0 + i) * batch + b) * labels + y, mask=inside, other=float("-inf"))
            scores = tl.load(row + t * node_t, mask=inside, other=float("-inf")).to(real)
            if k > 0:
                low = finite_or_zero(tl.max(w, 0))
                far = (spread_below(w, low) + spread < SPREAD) == 0
                if far:
                    way = (w - low)[None, :] + (load_edges(edges, labels, edges_p, edges_y, real, block) - top)
                    best = finite_or_zero(tl.max(way, 1))
                    beta = tl.log(tl.sum(tl.exp(way - best[:, None]), 1)) + best
                else:
                    beta = tl.log(tl.sum(tl.exp(w - low)[None, :] * factor, 1))
            q = a + beta
            high = tl.max(q, 0)
            possible = high > float("-inf")
            high = finite_or_zero(high)
            unlikely = tl.exp(q - high)
            total = tl.sum(unlikely, 0)
            share = tl.where(possible, weight / total, weight * 0.0)
            posterior = unlikely * share
            if (k > 0) & possible:
                if far | (tl.max(a, 0) - high >= RISE):
                    way = a[:, None] + (load_edges(edges, labels, edges_p, edges_y, real, block) - top)
                    way += (w - low)[None, :] - high
                    tl.atomic_add(places, tl.exp(way) * share, mask=both_inside)
                else:
                    pairs += (tl.exp(a - high) * share)[:, None] * tl.exp(w - low)[None, :]
            gradient = posterior
            if has_tags:
                label = tl.load(tags + b * tags_b + t * tags_t)
                gradient += tl.where(y == label, gold, gold * 0.0)
            tl.store(grad_row + t * grad_t, gradient, mask=inside)
            if k == 0:
                at_end += gradient
            if i == 0:
                at_start += gradient
            w = scores + beta
        if has_tags:
            tl.debug_barrier()
            count_gold(slot, tags, order, gold, b, n, steps, labels, tags_b, tags_t, has_order, 128)
            tl.debug_barrier()
    tl.debug_barrier()
    tl.atomic_add(places, pairs * factor, mask=both_inside)
    tl.store(slot + labels * labels + y, at_start, mask=inside)
    tl.store(slot + labels * labels + labels + y, at_end, mask=inside)


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
