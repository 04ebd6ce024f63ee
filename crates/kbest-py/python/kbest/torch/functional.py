"""Functions for chains inside a network. Scores are (B, T, L); ``mask`` is (B, T), true where a position counts.

All but :func:`decode`, :func:`kbest` and :func:`sample` have gradients in ``emissions``, ``transitions``, ``start`` and
``end``, unless they say otherwise. Second derivatives are refused. Sums are kept in double precision; what is returned has
the type of the scores, float32 for half types.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from . import _cpu, _ops

__all__ = [
    "decode",
    "entropy",
    "kbest",
    "log_likelihood",
    "log_partition",
    "marginals",
    "max_margin",
    "partial_log_likelihood",
    "path_score",
    "perceptron",
    "sample",
]


def _check(emissions: Tensor, transitions: Tensor) -> None:
    if emissions.dim() != 3:
        raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
    labels = emissions.shape[2]
    if tuple(transitions.shape) != (labels, labels):
        raise ValueError(f"expected transitions of shape {(labels, labels)}, got {tuple(transitions.shape)}")
    if not emissions.is_floating_point():
        raise TypeError(f"emissions: expected floating point scores, got {emissions.dtype}")
    if emissions.shape[1] == 0 or labels == 0:
        raise ValueError(f"emissions: expected at least one position and one label, got {tuple(emissions.shape)}")


def _can_wait(tensor: Tensor) -> bool:
    """Whether values may be looked at: not while torch compiles, nor while a CUDA graph is captured."""
    if torch.compiler.is_compiling():
        return False
    return tensor.device.type != "cuda" or not torch.cuda.is_current_stream_capturing()


def _order(mask: Optional[Tensor], emissions: Tensor) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    if mask is None:
        return None, None
    if mask.shape != emissions.shape[:2]:
        raise ValueError(
            "the first two dimensions of emissions and mask must match, "
            f"got {tuple(emissions.shape[:2])} and {tuple(mask.shape)}"
        )
    if _can_wait(mask) and not bool(mask[:, 0].all()):
        raise ValueError("mask of the first timestep must all be on")
    order, lengths = _ops.order_of(mask if mask.dtype != torch.bool else mask.to(torch.uint8))
    return lengths, order


def _borders(emissions: Tensor, transitions: Tensor, start: Optional[Tensor], end: Optional[Tensor]) -> Any:
    labels = emissions.shape[2]
    zeros = transitions.new_zeros(labels) if start is None or end is None else None
    for name, border in (("start", start), ("end", end)):
        if border is not None and tuple(border.shape) != (labels,):
            raise ValueError(f"expected {name} of shape {(labels,)}, got {tuple(border.shape)}")
    return (zeros if start is None else start), (zeros if end is None else end)


def _scores(emissions: Tensor, transitions: Tensor, start: Optional[Tensor], end: Optional[Tensor]) -> Any:
    _check(emissions, transitions)
    start, end = _borders(emissions, transitions, start, end)
    if torch.float64 in (transitions.dtype, start.dtype, end.dtype):
        emissions = emissions.double()
    return emissions, transitions, start, end


def _out(value: Tensor, emissions: Tensor) -> Tensor:
    return value.to(torch.float64 if emissions.dtype == torch.float64 else torch.float32)


def _chain(scores: Any, mask: Optional[Tensor], tags: Optional[Tensor]) -> Any:
    return _ops.Chain.apply(*scores, *_order(mask, scores[0]), tags)


def log_partition(
    emissions: Tensor,
    transitions: Tensor,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
) -> Tensor:
    """log Z of each sequence: the logarithm of the sum of exp(score) over all paths. Minus infinity if all are forbidden."""
    scores = _scores(emissions, transitions, start, end)
    return _out(_chain(scores, mask, None), scores[0])


def _check_tags(emissions: Tensor, tags: Tensor) -> None:
    if emissions.shape[:2] != tags.shape:
        raise ValueError(
            "the first two dimensions of emissions and tags must match, "
            f"got {tuple(emissions.shape[:2])} and {tuple(tags.shape)}"
        )


def log_likelihood(
    emissions: Tensor,
    transitions: Tensor,
    tags: Tensor,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
) -> Tensor:
    """The logarithm of the probability of the labels ``tags`` (B, T)."""
    scores = _scores(emissions, transitions, start, end)
    _check_tags(emissions, tags)
    return _chain(scores, mask, tags.long())


def path_score(
    emissions: Tensor,
    transitions: Tensor,
    tags: Tensor,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
) -> Tensor:
    """The score of the labels ``tags`` (B, T), the numerator of their probability."""
    emissions, transitions, start, end = _scores(emissions, transitions, start, end)
    _check_tags(emissions, tags)
    lengths, order = _order(mask, emissions)
    tags = tags.long()
    place = tags
    valid = torch.ones_like(tags, dtype=torch.bool)
    if order is not None and lengths is not None:
        valid = torch.arange(tags.shape[1], device=tags.device)[None, :] < lengths[:, None]
        place = tags.gather(1, order.long()).masked_fill(~valid, 0)
        emissions = emissions.gather(1, order.long()[:, :, None].expand_as(emissions))
    node = emissions.gather(2, place[:, :, None])[:, :, 0].double().masked_fill(~valid, 0.0).sum(1)
    between = transitions[place[:, :-1], place[:, 1:]].double().masked_fill(~valid[:, 1:], 0.0).sum(1)
    last = place.gather(1, valid.sum(1, keepdim=True) - 1)[:, 0]
    return _out(node + between + start[place[:, 0]].double() + end[last].double(), emissions)


def partial_log_likelihood(
    emissions: Tensor,
    transitions: Tensor,
    allowed: Tensor,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
) -> Tensor:
    """The logarithm of the probability that every label is one of the ``allowed`` ones, (B, T, L) booleans."""
    scores = _scores(emissions, transitions, start, end)
    if allowed.shape != emissions.shape:
        raise ValueError(f"expected allowed of shape {tuple(emissions.shape)}, got {tuple(allowed.shape)}")
    within = _chain((scores[0].masked_fill(~allowed.bool(), float("-inf")), *scores[1:]), mask, None)
    return _out(within - _chain(scores, mask, None), scores[0])


def marginals(
    emissions: Tensor,
    transitions: Tensor,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
) -> Tensor:
    """The probability of each label at each position (B, T, L), zero where the mask is off. Has no gradient."""
    scores = tuple(score.detach() for score in _scores(emissions, transitions, start, end))
    with torch.enable_grad():
        node = scores[0].requires_grad_()
        total = _chain((node, *scores[1:]), mask, None)
        (found,) = torch.autograd.grad(total.sum(), node)
    return found


def entropy(
    emissions: Tensor,
    transitions: Tensor,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
) -> Tensor:
    """The entropy of the distribution over paths, of each sequence (B,). Has no gradient.

    One sequence after the other, because the expected score of the edges is needed of each.
    """
    scores = [score.detach() for score in _scores(emissions, transitions, start, end)]
    found = []
    for b in range(emissions.shape[0]):
        own = [scores[0][b : b + 1], *scores[1:]]
        with torch.enable_grad():
            leaves = [score.double().requires_grad_() for score in own]
            total = _chain(leaves, None if mask is None else mask[b : b + 1], None).sum()
            gradients = torch.autograd.grad(total, leaves)
        expected = sum(
            torch.where(gradient > 0, gradient * leaf, 0.0).sum() for gradient, leaf in zip(gradients, leaves)
        )
        found.append(total.detach() - expected)
    return _out(torch.stack(found), scores[0]) if found else _out(scores[0].new_zeros(0), scores[0])


def decode(
    emissions: Tensor,
    transitions: Tensor,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor]:
    """The best labels (B, T), -1 where the mask is off or no path is allowed, and their scores (B,).

    Among equally good paths, the one with the smallest labels, read from the end: what ``kbest.decode`` returns.
    """
    scores = tuple(score.detach() for score in _scores(emissions, transitions, start, end))
    return _ops.decode(*scores, *_order(mask, emissions))


def kbest(
    emissions: Tensor,
    transitions: Tensor,
    k: int,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
) -> Tuple[Tensor, Tensor]:
    """The k best label sequences (B, k, T), padded with -1, and their scores (B, k), padded with minus infinity.

    Computed by ``kbest.decode`` on the processor, wherever the scores are.
    """
    if k < 1:
        raise ValueError(f"k: expected at least 1, got {k}")
    scores = tuple(score.detach() for score in _scores(emissions, transitions, start, end))
    lengths, order = _order(mask, emissions)
    node, edges, first, last = (score.cpu() for score in scores)
    lengths, order = (None if each is None else each.cpu() for each in (lengths, order))
    labels, found = _cpu.kbest(node, edges, first, last, lengths, order, k)
    return labels.to(emissions.device), found.to(emissions.device)


def _augmented(
    emissions: Tensor, transitions: Tensor, tags: Tensor, start: Any, end: Any, mask: Optional[Tensor], cost: float
) -> Tensor:
    """How far the best path, in which wrong labels gain ``cost``, lies above the given one."""
    gain = torch.full_like(emissions, cost)
    known = tags.long().clamp(0, emissions.shape[2] - 1)
    gain.scatter_(2, known[:, :, None], 0.0)
    raised = emissions + gain
    best, _ = decode(raised, transitions, start, end, mask=mask)
    best = torch.where(best < 0, known, best)
    found = path_score(raised, transitions, best, start, end, mask=mask)
    return (found - path_score(emissions, transitions, known, start, end, mask=mask)).clamp(min=0.0)


def max_margin(
    emissions: Tensor,
    transitions: Tensor,
    tags: Tensor,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
    cost: float = 1.0,
) -> Tensor:
    """The structured hinge loss (B,): each wrong label should cost at least ``cost``."""
    return _augmented(emissions, transitions, tags, start, end, mask, cost)


def perceptron(
    emissions: Tensor,
    transitions: Tensor,
    tags: Tensor,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
) -> Tensor:
    """How far the best path lies above the given one (B,)."""
    return _augmented(emissions, transitions, tags, start, end, mask, 0.0)


def sample(
    emissions: Tensor,
    transitions: Tensor,
    start: Optional[Tensor] = None,
    end: Optional[Tensor] = None,
    *,
    mask: Optional[Tensor] = None,
    samples: int = 1,
    generator: Optional[torch.Generator] = None,
) -> Tensor:
    """Label sequences drawn from the distribution (samples, B, T), -1 where the mask is off.

    Forward sums and draws are torch operations, one position at a time.
    """
    node, edges, first, last = (score.detach() for score in _scores(emissions, transitions, start, end))
    lengths, order = _order(mask, emissions)
    node = node.double() if order is None else node.double().gather(1, order.long()[:, :, None].expand_as(node))
    edges, first, last = edges.double(), first.double(), last.double()
    batch, steps, labels = node.shape
    count = torch.full((batch,), steps, device=node.device) if lengths is None else lengths.long()
    alpha = [first + node[:, 0]]
    for i in range(1, steps):
        alpha.append(torch.logsumexp(alpha[-1][:, :, None] + edges, 1) + node[:, i])
    drawn = torch.full((samples, batch, steps), -1, dtype=torch.int64, device=node.device)
    label = torch.zeros(samples, batch, dtype=torch.int64, device=node.device)
    for i in reversed(range(steps)):
        ends = (count - 1 == i)[None, :, None]
        logits = alpha[i] + torch.where(ends, last, edges.t()[label])
        weights = torch.softmax(logits, 2).reshape(-1, labels)
        label = torch.multinomial(weights, 1, generator=generator).view(samples, batch)
        drawn[:, :, i] = torch.where(i < count, label, -1)
    if order is not None:
        back = torch.full_like(drawn, -1)
        place = torch.where(torch.arange(steps, device=node.device) < count[:, None], order.long(), steps)
        back = torch.cat([back, back[:, :, :1]], 2).scatter_(2, place.expand_as(drawn), drawn)
        drawn = back[:, :, :steps]
    return drawn
