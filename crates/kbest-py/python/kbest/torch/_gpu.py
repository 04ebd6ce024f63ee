"""The engine for tensors on a GPU: which kernel, how large its tiles, and where its numbers lie.

Arguments are those of :mod:`kbest.torch._ops`: ``node`` is (B, T, L) with any strides, ``order`` lists the valid positions
of each sequence if they are not the first ``lengths[b]``.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from . import _few, _many, _viterbi

#: Up to so many labels, the edges fit into the registers of a program.
FEW = 128


def _real(node: Tensor) -> Tuple[torch.dtype, Any]:
    return (torch.float64, tl.float64) if node.dtype == torch.float64 else (torch.float32, tl.float32)


def _pointer(tensor: Optional[Tensor], instead: Tensor) -> Tensor:
    """A kernel needs a pointer for what it does not read, too."""
    return instead if tensor is None else tensor


def _warps(block: int) -> int:
    return {16: 1, 32: 1, 64: 4, 128: 8}[block]


def _tag_strides(tags: Optional[Tensor]) -> Tuple[int, int]:
    return (0, 0) if tags is None else (tags.stride(0), tags.stride(1))


def order_of(mask: Tensor) -> Tuple[Tensor, Tensor]:
    """The valid positions of each sequence, and how many there are."""
    batch, steps = mask.shape
    order = torch.zeros(batch, steps, dtype=torch.int32, device=mask.device)
    lengths = torch.empty(batch, dtype=torch.int32, device=mask.device)
    if batch:
        _few.order_kernel[(batch,)](mask, order, lengths, steps, *mask.stride(), chunk=128, num_warps=1)
    return order, lengths


def forward(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    tags: Optional[Tensor],
    keep: bool,
) -> Tuple[Tensor, Tensor, Tensor]:
    """log Z and the score of the given labels, both float64, and the forward scores (T, B, L), if they are to be kept."""
    batch, steps, labels = node.shape
    real, real_tl = _real(node)
    device = node.device
    log_z = torch.empty(batch, dtype=torch.float64, device=device)
    gold = torch.empty(batch if tags is not None else 0, dtype=torch.float64, device=device)
    kept = keep or labels > FEW
    alphas = torch.empty((steps, batch, labels) if kept else (0,), dtype=real, device=device)
    flags = {"has_lengths": lengths is not None, "has_order": order is not None}
    if labels <= FEW:
        block = max(16, triton.next_power_of_2(labels))
        _few.forward_kernel[(batch,)](
            node, edges, start, end, _pointer(lengths, node), _pointer(order, node), _pointer(tags, node), alphas, log_z, gold,
            batch, steps, labels, *node.stride(), *_tag_strides(tags), *edges.stride(),
            **flags, has_tags=tags is not None, keep=keep, real=real_tl, block=block, num_warps=_warps(block),
        )  # fmt: skip
        return log_z, gold, alphas
    offsets = torch.zeros(batch, dtype=torch.float64, device=device)
    factors, extremes = _factors(edges, real)
    _many_steps(node, edges, factors, extremes, start, lengths, order, alphas, offsets, back=False)
    block = triton.next_power_of_2(labels)
    _many.total_kernel[(batch,)](
        alphas, end, _pointer(lengths, node), offsets, log_z, batch, steps, labels,
        has_lengths=lengths is not None, real=real_tl, block=block, num_warps=8 if block > 1024 else 4,
    )  # fmt: skip
    if tags is not None:
        _many.gold_kernel[(batch,)](
            node, tags, edges, start, end, _pointer(lengths, node), _pointer(order, node), gold,
            steps, labels, *node.stride(), *_tag_strides(tags), *edges.stride(), **flags, num_warps=4,
        )  # fmt: skip
    return log_z, gold, alphas


def _factors(edges: Tensor, real: torch.dtype) -> Tuple[Tensor, Tensor]:
    """exp(edges - top), and (top, top - least finite edge) as the kernels read them."""
    scores = edges.to(real)
    least, top = torch.aminmax(torch.where(scores == float("-inf"), float("inf"), scores)).min, scores.amax()
    top = torch.where(top == float("-inf"), 0.0, top)
    spread = torch.where(least == float("inf"), 0.0, top - least)
    return (scores - top).exp_(), torch.stack([top, spread])


def _many_steps(
    node: Tensor,
    edges: Tensor,
    factors: Tensor,
    extremes: Tensor,
    border: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    states: Tensor,
    offsets: Tensor,
    back: bool,
) -> None:
    batch, steps, labels = node.shape
    real, real_tl = _real(node)
    # `tl.dot` takes f32 and at least 16 rows.
    use_dot = real == torch.float32
    block_b, block_p, block_y = _tiles(batch, labels) if use_dot else (4, 8, 64)
    tiles = triton.cdiv(labels, block_y)
    tops = torch.empty(2, tiles, batch, dtype=real, device=node.device)
    lows = torch.empty_like(tops)
    grid = (tiles, triton.cdiv(batch, block_b))
    edge_strides, factor_strides = edges.stride(), factors.stride()
    if back:
        edge_strides, factor_strides = edge_strides[::-1], factor_strides[::-1]
    for i in reversed(range(steps)) if back else range(steps):
        _many.step_kernel[grid](
            node, edges, factors, extremes, border, _pointer(lengths, node), _pointer(order, node), states, tops, lows,
            offsets, i, int(back), batch, steps, labels, tiles, *node.stride(), *edge_strides, *factor_strides,
            has_lengths=lengths is not None, has_order=order is not None, real=real_tl, use_dot=use_dot,
            block_b=block_b, block_p=block_p, block_y=block_y, block_tiles=triton.next_power_of_2(tiles), num_warps=4,
        )  # fmt: skip


def _tiles(batch: int, labels: int) -> Tuple[int, int, int]:
    """Sequences, origins and targets of a tile: enough programs for all processors, few readings of the edges."""
    block_y = 16 if labels <= 1024 else 32
    return (16 if labels <= 1024 else 64) if batch > 16 else 16, 64, block_y


def backward(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    tags: Optional[Tensor],
    alphas: Tensor,
    grad_z: Tensor,
    grad_gold: Tensor,
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of node, edges, start and end."""
    batch, steps, labels = node.shape
    real, real_tl = _real(node)
    grad_node = torch.empty_like(node, dtype=real) if lengths is None else torch.zeros_like(node, dtype=real)
    flags = {"has_lengths": lengths is not None, "has_order": order is not None, "has_tags": tags is not None}
    if labels <= FEW:
        block = max(16, triton.next_power_of_2(labels))
        programs = min(batch, 132 * {16: 8, 32: 8, 64: 4, 128: 1}[block])
        sums = torch.zeros(programs, labels * labels + 2 * labels, dtype=real, device=node.device)
        _few.backward_kernel[(programs,)](
            node, edges, end, _pointer(lengths, node), _pointer(order, node), _pointer(tags, node), alphas,
            grad_z, _pointer(grad_gold, grad_z), grad_node, sums,
            batch, steps, labels, programs, *node.stride(), *_tag_strides(tags), *edges.stride(), *grad_node.stride(),
            **flags, real=real_tl, block=block, num_warps=_warps(block),
        )  # fmt: skip
        total = sums.sum(0)
        square = labels * labels
        grad_edges = total[:square].view(labels, labels)
        return grad_node, grad_edges, total[square : square + labels], total[square + labels :]
    offsets = torch.zeros(batch, dtype=torch.float64, device=node.device)
    factors, extremes = _factors(edges, real)
    states = torch.empty_like(alphas)
    _many_steps(node, edges, factors, extremes, end, lengths, order, states, offsets, back=True)
    exact = torch.zeros(labels, labels, dtype=real, device=node.device)
    origins = torch.empty_like(alphas)
    block = triton.next_power_of_2(labels)
    warps = 8 if block > 1024 else 4
    grid = (steps, batch)
    _many.steep_kernel[grid](
        node, edges, extremes, _pointer(lengths, node), _pointer(order, node), alphas, states, grad_z, exact,
        batch, steps, labels, *node.stride(), *edges.stride(),
        has_lengths=lengths is not None, has_order=order is not None, real=real_tl, block=block, num_warps=warps,
    )  # fmt: skip
    _many.finish_kernel[grid](
        node, _pointer(lengths, node), _pointer(order, node), _pointer(tags, node), alphas, states, origins,
        grad_z, _pointer(grad_gold, grad_z), grad_node, exact,
        batch, steps, labels, *node.stride(), *_tag_strides(tags), *grad_node.stride(),
        **flags, real=real_tl, block=block, num_warps=warps,
    )  # fmt: skip
    if steps > 1:
        with torch.autocast(node.device.type, enabled=False):
            pairs = origins[:-1].reshape(-1, labels).t() @ states[1:].reshape(-1, labels)
        exact.addcmul_(pairs, factors)
    at_start, at_end = _at_borders(grad_node, lengths, order)
    return grad_node, exact, at_start, at_end


