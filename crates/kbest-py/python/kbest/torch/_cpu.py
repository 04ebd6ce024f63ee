"""The engine for tensors in main memory: the Rust library, on as many threads as torch has (``torch.set_num_threads``).

Log Z and gradients are computed together in double precision. Where the gradient of a loss is the same for all sequences,
as with a sum or a mean, the backward pass only scales what the forward pass kept; otherwise it computes anew with weights.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np
import torch
from torch import Tensor

from .._kbest import batch_gradients
from .._kbest import decode as kbest_decode


def compact(node: Tensor, order: Optional[Tensor]) -> Tensor:
    """The scores of valid positions, moved to the front."""
    if order is None:
        return node
    return node.gather(1, order.long()[:, :, None].expand_as(node))


def spread_out(compacted: Tensor, order: Optional[Tensor], lengths: Optional[Tensor]) -> Tensor:
    """The opposite of :func:`compact`."""
    if order is None or lengths is None:
        return compacted
    steps = compacted.shape[1]
    valid = torch.arange(steps)[None, :] < lengths[:, None]
    shape = (-1,) + (1,) * (compacted.dim() - 2)
    out = torch.zeros_like(compacted)
    b, i = valid.nonzero(as_tuple=True)
    out[b, order.long()[b, i]] = compacted[b, i].reshape(shape[:1] + compacted.shape[2:])
    return out


def _array(tensor: Tensor, dtype: torch.dtype) -> Any:
    return tensor.detach().to(dtype).contiguous().numpy()


def _real(node: Tensor) -> torch.dtype:
    return torch.float64 if node.dtype == torch.float64 else torch.float32


def _sums(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    weights: Optional[Tensor],
) -> Tuple[Tensor, Tensor, Tensor]:
    real = _real(node)
    log_z, gradient, pairs = batch_gradients(
        _array(compact(node, order), real),
        _array(edges, real),
        lengths=None if lengths is None else lengths.numpy().astype(np.int64),
        start=_array(start, real),
        end=_array(end, real),
        weights=None if weights is None else weights.double().tolist(),
        threads=torch.get_num_threads(),
    )
    if weights is None:
        return torch.from_numpy(log_z), torch.empty(0, dtype=real), torch.empty(0, dtype=torch.float64)
    return torch.from_numpy(log_z), torch.from_numpy(gradient), torch.from_numpy(pairs)


def valid_positions(node: Tensor, lengths: Optional[Tensor]) -> Tensor:
    steps = torch.arange(node.shape[1])
    if lengths is None:
        return torch.ones(node.shape[:2], dtype=torch.bool)
    return steps[None, :] < lengths[:, None]


def _gold(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    tags: Tensor,
) -> Tensor:
    tags = tags if order is None else tags.gather(1, order.long())
    valid = valid_positions(node, lengths)
    _check_tags(tags[valid], node.shape[2])
    tags = tags.masked_fill(~valid, 0)
    score = compact(node, order).gather(2, tags[:, :, None])[:, :, 0].double().masked_fill(~valid, 0.0).sum(1)
    steps = edges.double()[tags[:, :-1], tags[:, 1:]].masked_fill(~valid[:, 1:], 0.0).sum(1)
    last = tags.gather(1, valid.sum(1, keepdim=True) - 1)[:, 0]
    return score + steps + start.double()[tags[:, 0]] + end.double()[last]


def _check_tags(tags: Tensor, labels: int) -> None:
    wrong = tags[(tags < 0) | (tags >= labels)]
    if wrong.numel():
        raise ValueError(f"tags: expected labels from 0 to {labels - 1} where the mask is on, got {int(wrong[0])}")


def forward(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    tags: Optional[Tensor],
    keep: bool,
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """log Z, the score of the given labels, and what the backward pass may use: posteriors and expected pairs."""
    weights = torch.ones(node.shape[0], dtype=torch.float64) if keep else None
    log_z, posteriors, pairs = _sums(node, edges, start, end, lengths, order, weights)
    gold = torch.empty(0, dtype=torch.float64)
    if tags is not None:
        gold = _gold(node, edges, start, end, lengths, order, tags)
    return log_z, gold, posteriors, pairs


def backward(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    tags: Optional[Tensor],
    posteriors: Tensor,
    pairs: Tensor,
    grad_z: Tensor,
    grad_gold: Optional[Tensor],
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of node, edges, start and end."""
    batch, steps, labels = node.shape
    grad_z = grad_z.double()
    if batch and bool((grad_z == grad_z[0]).all()):
        gradient, grad_edges = posteriors * grad_z[0].to(posteriors.dtype), pairs * grad_z[0]
    else:
        _, gradient, grad_edges = _sums(node, edges, start, end, lengths, order, grad_z)
    valid = valid_positions(node, lengths)
    if tags is not None and grad_gold is not None:
        grad_gold = grad_gold.double()
        tags = tags if order is None else tags.gather(1, order.long())
        tags = tags.masked_fill(~valid, 0)
        weights = grad_gold[:, None] * valid
        gradient.scatter_add_(2, tags[:, :, None], weights[:, :, None].to(gradient.dtype))
        between = (tags[:, :-1] * labels + tags[:, 1:]).reshape(-1)
        grad_edges.view(-1).index_add_(0, between, weights[:, 1:].reshape(-1))
    last = (valid.sum(1) - 1)[:, None, None].expand(-1, 1, labels)
    at_start, at_end = gradient[:, 0].sum(0), gradient.gather(1, last).sum((0, 1))
    return spread_out(gradient, order, lengths), grad_edges, at_start, at_end


def decode(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
) -> Tuple[Tensor, Tensor]:
    """Labels (B, T), -1 where there are none, and scores (B,)."""
    paths, scores = kbest(node, edges, start, end, lengths, order, 1)
    return paths[:, 0], scores[:, 0]


def kbest(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    k: int,
) -> Tuple[Tensor, Tensor]:
    """The k best label sequences (B, k, T), padded with -1, and their scores (B, k), padded with minus infinity."""
    batch, steps, _ = node.shape
    real = _real(node)
    scores = torch.full((batch, k), float("-inf"), dtype=real)
    labels = torch.full((batch, k, steps), -1, dtype=torch.int64)
    if not batch:
        return labels, scores
    arrays = _array(compact(node, order), real)
    borders = {"start": _array(start, real), "end": _array(end, real)}
    counts = None if lengths is None else lengths.numpy().astype(np.int64)
    for b, paths in enumerate(_answers(arrays, _array(edges, real), counts, k, borders)):
        for rank, path in enumerate(paths):
            scores[b, rank] = path.score
            labels[b, rank, : len(path.labels)] = torch.from_numpy(path.labels.astype(np.int64))
    if order is not None and lengths is not None:
        filled = spread_out((labels + 1).transpose(1, 2).contiguous(), order, lengths)
        labels = filled.transpose(1, 2) - 1
    return labels, scores


def _answers(node: Any, edges: Any, lengths: Any, k: int, borders: Any) -> Any:
    """Paths of each sequence; none of one that has none."""
    from ..errors import NoPathError

    def decoded(rows: Any, lengths: Any) -> Any:
        found = kbest_decode(rows, edges, k=k, lengths=lengths, threads=torch.get_num_threads(), **borders)
        return [[path] for path in found] if k == 1 else found

    try:
        return decoded(node, lengths)
    except NoPathError:
        pass
    answers = []
    for b in range(len(node)):
        try:
            answers += decoded(node[b : b + 1], None if lengths is None else lengths[b : b + 1])
        except NoPathError:
            answers.append([])
    return answers
