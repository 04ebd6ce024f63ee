"""Triton kernels for the best path, the same labels as plain Viterbi in ``kbest`` to the last bit.

Scores are added in one order, ``(before + edge) + node``; among equals the smallest label wins, read from the end. There
are no products, so nothing can be fused or reassociated. Forward scores of all positions are kept; the way back finds each
label again from the scores before it, which needs one column of the edges per position.
"""

import triton
import triton.language as tl

from ._few import length_of, load_edges, positions_of, row_of
from ._many import meet


@triton.jit
def lowest_best(u, y, labels):
    """The largest score, and the smallest label that has it."""
    best = tl.max(u, 0)
    label = tl.min(tl.where(u == best, y, labels), 0)
    return best, tl.minimum(label, labels - 1)  # all are NaN: any label


@triton.jit
def trace_back(
    edges, end, alphas, order, path, score, b, n, batch, steps, labels, wide, edges_p, edges_y,
    has_order: tl.constexpr, real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    y = tl.arange(0, block)
    inside = y < labels
    rows = alphas + b * wide + y
    u = tl.load(rows + (n - 1).to(tl.int64) * batch * wide, mask=inside, other=float("-inf"))
    u += tl.load(end + y, mask=inside, other=float("-inf")).to(real)
    best, label = lowest_best(u, y, labels)
    tl.store(score + b, best)
    found = best > float("-inf")
    for k in range(0, n):
        i = n - 1 - k
        if k > 0:
            u = tl.load(rows + (b * 0 + i) * batch * wide, mask=inside, other=float("-inf"))
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
        edges, end, alphas, order, path, score, b, n, batch, steps, labels, labels, edges_p, edges_y, has_order, real, block
    )


@triton.jit(do_not_specialize=["batch", "steps", "begin", "finish"])
def steps_kernel(
    node, padded, start, lengths, order, alphas, counter, begin, finish,
    batch, steps, labels, wide, tiles, programs, node_b, node_t, node_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, real: tl.constexpr,
    block_b: tl.constexpr, block_p: tl.constexpr, block_y: tl.constexpr,
):  # fmt: skip
    """Forward scores of positions ``begin`` to ``finish``: products of matrices in which sums are maxima.

    Rows of scores and of edges are padded with minus infinity. As in :mod:`kbest.torch._many`, the programs of a launch meet
    after each position.
    """
    program = tl.program_id(0)
    works = tiles * tl.cdiv(batch, block_b)
    for i in range(begin, finish):
        for work in range(program, works, programs):
            b = ((work // tiles) * block_b + tl.arange(0, block_b)).to(tl.int64)
            y = (work % tiles) * block_y + tl.arange(0, block_y)
            valid = b < batch
            if has_lengths:
                valid = valid & (tl.load(lengths + b, mask=valid, other=0) > i)
            t = positions_of(order, b, i, steps, valid, has_order)
            inside = valid[:, None] & (y < labels)[None, :]
            rows = (b * node_b + t * node_t)[:, None] + (y * node_y)[None, :]
            scores = tl.load(node + rows, mask=inside, other=float("-inf")).to(real)
            # A maximum per residue of the origin; they meet after the loop.
            tops = tl.full([block_b, block_p, block_y], float("-inf"), real)
            before = alphas + (b * 0 + i - 1) * batch * wide + b * wide
            going = valid & (b * 0 + i > 0)
            for origin in range(0, wide, block_p):
                p = origin + tl.arange(0, block_p)
                a = tl.load(before[:, None] + p[None, :], mask=going[:, None], other=float("-inf"), cache_modifier=".cg")
                e = tl.load(padded + p[:, None] * wide + y[None, :])
                tops = tl.maximum(tops, a[:, :, None] + e[None, :, :])
            first = tl.load(start + y, mask=y < labels, other=float("-inf")).to(real)
            best = tl.where((b * 0 + i == 0)[:, None], first[None, :], tl.max(tops, 1))
            here = alphas + ((b * 0 + i) * batch * wide + b * wide)[:, None] + y[None, :]
            tl.store(here, best + scores, mask=valid[:, None])
        if i < finish - 1:
            meet(counter, i - begin + 1, programs)


@triton.jit(do_not_specialize=["batch", "steps"])
def trace_kernel(
    edges, end, lengths, order, alphas, path, score, batch, steps, labels, wide, edges_p, edges_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n = length_of(lengths, b, steps, has_lengths)
    trace_back(
        edges, end, alphas, order, path, score, b, n, batch, steps, labels, wide, edges_p, edges_y, has_order, real, block
    )
