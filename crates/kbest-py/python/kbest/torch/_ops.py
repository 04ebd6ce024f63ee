"""One operation with a gradient, log Z and the score of given labels, whichever engine computes it.

In a program that torch compiles, the engines are the operators ``kbest::chain``, ``kbest::chain_backward``,
``kbest::chain_decode`` and ``kbest::chain_order``, so that a graph holds the whole layer. Otherwise they are called
directly, which is faster.
"""

from __future__ import annotations

import os
from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from . import _cpu

#: Triton's interpreter runs the kernels for GPUs on a processor, for tests.
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def _on_gpu(tensor: Tensor) -> bool:
    if tensor.device.type == "cpu":
        return INTERPRETED
    if tensor.device.type == "cuda":
        return True
    raise NotImplementedError(f"kbest.torch has engines for cpu and cuda, not for {tensor.device.type}")


def _forward(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    tags: Optional[Tensor],
    keep: bool,
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    if _on_gpu(node):
        from . import _gpu

        return _gpu.forward(node, edges, start, end, lengths, order, tags, keep)
    return _cpu.forward(node, edges, start, end, lengths, order, tags, keep)


def _backward(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    tags: Optional[Tensor],
    alphas: Tensor,
    pairs: Tensor,
    grad_z: Tensor,
    grad_gold: Optional[Tensor],
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    if _on_gpu(node):
        from . import _gpu

        found = _gpu.backward(node, edges, start, end, lengths, order, tags, alphas, pairs, grad_z, grad_gold)
    else:
        found = _cpu.backward(node, edges, start, end, lengths, order, tags, alphas, pairs, grad_z, grad_gold)
    inputs = (node, edges, start, end)
    made = [gradient.to(of.dtype) for gradient, of in zip(found, inputs)]
    return made[0], made[1], made[2], made[3]


def _backward_apart(
    node: Tensor,
    edges: Tensor,
    start: Tensor,
    end: Tensor,
    lengths: Optional[Tensor],
    order: Optional[Tensor],
    tags: Optional[Tensor],
    alphas: Tensor,
    pairs: Tensor,
    grad_z: Tensor,
    grad_gold: Optional[Tensor],
) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same gradients in memory of their own each, as an operator has to return them."""
    found = _backward(node, edges, start, end, lengths, order, tags, alphas, pairs, grad_z, grad_gold)
    return found[0], found[1].clone(), found[2].clone(), found[3].clone()


def _decode(
    node: Tensor, edges: Tensor, start: Tensor, end: Tensor, lengths: Optional[Tensor], order: Optional[Tensor]
) -> Tuple[Tensor, Tensor]:
    if _on_gpu(node):
        from . import _gpu

        return _gpu.decode(node, edges, start, end, lengths, order)
    return _cpu.decode(node, edges, start, end, lengths, order)


def _order(mask: Tensor) -> Tuple[Tensor, Tensor]:
    if _on_gpu(mask):
        from . import _gpu

        return _gpu.order_of(mask)
    lengths = mask.sum(1, dtype=torch.int32)
    return mask.logical_not().to(torch.uint8).argsort(dim=1, stable=True).to(torch.int32), lengths


chain = torch.library.custom_op("kbest::chain", _forward, mutates_args=())
chain_backward = torch.library.custom_op("kbest::chain_backward", _backward_apart, mutates_args=())
chain_decode = torch.library.custom_op("kbest::chain_decode", _decode, mutates_args=())
chain_order = torch.library.custom_op("kbest::chain_order", _order, mutates_args=())


def _real(node: Tensor) -> torch.dtype:
    return torch.float64 if node.dtype == torch.float64 else torch.float32


@chain.register_fake
def _(node: Any, edges: Any, start: Any, end: Any, lengths: Any, order: Any, tags: Any, keep: bool) -> Any:
    batch, steps, labels = node.shape
    log_z = node.new_empty(batch, dtype=torch.float64)
    gold = node.new_empty(batch if tags is not None else 0, dtype=torch.float64)
    if not _on_gpu(node):
        shapes = ((batch, steps, labels), (labels, labels)) if keep else ((0,), (0,))
        return log_z, gold, node.new_empty(shapes[0], dtype=_real(node)), node.new_empty(shapes[1], dtype=torch.float64)
    from . import _gpu

    kept = keep or labels > _gpu.FEW
    alphas = node.new_empty((steps, batch, _gpu.padded(labels)) if kept else (0,), dtype=_real(node))
    return log_z, gold, alphas, node.new_empty(_gpu.kept_size(labels) if kept else 0, dtype=_real(node))


@chain_backward.register_fake
def _(
    node: Any, edges: Any, start: Any, end: Any, lengths: Any, order: Any, tags: Any,
    alphas: Any, pairs: Any, grad_z: Any, grad_gold: Any,
) -> Any:  # fmt: skip
    gradient = torch.empty_like(node) if _on_gpu(node) else node.new_empty(node.shape)
    return gradient, edges.new_empty(edges.shape), start.new_empty(start.shape), end.new_empty(end.shape)


@chain_decode.register_fake
def _(node: Any, edges: Any, start: Any, end: Any, lengths: Any, order: Any) -> Any:
    batch, steps, _ = node.shape
    return node.new_empty((batch, steps), dtype=torch.int64), node.new_empty(batch, dtype=_real(node))


@chain_order.register_fake
def _(mask: Any) -> Any:
    batch, steps = mask.shape
    return mask.new_empty((batch, steps), dtype=torch.int32), mask.new_empty(batch, dtype=torch.int32)


class Chain(torch.autograd.Function):
    """log Z of each sequence (B,), float64; or, with labels given, their log likelihood, of the scores' type.

    One result and one conversion, because each node of torch's graph costs as much as a small kernel.
    """

    @staticmethod
    def forward(
        ctx: Any,
        node: Tensor,
        edges: Tensor,
        start: Tensor,
        end: Tensor,
        lengths: Optional[Tensor],
        order: Optional[Tensor],
        tags: Optional[Tensor],
    ) -> Tensor:
        keep = any(ctx.needs_input_grad[:4])
        call = chain if torch.compiler.is_compiling() else _forward
        log_z, gold, alphas, pairs = call(node, edges, start, end, lengths, order, tags, keep)
        ctx.save_for_backward(node, edges, start, end, lengths, order, tags, alphas, pairs)
        ctx.has_tags = tags is not None
        return log_z if tags is None else (gold - log_z).to(_real(node))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():  # create_graph=True
            raise RuntimeError("kbest.torch: second derivatives of log Z are not computed")
        call = chain_backward if torch.compiler.is_compiling() else _backward
        gradient = gradient.contiguous()
        arguments = [*ctx.saved_tensors, *((-gradient, gradient) if ctx.has_tags else (gradient, None))]
        gradients = call(*arguments)
        return (*gradients, None, None, None)


def order_of(mask: Tensor) -> Tuple[Tensor, Tensor]:
    return chain_order(mask) if torch.compiler.is_compiling() else _order(mask)


def decode(*arguments: Any) -> Tuple[Tensor, Tensor]:
    with torch.no_grad():
        return chain_decode(*arguments) if torch.compiler.is_compiling() else _decode(*arguments)
