"""Triton kernels that turn the states of both passes into gradients.

The probability of a label is ``exp(alpha + beta)``, divided by the sum over all labels of its position, so that large scores
cost no precision. Expected pairs are one product of matrices over all positions, of two factors that
:func:`finish_kernel` leaves, times ``exp(edge)``. Where a factor would be too large for f32, because the labels that are
likely so far are unlikely in the end, :func:`steep_kernel` adds the pairs of that step one by one.
"""

import triton
import triton.language as tl

from ._few import finite_or_zero, length_of, positions_of

#: The largest logarithm of a factor.
RISE = tl.constexpr(60.0)


@triton.jit
def likelihoods(node, alphas, states, order, b, i, n, batch, steps, wide, node_b, node_t, node_y, y, inside,
                has_order: tl.constexpr, real: tl.constexpr):  # fmt: skip
    """Forward scores, states, and logarithms of the probabilities of labels but for a constant, whose maximum comes last."""
    place = (i.to(tl.int64) * batch + b) * wide + y
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
    batch, steps, labels, wide, node_b, node_t, node_y, edges_p, edges_y,
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
            node, alphas, states, order, b, i, n, batch, steps, wide, node_b, node_t, node_y, y, inside, has_order, real
        )
        if (high > float("-inf")) & is_steep(a, high):
            share = tl.load(grad_z + b).to(real) / tl.sum(tl.exp(q - high), 0)
            after = tl.load(states + ((i + 1).to(tl.int64) * batch + b) * wide + y, mask=inside, other=float("-inf"))
            after -= finite_or_zero(tl.max(after, 0)) + tl.load(extremes)
            for p in range(0, labels):
                before = tl.load(alphas + (i.to(tl.int64) * batch + b) * wide + p)
                e = tl.load(edges + p * edges_p + y * edges_y, mask=inside, other=float("-inf")).to(real)
                tl.atomic_add(exact + p * labels + y, tl.exp(before - high + e + after) * share, mask=inside)


@triton.jit(do_not_specialize=["batch", "steps"])
def finish_kernel(
    node, lengths, order, tags, alphas, states, origins, grad_z, grad_gold, grad_node, exact,
    batch, steps, labels, wide, node_b, node_t, node_y, tags_b, tags_t, grad_b, grad_t, grad_y,
    has_lengths: tl.constexpr, has_order: tl.constexpr, has_tags: tl.constexpr, count: tl.constexpr,
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
    place = (i.to(tl.int64) * batch + b) * wide + y
    if i >= n:
        tl.store(origins + place, tl.zeros([block], real), mask=y < wide)
        tl.store(states + place, tl.zeros([block], real), mask=y < wide)
    else:
        a, w, q, t, high = likelihoods(
            node, alphas, states, order, b, i, n, batch, steps, wide, node_b, node_t, node_y, y, inside, has_order, real
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
            if count and i > 0:
                t_before = positions_of(order, b, i - 1, steps, i < n, has_order)
                origin_label = tl.load(tags + b * tags_b + t_before * tags_t)
                known = (origin_label >= 0) & (origin_label < labels) & (label >= 0) & (label < labels)
                tl.atomic_add(exact + origin_label * labels + label, gold, mask=known)
        tl.store(grad_node + b * grad_b + t * grad_t + y * grad_y, gradient, mask=inside)
        origin = tl.where(leaves, tl.exp(a - high) * share, tl.zeros([block], real))
        tl.store(origins + place, origin, mask=y < wide)
        tl.store(states + place, tl.exp(w - finite_or_zero(tl.max(w, 0))), mask=y < wide)
