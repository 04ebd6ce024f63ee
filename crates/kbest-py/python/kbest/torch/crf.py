"""The CRF layer, with the interface of pytorch-crf."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from torch import Tensor, nn

from .._kbest import marginals as kbest_marginals
from ..errors import NoPathError
from . import functional

_LOSSES = ("nll", "max_margin", "perceptron")


def _legal(label_names: Sequence[str], constraints: Any) -> Tuple[Tensor, Tensor, Tensor]:
    """Which label may follow which, come first and come last: what has a probability among all paths of four labels."""
    labels = len(label_names)
    found = kbest_marginals(
        np.zeros((4, labels), np.float32),
        np.zeros((labels, labels), np.float32),
        label_names=list(label_names),
        constraints=constraints,
        pairs=True,
    )
    pairs = torch.from_numpy(found.edge > 0).any(0)
    return pairs, torch.from_numpy(found.node[0] > 0), torch.from_numpy(found.node[-1] > 0)


class CRF(nn.Module):
    """A linear-chain conditional random field.

    Parameters, arguments and results are those of pytorch-crf 0.7.2, and so is ``state_dict``: a layer trained with either
    can be loaded into the other.

    Args:
        num_tags: number of labels.
        batch_first: whether scores are (B, T, L) and not (T, B, L).
        label_names: names of the labels, for ``constraints``.
        constraints: a scheme of spans, such as ``"iob2"``, or ``"auto"``: what it forbids has probability zero. What
            ``kbest.decode`` takes.
        allowed: (L, L) booleans [from, to] instead.
    """

    def __init__(
        self,
        num_tags: int,
        batch_first: bool = False,
        *,
        label_names: Optional[Sequence[str]] = None,
        constraints: Any = None,
        allowed: Any = None,
    ) -> None:
        if num_tags <= 0:
            raise ValueError(f"invalid number of tags: {num_tags}")
        super().__init__()
        self.num_tags = num_tags
        self.batch_first = batch_first
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
        # Not part of the state: it is interchangeable with pytorch-crf's.
        for name, value in zip(("_between", "_first", "_last"), self._limits(label_names, constraints, allowed)):
            self.register_buffer(name, value, persistent=False)
        self.reset_parameters()

    def _limits(self, label_names: Any, constraints: Any, allowed: Any) -> Tuple[Any, Any, Any]:
        if label_names is not None and len(label_names) != self.num_tags:
            raise ValueError(f"label_names: expected {self.num_tags} names, got {len(label_names)}")
        if constraints is not None and allowed is not None:
            raise ValueError("allowed: expected constraints or an allowed matrix, got both")
        if constraints is not None:
            if label_names is None:
                raise ValueError("constraints: expected label_names with them, got none")
            return _legal(label_names, constraints)
        if allowed is None:
            return None, None, None
        between = torch.as_tensor(allowed).bool()
        if between.shape != (self.num_tags, self.num_tags):
            raise ValueError(f"expected allowed of shape {(self.num_tags, self.num_tags)}, got {tuple(between.shape)}")
        return between, None, None

    def reset_parameters(self) -> None:
        """Draws all parameters from a uniform distribution between -0.1 and 0.1."""
        for parameter in (self.start_transitions, self.end_transitions, self.transitions):
            nn.init.uniform_(parameter, -0.1, 0.1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_tags={self.num_tags})"

    def scores(self) -> Tuple[Tensor, Tensor, Tensor]:
        """Transitions, start and end scores, minus infinity where constraints forbid."""
        found = []
        for parameter, legal in (
            (self.transitions, self._between),
            (self.start_transitions, self._first),
            (self.end_transitions, self._last),
        ):
            found.append(parameter if legal is None else parameter.masked_fill(~legal, float("-inf")))
        return found[0], found[1], found[2]

    def _validate(self, emissions: Tensor, tags: Optional[Tensor] = None, mask: Optional[Tensor] = None) -> None:
        if emissions.dim() != 3:
            raise ValueError(f"emissions must have dimension of 3, got {emissions.dim()}")
        if emissions.shape[2] != self.num_tags:
            raise ValueError(f"expected last dimension of emissions is {self.num_tags}, got {emissions.shape[2]}")
        for name, tensor in (("tags", tags), ("mask", mask)):
            if tensor is not None and emissions.shape[:2] != tensor.shape:
                raise ValueError(
                    f"the first two dimensions of emissions and {name} must match, "
                    f"got {tuple(emissions.shape[:2])} and {tuple(tensor.shape)}"
                )

    def _batch_first(self, *tensors: Optional[Tensor]) -> List[Optional[Tensor]]:
        if self.batch_first:
            return list(tensors)
        return [None if tensor is None else tensor.transpose(0, 1) for tensor in tensors]

    def _arguments(self, emissions: Tensor, mask: Optional[Tensor]) -> Tuple[Any, Any]:
        self._validate(emissions, mask=mask)
        node, mask = self._batch_first(emissions, mask)
        transitions, start, end = self.scores()
        return (node, transitions), {"start": start, "end": end, "mask": mask}

    def forward(
        self,
        emissions: Tensor,
        tags: Tensor,
        mask: Optional[Tensor] = None,
        reduction: str = "sum",
        *,
        loss: str = "nll",
        cost: float = 1.0,
    ) -> Tensor:
        """The log likelihood of ``tags``, to be maximised.

        Args:
            emissions: (T, B, L), or (B, T, L) with ``batch_first``.
            tags: (T, B) labels; or booleans (T, B, L), the labels that each position may have.
            mask: (T, B), on where a position counts. The first step must be on; gaps are skipped.
            reduction: ``none``, ``sum``, ``mean`` (over sequences) or ``token_mean``.
            loss: ``nll``; or ``max_margin`` or ``perceptron``, whose negative loss is returned.
            cost: what a wrong label should cost, for ``max_margin``.
        """
        partial = tags.dim() == 3
        self._validate(emissions, tags=None if partial else tags, mask=mask)
        if reduction not in ("none", "sum", "mean", "token_mean"):
            raise ValueError(f"invalid reduction: {reduction}")
        if loss not in _LOSSES:
            raise ValueError(f"invalid loss: {loss}")
        (node, transitions), named = self._arguments(emissions, mask)
        (tags_first,) = self._batch_first(tags)
        if partial:
            if loss != "nll":
                raise ValueError(f"invalid loss: {loss} needs one label per position")
            found = functional.partial_log_likelihood(node, transitions, tags_first, **named)
        elif loss == "nll":
            found = functional.log_likelihood(node, transitions, tags_first, **named)
        elif loss == "max_margin":
            found = -functional.max_margin(node, transitions, tags_first, cost=cost, **named)
        else:
            found = -functional.perceptron(node, transitions, tags_first, **named)
        if reduction == "none":
            return found
        if reduction == "sum":
            return found.sum()
        if reduction == "mean":
            return found.mean()
        return found.sum() / (emissions.shape[0] * emissions.shape[1] if mask is None else mask.sum().to(found.dtype))

    def decode(
        self, emissions: Tensor, mask: Optional[Tensor] = None, k: int = 1
    ) -> Union[List[List[int]], List[List[List[int]]]]:
        """The best labels of each sequence as a list; with ``k`` greater than 1, a list of up to k such lists.

        Among equally good paths, the one with the smallest labels, read from the end.
        """
        if k != 1:
            labels, scores = self.kbest(emissions, k, mask)
            found = [
                [path[path >= 0].tolist() for path, score in zip(paths, own) if score > float("-inf")]
                for paths, own in zip(labels, scores)
            ]
            _refuse_empty([bool(paths) for paths in found])
            return found
        arguments, named = self._arguments(emissions, mask)
        labels, _ = functional.decode(*arguments, **named)
        rows = labels.tolist()
        best = [[label for label in row if label >= 0] for row in rows]
        _refuse_empty([bool(row) for row in best])
        return best

    def decode_tensor(self, emissions: Tensor, mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        """The best labels in the layout of ``mask``, -1 where it is off or all paths are forbidden, and scores (B,).

        Nothing leaves the device, and nothing waits for it if there is no mask.
        """
        arguments, named = self._arguments(emissions, mask)
        labels, scores = functional.decode(*arguments, **named)
        return (labels if self.batch_first else labels.transpose(0, 1)), scores

    def kbest(self, emissions: Tensor, k: int, mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        """The k best label sequences (B, k, T) and their scores (B, k), padded with -1 and minus infinity."""
        (node, transitions), named = self._arguments(emissions, mask)
        return functional.kbest(node, transitions, k, **named)

    def log_partition(self, emissions: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        """log Z of each sequence (B,)."""
        arguments, named = self._arguments(emissions, mask)
        return functional.log_partition(*arguments, **named)

    def marginals(self, emissions: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        """The probability of each label, in the layout of ``emissions``. Has no gradient."""
        arguments, named = self._arguments(emissions, mask)
        found = functional.marginals(*arguments, **named)
        return found if self.batch_first else found.transpose(0, 1)

    def entropy(self, emissions: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        """The entropy of the distribution over label sequences (B,). Has no gradient."""
        arguments, named = self._arguments(emissions, mask)
        return functional.entropy(*arguments, **named)

    def sample(self, emissions: Tensor, mask: Optional[Tensor] = None, samples: int = 1) -> Tensor:
        """Label sequences drawn from the distribution (samples, B, T), -1 where the mask is off."""
        arguments, named = self._arguments(emissions, mask)
        return functional.sample(*arguments, samples=samples, **named)


def _refuse_empty(found: Sequence[bool]) -> None:
    for b, some in enumerate(found):
        if not some:
            raise NoPathError(f"every path of sequence {b} is forbidden")
