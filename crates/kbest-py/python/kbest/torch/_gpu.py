"""The engine for tensors on a GPU: which kernel, how large its tiles, and where its numbers lie.

Arguments are those of :mod:`kbest.torch._ops`: ``node`` is (B, T, L) with any strides, ``order`` lists the valid positions
of each sequence if they are not the first ``lengths[b]``.
"""

from __future__ import annotations

import functools
from typing import Any, Optional, Tuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from . import _few, _gradient, _many, _viterbi

#: Rows of scores of many labels are padded to a multiple of this, so that a step masks nothing.
PAD = 64
#: Up to so many labels, the edges fit into the registers of a program.
FEW = 128


def _real(node: Tensor) -> Tuple[torch.dtype, Any]:
    return (torch.float64, tl.float64) if node.dtype == torch.float64 else (torch.float32, tl.float32)


def _pointer(tensor: Optional[Tensor], instead: Tensor) -> Tensor:
    """A kernel needs a pointer for what it does not read, too."""
    return instead if tensor is None else tensor


def _warps(block: int) -> int:
    return {16: 1, 32: 1, 64: 4, 128: 8}[block]


def padded(labels: int) -> int:
    return labels if labels <= FEW else triton.cdiv(labels, PAD) * PAD


@functools.lru_cache(None)
def _processors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count


def _launch(kernel: Any, works: int, steps: int, device: torch.device, arguments: Any, named: Any) -> None:
    """Runs all positions in one launch, whose programs wait for each other; in Triton's interpreter one by one.

    ``arguments`` gets (counter, first position, last position, number of programs).
    """
    if device.type == "cpu":
        for i in range(steps):
            kernel[(works,)](*arguments(None, i, i + 1, works), **named)
        return
    programs = min(works, _processors(device))
    counter = torch.zeros(1, dtype=torch.int32, device=device)
    kernel[(programs,)](*arguments(counter, 0, steps, programs), **named, launch_cooperative_grid=True)


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


def kept_size(labels: int) -> int:
    """How many numbers the backward pass wants of the edges: see :func:`_parts`."""
    wide = padded(labels)
    return wide * wide + 2


def _parts(kept: Tensor, labels: int) -> Tuple[Tensor, Tensor]:
    """exp(edges - top), padded with zeros; and (top, top - smallest finite edge)."""
    wide = padded(labels)
    return kept[: wide * wide].view(wide, wide), kept[wide * wide :]


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
    """log Z and the score of the given labels, both float64; forward scores (T, B, L) and what is kept of the edges."""
    batch, steps, labels = node.shape
    wide = padded(labels)
    real, real_tl = _real(node)
    device = node.device
    log_z = torch.empty(batch, dtype=torch.float64, device=device)
    gold = torch.empty(batch if tags is not None else 0, dtype=torch.float64, device=device)
    stored = keep or labels > FEW
    alphas = torch.empty((steps, batch, wide) if stored else (0,), dtype=real, device=device)
    kept = torch.empty(kept_size(labels) if stored else 0, dtype=real, device=device)
    factors, extremes = _parts(kept, labels) if stored else (kept, kept)
    flags = {"has_lengths": lengths is not None, "has_order": order is not None}
    if labels <= FEW:
        block = max(16, triton.next_power_of_2(labels))
        _few.chain_kernel[(batch,)](
            node, edges, start, end, _pointer(lengths, node), _pointer(order, node), _pointer(tags, node), alphas,
            log_z, gold, factors, extremes,
            batch, steps, labels, *node.stride(), *_tag_strides(tags), *edges.stride(),
            **flags, back=False, has_tags=tags is not None, keep=keep, real=real_tl, block=block, num_warps=_warps(block),
        )  # fmt: skip
        return log_z, gold, alphas, kept
    _fill_factors(edges, factors, extremes)
    offsets = torch.zeros(batch, dtype=torch.float64, device=device)
    _many_steps(node, edges, factors, extremes, start, lengths, order, alphas, offsets, back=False)
    block = triton.next_power_of_2(labels)
    _many.total_kernel[(batch,)](
        alphas, end, _pointer(lengths, node), offsets, log_z, batch, steps, labels, wide,
        has_lengths=lengths is not None, real=real_tl, block=block, num_warps=8 if block > 1024 else 4,
    )  # fmt: skip
    if tags is not None:
        _many.gold_kernel[(batch,)](
            node, tags, edges, start, end, _pointer(lengths, node), _pointer(order, node), gold,
            steps, labels, *node.stride(), *_tag_strides(tags), *edges.stride(), **flags, num_warps=4,
        )  # fmt: skip
    return log_z, gold, alphas, kept


