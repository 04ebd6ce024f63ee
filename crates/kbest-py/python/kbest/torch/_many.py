"""Triton kernels for many labels: positions one after the other, each over tiles of sequences and labels.

A step of the forward pass and one of the backward pass are the same product, with the edges read along the other axis: the
state is ``alpha`` forward and ``node + beta`` backward, and

    state'[y] = node'[y] + log sum over p of exp(state[p] - max state) * exp(edge[p][y] - max edge)

Programs of a step leave the largest and the smallest score of their tile, from which the next step takes the maxima of its
rows. As with few labels, a tile whose factors might underflow sums in logarithms.
"""

import triton
import triton.language as tl

from ._few import SPREAD, finite_or_zero, gold_score, length_of, positions_of


@triton.jit
def row_extremes_kernel(edges, found, labels, edges_p, edges_y, real: tl.constexpr, block: tl.constexpr):
    """The largest and the smallest finite edge of a row."""
    p = tl.program_id(0)
    y = tl.arange(0, block)
    edge = tl.load(edges + p.to(tl.int64) * edges_p + y * edges_y, mask=y < labels, other=float("-inf")).to(real)
    tl.store(found + 2 * p, tl.max(edge, 0))
    tl.store(found + 2 * p + 1, tl.min(tl.where(edge == float("-inf"), float("inf"), edge), 0))


@triton.jit
def factors_kernel(
    edges, found, factors, extremes, labels, wide, edges_p, edges_y, real: tl.constexpr, block: tl.constexpr
):
    """A row of exp(edges - top), padded with zeros; the first program also leaves (top, top - smallest finite edge)."""
    p = tl.program_id(0)
    y = tl.arange(0, block)
    top = finite_or_zero(tl.max(tl.load(found + 2 * y, mask=y < labels, other=float("-inf")), 0))
    least = tl.min(tl.load(found + 2 * y + 1, mask=y < labels, other=float("inf")), 0)
    if p == 0:
        tl.store(extremes, top)
        tl.store(extremes + 1, tl.where(least == float("inf"), 0.0, top - least))
    inside = y < tl.where(p < labels, labels, 0)
    edge = tl.load(edges + p.to(tl.int64) * edges_p + y * edges_y, mask=inside, other=float("-inf")).to(real)
    tl.store(factors + p.to(tl.int64) * wide + y, tl.exp(edge - top), mask=y < wide)


@triton.jit
def meet(counter, round, programs):
    """Waits until all programs of a launch have come here this often."""
    tl.debug_barrier()
    tl.atomic_add(counter, 1, sem="release")
    while tl.atomic_add(counter, 0, sem="acquire") < round * programs:
        pass
    tl.debug_barrier()


@triton.jit
def sum_calmly(before, high, going, factors, y, labels, wide, factors_p, factors_y,
               real: tl.constexpr, use_dot: tl.constexpr,
               block_b: tl.constexpr, block_p: tl.constexpr, block_y: tl.constexpr):  # fmt: skip
    """log of the product of a tile with the factors; rows and factors are padded, so nothing has to be masked there."""
    inflow = tl.zeros([block_b, block_y], real)
    for begin in range(0, wide, block_p):
        p = begin + tl.arange(0, block_p)
        a = tl.load(before[:, None] + p[None, :], mask=going[:, None], other=float("-inf"), cache_modifier=".cg")
        f = tl.load(factors + p[:, None] * factors_p + y[None, :] * factors_y)
        x = tl.exp(a - high[:, None])
        if use_dot:
            inflow = tl.dot(x, f, inflow, input_precision="tf32x3")
        else:
            inflow += tl.sum(x[:, :, None] * f[None, :, :], 1)
    return tl.log(inflow)


@triton.jit
def sum_in_logarithms(before, high, going, edges, top, y, labels, edges_p, edges_y,
                      real: tl.constexpr, block_b: tl.constexpr, block_y: tl.constexpr):  # fmt: skip
    """The same, whatever the spread of the scores: one origin after the other."""
    inflow = tl.zeros([block_b, block_y], real)
    best = tl.full([block_b, block_y], float("-inf"), real)
    for p in range(0, labels):
        a = tl.load(before + p, mask=going, other=float("-inf"), cache_modifier=".cg") - high
        e = tl.load(edges + p * edges_p + y * edges_y, mask=y < labels, other=float("-inf")).to(real) - top
        way = a[:, None] + e[None, :]
        better = finite_or_zero(tl.maximum(best, way))
        inflow = inflow * tl.exp(best - better) + tl.exp(way - better)
        best = tl.maximum(best, way)
    return tl.log(inflow) + finite_or_zero(best)


