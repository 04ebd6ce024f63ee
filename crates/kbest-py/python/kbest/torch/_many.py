"""Triton kernels for many labels: a launch per position over tiles of sequences and labels.

A step of the forward pass and one of the backward pass are the same product, with the edges read along the other axis: the
state is ``alpha`` forward and ``node + beta`` backward, and

    state'[y] = node'[y] + log sum over p of exp(state[p] - max state) * exp(edge[p][y] - max edge)

Programs of a step leave the largest and the smallest score of their tile, from which the next step takes the maxima of its
rows. As with few labels, a tile whose factors might underflow sums in logarithms. Expected pairs are one product of
matrices over all positions, of what :func:`finish_kernel` leaves.
"""

import triton
import triton.language as tl

from ._few import RISE, SPREAD, finite_or_zero, gold_score, length_of


@triton.jit
def positions_of(order, b, i, steps, valid, has_order: tl.constexpr):
    if has_order:
        return tl.load(order + b * steps + i, mask=valid, other=0).to(tl.int64)
    else:
        return b * 0 + i


@triton.jit(do_not_specialize=["batch", "steps", "i", "back"])
def step_kernel(
    node, edges, factors, extremes, border, lengths, order, states, tops, lows, offsets, i, back,
    batch, steps, labels, tiles, node_b, node_t, node_y, edges_p, edges_y, factors_p, factors_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, real: tl.constexpr, use_dot: tl.constexpr,
    block_b: tl.constexpr, block_p: tl.constexpr, block_y: tl.constexpr, block_tiles: tl.constexpr,
):  # fmt: skip
    """Step i: from position i - 1, or from i + 1 if ``back``. ``border`` is added where a sequence begins (or ends)."""
    tile = tl.program_id(0)
    b = (tl.program_id(1) * block_b + tl.arange(0, block_b)).to(tl.int64)
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
    first = (i == 0) | (back != 0)
    first = tl.where(back != 0, i == n - 1, first)
    at_border = tl.load(border + y, mask=y < labels, other=float("-inf")).to(real)
    # The rows' maxima, from the tiles of the step before.
    k = tl.arange(0, block_tiles)
    place = ((1 - i % 2) * tiles + k).to(tl.int64)[None, :] * batch + b[:, None]
    present = valid[:, None] & (first[:, None] == 0) & (k < tiles)[None, :]
    high = tl.max(tl.load(tops + place, mask=present, other=float("-inf")), 1)
    low = tl.min(tl.load(lows + place, mask=present, other=float("inf")), 1)
    high = finite_or_zero(high)
    low = tl.where(low == float("inf"), high, low)
    top = tl.load(extremes)
    spread = tl.load(extremes + 1)
    source = i - 1 + 2 * back
    before = states + (source.to(tl.int64) * batch + b) * labels
    going = valid & (first == 0)
    calm = tl.max(tl.where(going, (high - low + spread < SPREAD) == 0, False).to(tl.int32), 0) == 0
    inflow = tl.zeros([block_b, block_y], real)
    if tl.max(going.to(tl.int32), 0) > 0:
        if calm:
            for begin in range(0, labels, block_p):
                p = begin + tl.arange(0, block_p)
                a = tl.load(before[:, None] + p[None, :], mask=going[:, None] & (p < labels)[None, :], other=float("-inf"))
                x = tl.exp(a - high[:, None])
                f = tl.load(
                    factors + p.to(tl.int64)[:, None] * factors_p + (y * factors_y)[None, :],
                    mask=(p < labels)[:, None] & (y < labels)[None, :],
                    other=0.0,
                )
                if use_dot:
                    inflow = tl.dot(x, f, inflow, input_precision="tf32x3")
                else:
                    inflow += tl.sum(x[:, :, None] * f[None, :, :], 1)
            inflow = tl.log(inflow)
        else:
            best = tl.full([block_b, block_y], float("-inf"), real)
            for p in range(0, labels):
                a = tl.load(before + p, mask=going, other=float("-inf")) - high
                e = tl.load(edges + p * edges_p + y * edges_y, mask=y < labels, other=float("-inf")).to(real) - top
                way = a[:, None] + e[None, :]
                better = finite_or_zero(tl.maximum(best, way))
                inflow = inflow * tl.exp(best - better) + tl.exp(way - better)
                best = tl.maximum(best, way)
            inflow = tl.log(inflow) + finite_or_zero(best)
    state = tl.where(first[:, None], at_border[None, :], inflow) + scores
    tl.store(states + ((b * 0 + i) * batch + b)[:, None] * labels + y[None, :], state, mask=inside)
    here = ((i % 2) * tiles + tile).to(tl.int64) * batch + b
    tl.store(tops + here, tl.max(tl.where(inside, state, float("-inf")), 1), mask=valid)
    tl.store(lows + here, tl.min(tl.where(state == float("-inf"), float("inf"), state), 1), mask=valid)
    if tile == 0:
        total = tl.load(offsets + b, mask=going, other=0.0)
        tl.store(offsets + b, total + (high + top).to(tl.float64), mask=going)