def _fill_factors(edges: Tensor, factors: Tensor, extremes: Tensor) -> None:
    labels, wide = edges.shape[0], factors.shape[0]
    real_tl = tl.float64 if factors.dtype == torch.float64 else tl.float32
    block = triton.next_power_of_2(wide)
    found = torch.empty(labels, 2, dtype=factors.dtype, device=edges.device)
    named = {"real": real_tl, "block": block, "num_warps": 8 if block > 1024 else 4}
    _many.row_extremes_kernel[(labels,)](edges, found, labels, *edges.stride(), **named)
    _many.factors_kernel[(wide,)](edges, found, factors, extremes, labels, wide, *edges.stride(), **named)


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
    wide = states.shape[2]
    real, real_tl = _real(node)
    use_dot = real == torch.float32  # `tl.dot` takes f32 and at least 16 rows
    block_b, block_p, block_y, warps, stages = _tiles(batch, labels) if use_dot else (4, 8, 64, 4, 1)
    tiles = wide // block_y
    tops = torch.empty(2, tiles, batch, dtype=real, device=node.device)
    lows = torch.empty_like(tops)
    edge_strides = edges.stride()
    if back:  # rows of a tile of factors are contiguous either way
        edge_strides, factors = edge_strides[::-1], factors.t().contiguous()

    def arguments(counter: Any, begin: int, finish: int, programs: int) -> Any:
        return (
            node, edges, factors, extremes, border, _pointer(lengths, node), _pointer(order, node), states, tops, lows,
            offsets, _pointer(counter, node), begin, finish, batch, steps, labels, wide, tiles, programs,
            *node.stride(), *edge_strides, *factors.stride(),
        )  # fmt: skip

    named = {
        "back": back, "has_lengths": lengths is not None, "has_order": order is not None, "real": real_tl, "use_dot": use_dot,
        "block_b": block_b, "block_p": block_p, "block_y": block_y, "block_tiles": triton.next_power_of_2(tiles),
        "num_warps": warps, "num_stages": stages,
    }  # fmt: skip
    _launch(_many.steps_kernel, tiles * triton.cdiv(batch, block_b), steps, node.device, arguments, named)


def _tiles(batch: int, labels: int) -> Tuple[int, int, int, int, int]:
    """Sequences, origins and targets of a tile, warps and stages: work for all processors, few readings of the edges."""
    if labels <= 512:
        return 16, 64, 16, 4, 3
    if labels <= 1536 or batch <= 16:
        return 16, 64, 32, 4, 3
    return 32, 64, 64, 8, 4


def _best_tiles(batch: int, labels: int) -> Tuple[int, int, int, int]:
    """The same for the best path: sequences, origins and targets of a tile, and warps."""
    if labels <= 512:
        return 4, 32, 32, 4
    return (8, 32, 32, 8) if labels <= 1536 else (4, 64, 32, 8)


