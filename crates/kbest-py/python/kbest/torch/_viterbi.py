"""Triton kernels for the best path, the same labels as plain Viterbi in ``kbest`` to the last bit.

Scores are added in one order, ``(before + edge) + node``; among equals the smallest label wins, read from the end. There
are no products, so nothing can be fused or reassociated. Forward scores of all positions are kept; the way back finds each
label again from the scores before it, which needs one column of the edges per position.
"""

import triton
import triton.language as tl

from ._few import length_of, load_edges, row_of


@triton.jit
def lowest_best(u, y, labels):
    """The largest score, and the smallest label that has it."""
    best = tl.max(u, 0)
    label = tl.min(tl.where(u == best, y, labels), 0)
    return best, tl.minimum(label, labels - 1)  # all are NaN: any label


@triton.jit
def trace_back(
    edges, end, alphas, order, path, score, b, n, batch, steps, labels, edges_p, edges_y,
    has_order: tl.constexpr, real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    y = tl.arange(0, block)
    inside = y < labels
    rows = alphas + b * labels + y
    u = tl.load(rows + (n - 1).to(tl.int64) * batch * labels, mask=inside, other=float("-inf"))
    u += tl.load(end + y, mask=inside, other=float("-inf")).to(real)
    best, label = lowest_best(u, y, labels)
    tl.store(score + b, best)
    found = best > float("-inf")
    for k in range(0, n):
        i = n - 1 - k
        if k > 0:
            u = tl.load(rows + (b * 0 + i) * batch * labels, mask=inside, other=float("-inf"))
            u += tl.load(edges + y.to(tl.int64) * edges_p + label * edges_y, mask=inside, other=float("-inf")).to(real)
            best, label = lowest_best(u, y, labels)
        t = row_of(order, b, i, steps, has_order)
        tl.store(path + b * steps + t, tl.where(found, label, -1).to(tl.int64))


@triton.jit(do_not_specialize=["batch", "steps"])
def few_kernel(
    node, edges, start, end, lengths, order, alphas, path, score,
    batch, steps, labels, node_b, node_t, node_y, edges_p, edges_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """One sequence, edges in registers."""
    b = tl.program_id(0).to(tl.int64)
    y = tl.arange(0, block)
    inside = y < labels
    n = length_of(lengths, b, steps, has_lengths)
    edge = load_edges(edges, labels, edges_p, edges_y, real, block)
    row = node + b * node_b + y * node_y
    t = row_of(order, b, n * 0, steps, has_order)
    a = tl.load(start + y, mask=inside, other=float("-inf")).to(real)
    a += tl.load(row + t * node_t, mask=inside, other=float("-inf")).to(real)
    tl.store(alphas + b * labels + y, a, mask=inside)
    for i in range(1, n):
        t = row_of(order, b, i, steps, has_order)
        scores = tl.load(row + t * node_t, mask=inside, other=float("-inf")).to(real)
        a = tl.max(a[:, None] + edge, 0) + scores
        tl.store(alphas + ((b * 0 + i) * batch + b) * labels + y, a, mask=inside)
    tl.debug_barrier()  # other threads read what these wrote
    trace_back(
        edges, end, alphas, order, path, score, b, n, batch, steps, labels, edges_p, edges_y, has_order, real, block
    )


@triton.jit(do_not_specialize=["batch", "steps", "i"])
def step_kernel(
    node, edges, start, lengths, order, alphas, i,
    batch, steps, labels, node_b, node_t, node_y, edges_p, edges_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, real: tl.constexpr,
    block_b: tl.constexpr, block_p: tl.constexpr, block_y: tl.constexpr,
):  # fmt: skip
    """One position of some sequences, into some labels: a product of matrices in which sums are maxima."""
    b = (tl.program_id(1) * block_b + tl.arange(0, block_b)).to(tl.int64)
    y = tl.program_id(0) * block_y + tl.arange(0, block_y)
    real_b = b < batch
    if has_lengths:
        real_b = real_b & (tl.load(lengths + b, mask=real_b, other=0) > i)
    if has_order:
        t = tl.load(order + b * steps + i, mask=real_b, other=0).to(tl.int64)
    else:
        t = b * 0 + i
    inside = real_b[:, None] & (y < labels)[None, :]
    scores = tl.load(node + (b * node_b + t * node_t)[:, None] + (y * node_y)[None, :], mask=inside, other=float("-inf"))
    if i == 0:
        best = tl.zeros([block_b, block_y], real) + tl.load(start + y, mask=y < labels, other=float("-inf")).to(real)[None, :]
    else:
        # A maximum per residue of the origin; they meet after the loop.
        tops = tl.full([block_b, block_p, block_y], float("-inf"), real)
        before = alphas + ((i - 1) * batch + b) * labels
        for begin in range(0, labels, block_p):
            p = begin + tl.arange(0, block_p)
            a = tl.load(before[:, None] + p[None, :], mask=real_b[:, None] & (p < labels)[None, :], other=float("-inf"))
            e = tl.load(
                edges + p.to(tl.int64)[:, None] * edges_p + (y * edges_y)[None, :],
                mask=(p < labels)[:, None] & (y < labels)[None, :],
                other=float("-inf"),
            ).to(real)
            tops = tl.maximum(tops, a[:, :, None] + e[None, :, :])
        best = tl.max(tops, 1)
    place = alphas + ((b * 0 + i) * batch + b)[:, None] * labels + y[None, :]
    tl.store(place, best + scores.to(real), mask=inside)


@triton.jit(do_not_specialize=["batch", "steps"])
def trace_kernel(
    edges, end, lengths, order, alphas, path, score, batch, steps, labels, edges_p, edges_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n = length_of(lengths, b, steps, has_lengths)
    trace_back(
        edges, end, alphas, order, path, score, b, n, batch, steps, labels, edges_p, edges_y, has_order, real, block
    )