@triton.jit(do_not_specialize=["batch", "steps"])
def total_kernel(
    alphas, end, lengths, offsets, log_z, batch, steps, labels,
    has_lengths: tl.constexpr, real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """log Z of a sequence from its last forward scores."""
    b = tl.program_id(0).to(tl.int64)
    y = tl.arange(0, block)
    inside = y < labels
    n = length_of(lengths, b, steps, has_lengths)
    last = tl.load(alphas + ((n - 1).to(tl.int64) * batch + b) * labels + y, mask=inside, other=float("-inf"))
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


@triton.jit
def likelihoods(node, alphas, states, order, b, i, n, batch, steps, labels, node_b, node_t, node_y, y, inside,
                has_order: tl.constexpr, real: tl.constexpr):  # fmt: skip
    """Forward scores, states, and logarithms of the probabilities of labels but for a constant, whose maximum comes last."""
    place = (i.to(tl.int64) * batch + b) * labels + y
    t = positions_of(order, b, i, steps, i < n, has_order)
    a = tl.load(alphas + place, mask=inside, other=float("-inf"))
    w = tl.load(states + place, mask=inside, other=float("-inf"))
    scores = tl.load(node + b * node_b + t * node_t + y * node_y, mask=inside, other=float("-inf")).to(real)
    q = a + tl.where(scores == float("-inf"), float("-inf"), w - scores)
    return a, w, q, t, tl.max(q, 0)


@triton.jit
def is_steep(a, high):
    """Whether a factor of pairs would be too large for f32."""
    return tl.max(a, 0) - high >= RISE


@triton.jit(do_not_specialize=["batch", "steps"])
def steep_kernel(
    node, edges, extremes, lengths, order, alphas, states, grad_z, exact,
    batch, steps, labels, node_b, node_t, node_y, edges_p, edges_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Adds the pairs of steps whose factors would be too large one by one. Hardly ever has anything to do."""
    i = tl.program_id(0)
    b = tl.program_id(1).to(tl.int64)
    y = tl.arange(0, block)
    inside = y < labels
    n = length_of(lengths, b, steps, has_lengths)
    if i < n - 1:
        a, w, q, t, high = likelihoods(
            node, alphas, states, order, b, i, n, batch, steps, labels, node_b, node_t, node_y, y, inside, has_order, real
        )
        if (high > float("-inf")) & is_steep(a, high):
            share = tl.load(grad_z + b).to(real) / tl.sum(tl.exp(q - high), 0)
            after = tl.load(states + ((i + 1).to(tl.int64) * batch + b) * labels + y, mask=inside, other=float("-inf"))
            after -= finite_or_zero(tl.max(after, 0)) + tl.load(extremes)
            for p in range(0, labels):
                before = tl.load(alphas + (i.to(tl.int64) * batch + b) * labels + p)
                e = tl.load(edges + p * edges_p + y * edges_y, mask=inside, other=float("-inf")).to(real)
                tl.atomic_add(exact + p * labels + y, tl.exp(before - high + e + after) * share, mask=inside)


@triton.jit(do_not_specialize=["batch", "steps"])
def finish_kernel(
    node, lengths, order, tags, alphas, states, origins, grad_z, grad_gold, grad_node, exact,
    batch, steps, labels, node_b, node_t, node_y, tags_b, tags_t, grad_b, grad_t, grad_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, has_tags: tl.constexpr,
    real: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """One position of a sequence: its gradient, and the two factors of its expected pairs.

    ``origins[i]`` gets the factor of the label that step i + 1 leaves, ``states[i]`` that of the label that step i enters.
    """
    i = tl.program_id(0)
    b = tl.program_id(1).to(tl.int64)
    y = tl.arange(0, block)
    inside = y < labels
    n = length_of(lengths, b, steps, has_lengths)
    place = (i.to(tl.int64) * batch + b) * labels + y
    if i >= n:
        tl.store(origins + place, tl.zeros([block], real), mask=inside)
        tl.store(states + place, tl.zeros([block], real), mask=inside)
    else:
        a, w, q, t, high = likelihoods(
            node, alphas, states, order, b, i, n, batch, steps, labels, node_b, node_t, node_y, y, inside, has_order, real
        )
        possible = high > float("-inf")
        leaves = (i < n - 1) & possible & (is_steep(a, high) == 0)
        high = finite_or_zero(high)
        likely = tl.exp(q - high)
        weight = tl.load(grad_z + b).to(real)
        share = tl.where(possible, weight / tl.sum(likely, 0), weight * 0.0)
        gradient = likely * share
        if has_tags:
            gold = tl.load(grad_gold + b).to(real)
            label = tl.load(tags + b * tags_b + t * tags_t)
            gradient += tl.where(y == label, gold, gold * 0.0)
            if i > 0:
                t_before = positions_of(order, b, i - 1, steps, i < n, has_order)
                origin_label = tl.load(tags + b * tags_b + t_before * tags_t)
                known = (origin_label >= 0) & (origin_label < labels) & (label >= 0) & (label < labels)
                tl.atomic_add(exact + origin_label * labels + label, gold, mask=known)
        tl.store(grad_node + b * grad_b + t * grad_t + y * grad_y, gradient, mask=inside)
        origin = tl.where(leaves, tl.exp(a - high) * share, tl.zeros([block], real))
        tl.store(origins + place, origin, mask=inside)
        tl.store(states + place, tl.exp(w - finite_or_zero(tl.max(w, 0))), mask=inside)