def backward(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    tags: Optional[Tensor],
    alphas: Tensor,
    kept: Tensor,
    grad_z: Tensor,
    grad_gold: Optional[Tensor],
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of node, edges, start and end."""
    batch, steps, labels = node.shape
    wide = padded(labels)
    real, real_tl = _real(node)
    grad_node = torch.empty_like(node, dtype=real) if lengths is None else torch.zeros_like(node, dtype=real)
    pointers = (_pointer(lengths, node), _pointer(order, node))
    flags = {"has_lengths": lengths is not None, "has_order": order is not None, "real": real_tl}
    factors, extremes = _parts(kept, labels)
    states = torch.empty_like(alphas)
    if labels <= FEW:
        block = max(16, triton.next_power_of_2(labels))
        backwards = edges.t().contiguous()  # a kernel reads rows fastest
        _few.chain_kernel[(batch,)](
            node, backwards, end, end, *pointers, node, states, grad_z, grad_z, factors, extremes,
            batch, steps, labels, *node.stride(), 0, 0, *backwards.stride(),
            **flags, back=True, has_tags=False, keep=True, block=block, num_warps=_warps(block),
        )  # fmt: skip
    else:
        offsets = torch.zeros(batch, dtype=torch.float64, device=node.device)
        _many_steps(node, edges, factors, extremes, end, lengths, order, states, offsets, back=True)
    exact = torch.zeros(labels, labels, dtype=real, device=node.device)
    origins = torch.empty_like(alphas)
    block = triton.next_power_of_2(wide)
    named = {**flags, "block": block, "num_warps": 8 if block > 1024 else 4 if block > 128 else 1}
    grid = (steps, batch)
    ordered = torch.are_deterministic_algorithms_enabled()  # additions of different weights must have an order, too
    _gradient.steep_kernel[grid](
        node, edges, extremes, *pointers, alphas, states, grad_z, exact,
        batch, steps, labels, wide, *node.stride(), *edges.stride(), **named,
    )  # fmt: skip
    _gradient.finish_kernel[grid](
        node, *pointers, _pointer(tags, node), alphas, states, origins, grad_z, _pointer(grad_gold, grad_z), grad_node, exact,
        batch, steps, labels, wide, *node.stride(), *_tag_strides(tags), *grad_node.stride(),
        **named, has_tags=tags is not None, count=not ordered,
    )  # fmt: skip
    if ordered and tags is not None and grad_gold is not None:
        _count_in_order(exact, tags, lengths, order, grad_gold)
    if steps > 1:
        left, right = origins[:-1].view(-1, wide).t(), states[1:].view(-1, wide)
        if torch.is_autocast_enabled(node.device.type):
            with torch.autocast(node.device.type, enabled=False):
                pairs = left @ right
        else:
            pairs = left @ right
        exact.addcmul_(pairs[:labels, :labels], factors[:labels, :labels])
    at_start, at_end = _at_borders(grad_node, lengths, order)
    return grad_node, exact, at_start, at_end


def _count_in_order(
    exact: Tensor, tags: Tensor, lengths: Optional[Tensor], order: Optional[Tensor], weights: Tensor
) -> None:
    """Adds a sequence's weight for each pair of its given labels, as torch does it when it has to be deterministic."""
    steps = tags.shape[1]
    if order is not None:
        tags = tags.gather(1, order.long())
    valid = torch.ones_like(tags, dtype=torch.bool)
    if lengths is not None:
        valid = torch.arange(steps, device=tags.device)[None, :] < lengths[:, None]
    tags = tags.masked_fill(~valid, 0)
    added = (weights[:, None] * valid).to(exact.dtype)
    exact.index_put_((tags[:, :-1], tags[:, 1:]), added[:, 1:], accumulate=True)


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
    wide = padded(labels)
    alphas = torch.empty(steps, batch, wide, dtype=real, device=node.device)
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
    held = torch.full((wide, wide), float("-inf"), dtype=real, device=node.device)
    held[:labels, :labels] = edges
    block_b, block_p, block_y, warps = _best_tiles(batch, labels)
    tiles = wide // block_y

    def arguments(counter: Any, begin: int, finish: int, programs: int) -> Any:
        return (
            node, held, start, *pointers, alphas, _pointer(counter, node), begin, finish,
            batch, steps, labels, wide, tiles, programs, *node.stride(),
        )  # fmt: skip

    named = {**flags, "block_b": block_b, "block_p": block_p, "block_y": block_y, "num_warps": warps}
    _launch(_viterbi.steps_kernel, tiles * triton.cdiv(batch, block_b), steps, node.device, arguments, named)
    _viterbi.trace_kernel[(batch,)](
        edges, end, *pointers, alphas, path, score, batch, steps, labels, wide, *edges.stride(),
        **flags, block=block, num_warps=8 if block > 1024 else 4,
    )  # fmt: skip
    return path, score