@triton.jit(do_not_specialize=["batch", "steps", "begin", "finish"])
def steps_kernel(
    node, edges, factors, extremes, border, lengths, order, states, tops, lows, offsets, counter, begin, finish,
    batch, steps, labels, wide, tiles, programs, node_b, node_t, node_y, edges_p, edges_y, factors_p, factors_y,
    back: tl.constexpr, has_lengths: tl.constexpr, has_order: tl.constexpr, real: tl.constexpr, use_dot: tl.constexpr,
    block_b: tl.constexpr, block_p: tl.constexpr, block_y: tl.constexpr, block_tiles: tl.constexpr,
):  # fmt: skip
    """Positions ``begin`` to ``finish``, counted from the end if ``back``. ``border`` is added where a sequence begins.

    The programs of a launch meet after each position, so they must all run at once; or a launch has one position only.
    """
    program = tl.program_id(0)
    top = tl.load(extremes)
    spread = tl.load(extremes + 1)
    works = tiles * tl.cdiv(batch, block_b)
    for step in range(begin, finish):
        if back:
            i = steps - 1 - step
        else:
            i = step
        for work in range(program, works, programs):
            tile = work % tiles
            b = ((work // tiles) * block_b + tl.arange(0, block_b)).to(tl.int64)
            y = tile * block_y + tl.arange(0, block_y)
            valid = b < batch
            if has_lengths:
                n = tl.load(lengths + b, mask=valid, other=0)
            else:
                n = tl.zeros([block_b], tl.int32) + steps
            valid = valid & (i < n)
            t = positions_of(order, b, i, steps, valid, has_order)
            inside = valid[:, None] & (y < labels)[None, :]
            rows = (b * node_b + t * node_t)[:, None] + (y * node_y)[None, :]
            scores = tl.load(node + rows, mask=inside, other=float("-inf")).to(real)
            if back:
                first = n - 1 == i
                source = i + 1
            else:
                first = n * 0 == i
                source = i - 1
            going = valid & (first == 0)
            # The rows' maxima, from the tiles of the step before.
            k = tl.arange(0, block_tiles)
            place = (((step + 1) % 2) * tiles + k)[None, :] * batch.to(tl.int64) + b[:, None]
            present = going[:, None] & (k < tiles)[None, :]
            high = tl.max(tl.load(tops + place, mask=present, other=float("-inf"), cache_modifier=".cg"), 1)
            low = tl.min(tl.load(lows + place, mask=present, other=float("inf"), cache_modifier=".cg"), 1)
            high = finite_or_zero(high)
            low = tl.where(low == float("inf"), high, low)
            before = states + (b * 0 + source) * batch * wide + b * wide
            calm = tl.max(tl.where(going & ((high - low + spread < SPREAD) == 0), 1, 0), 0) == 0
            if calm:
                inflow = sum_calmly(
                    before, high, going, factors, y, labels, wide, factors_p, factors_y,
                    real, use_dot, block_b, block_p, block_y,
                )  # fmt: skip
            else:
                inflow = sum_in_logarithms(
                    before, high, going, edges, top, y, labels, edges_p, edges_y, real, block_b, block_y
                )
            at_border = tl.load(border + y, mask=y < labels, other=float("-inf")).to(real)
            state = tl.where(first[:, None], at_border[None, :], inflow) + scores
            here = states + ((b * 0 + i) * batch * wide + b * wide)[:, None] + y[None, :]
            tl.store(here, state, mask=valid[:, None])
            here = ((step % 2) * tiles + tile) * batch.to(tl.int64) + b
            tl.store(tops + here, tl.max(state, 1), mask=valid)
            tl.store(lows + here, tl.min(tl.where(state == float("-inf"), float("inf"), state), 1), mask=valid)
            if tile == 0:
                total = tl.load(offsets + b, mask=going, other=0.0)
                tl.store(offsets + b, total + (high + top).to(tl.float64), mask=going)
        if step < finish - 1:
            meet(counter, step - begin + 1, programs)


@triton.jit(do_not_specialize=["batch", "steps"])
def total_kernel(
    alphas, end, lengths, offsets, log_z, batch, steps, labels, wide,
    has_lengths: tl.constexpr, real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """log Z of a sequence from its last forward scores."""
    b = tl.program_id(0).to(tl.int64)
    y = tl.arange(0, block)
    inside = y < labels
    n = length_of(lengths, b, steps, has_lengths)
    last = tl.load(alphas + ((n - 1).to(tl.int64) * batch + b) * wide + y, mask=inside, other=float("-inf"))
    last += tl.load(end + y, mask=inside, other=float("-inf")).to(real)
    high = finite_or_zero(tl.max(last, 0))
    total = tl.log(tl.sum(tl.exp(last - high), 0)).to(tl.float64) + high.to(tl.float64)
    tl.store(log_z + b, total + tl.load(offsets + b))


@triton.jit(do_not_specialize=["steps"])
def gold_kernel(
    node, tags, edges, start, end, lengths, order, gold,
    steps, labels, node_b, node_t, node_y, tags_b, tags_t, edges_p, edges_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr,
):  # fmt: skip
    """The score of the given labels of a sequence."""
    b = tl.program_id(0).to(tl.int64)
    n = length_of(lengths, b, steps, has_lengths)
    score = gold_score(
        node, tags, edges, start, end, order, b, n, steps, labels,
        node_b, node_t, node_y, tags_b, tags_t, edges_p, edges_y, has_order, 128,
    )  # fmt: skip
    tl.store(gold + b, score)