def _at_borders(grad_node: Tensor, lengths: Optional[Tensor], order: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    """The gradients of the first and the last label."""
    if lengths is None:
        return grad_node[:, 0].sum(0), grad_node[:, -1].sum(0)
    last = (lengths - 1).long()[:, None]
    if order is not None:
        last = order.gather(1, last).long()
    last = last[:, :, None].expand(-1, 1, grad_node.shape[2])
    return grad_node[:, 0].sum(0), grad_node.gather(1, last).sum((0, 1))


def decode(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
) -> Tuple[Tensor, Tensor]:
    """Labels (B, T), -1 where there are none, and scores (B,)."""
    batch, steps, labels = node.shape
    real, real_tl = _real(node)
    alphas = torch.empty(steps, batch, labels, dtype=real, device=node.device)
    path = torch.full((batch, steps), -1, dtype=torch.int64, device=node.device)
    score = torch.empty(batch, dtype=real, device=node.device)
    pointers = (_pointer(lengths, node), _pointer(order, node))
    flags = {"has_lengths": lengths is not None, "has_order": order is not None, "real": real_tl}
    block = max(16, triton.next_power_of_2(labels))
    if labels <= FEW:
        _viterbi.few_kernel[(batch,)](
            node, edges, start, end, *pointers, alphas, path, score, batch, steps, labels, *node.stride(), *edges.stride(),
            **flags, block=block, num_warps=_warps(block),
        )  # fmt: skip
        return path, score
    block_b, block_p, block_y = (8, 8, 64) if batch > 1 else (1, 16, 64)
    grid = (triton.cdiv(labels, block_y), triton.cdiv(batch, block_b))
    for i in range(steps):
        _viterbi.step_kernel[grid](
            node, edges, start, *pointers, alphas, i, batch, steps, labels, *node.stride(), *edges.stride(),
            **flags, block_b=block_b, block_p=block_p, block_y=block_y, num_warps=4,
        )  # fmt: skip
    _viterbi.trace_kernel[(batch,)](
        edges, end, *pointers, alphas, path, score, batch, steps, labels, *edges.stride(),
        **flags, block=block, num_warps=8 if block > 1024 else 4,
    )  # fmt: skip
    return path, score
