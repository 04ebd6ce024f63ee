"""Adapters with the names, shapes and conventions of other libraries, so that a decoder can be exchanged in one line.

Every function takes what the other library's function takes and returns what it returns; the decoding is ours. None of these
libraries is needed.

| function | stands for | scores | axes |
|---|---|---|---|
| :func:`librosa_viterbi` | ``librosa.sequence.viterbi`` | probabilities | (..., states, steps) |
| :func:`torchcrf_decode` | ``torchcrf.CRF.decode`` | log scores | (T, B, L), or (B, T, L) with ``batch_first`` |
| :func:`hmmlearn_decode` | ``hmmlearn`` models' ``decode`` | of the model | (samples, features) |
| :func:`allennlp_viterbi` | ``allennlp.nn.util.viterbi_decode`` | log scores | (T, L) |
"""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _arrays
from ._kbest import Edges, decode
from .errors import ArgumentError, ShapeError

__all__ = ["allennlp_viterbi", "hmmlearn_decode", "librosa_viterbi", "torchcrf_decode"]


def _log(probabilities: Any, tiny: float = 0.0) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(probabilities, dtype=np.float64) + tiny)


def _wrong_shape(argument: str, expected: str, got: object) -> ShapeError:
    error = ShapeError(f"{argument}: expected {expected}, got {got}")
    error.argument = argument
    return error


def librosa_viterbi(
    prob: Any, transition: Any, *, p_init: Any = None, return_logp: bool = False, threads: int = 0
) -> Any:
    """The most likely state sequence, as ``librosa.sequence.viterbi`` returns it.

    Args:
        prob: (..., n_states, n_steps) probabilities of the states.
        transition: (n_states, n_states) [from, to], probabilities; or :class:`kbest.Edges` of their logarithms, prepared
            once; or a scipy.sparse matrix of probabilities, in which what is not stored cannot happen.
        p_init: (n_states,) probabilities of the first state; uniform by default.
        return_logp: also return the log likelihood.

    librosa adds the smallest positive float to every probability, so that nothing is impossible; so does this (except for
    prepared or sparse transitions, which may forbid).

    >>> import numpy as np
    >>> prob = np.array([[0.9, 0.4], [0.1, 0.6]])  # two states, two steps
    >>> librosa_viterbi(prob, np.array([[0.9, 0.1], [0.1, 0.9]]))
    array([0, 0], dtype=uint16)
    """
    prob = np.asarray(prob)
    if prob.ndim < 2:
        raise _wrong_shape("prob", "shape (..., n_states, n_steps)", prob.shape)
    states, steps = prob.shape[-2:]
    tiny = np.finfo(prob.dtype if prob.dtype.kind == "f" else np.float64).tiny
    if prob.size and (prob.min() < 0 or prob.max() > 1):
        raise ArgumentError("prob: expected probabilities from 0 to 1, got others")
    edges: Any
    if isinstance(transition, Edges):
        edges = transition
    elif hasattr(transition, "tocoo"):
        logarithms = transition.tocsr(copy=True).astype(np.float64)
        logarithms.eliminate_zeros()
        logarithms.data = np.log(logarithms.data)
        edges = Edges(_arrays.sparse_edges(logarithms, float("-inf")))
    else:
        edges = Edges(_log(transition, tiny))
    if p_init is None:
        p_init = np.full(states, 1.0 / states)
    start = _log(p_init, tiny)
    node = np.array(np.swapaxes(prob, -1, -2), dtype=np.float64, order="C").reshape(-1, steps, states)
    node += tiny  # in place: these arrays are large
    np.log(node, out=node)
    paths = decode(node, edges, start=start, threads=threads)
    found = np.array([path.labels for path in paths], dtype=np.uint16).reshape(*prob.shape[:-2], steps)
    if not return_logp:
        return found
    logp = np.array([path.score for path in paths]).reshape(prob.shape[:-2])
    return found, (logp if prob.ndim > 2 else float(logp))


def torchcrf_decode(
    crf: Any, emissions: Any, mask: Any = None, *, nbest: int = 1, decoder: str = "auto", threads: int = 0
) -> Any:
    """The best label sequences, as ``crf.decode(emissions, mask)`` of pytorch-crf returns them.

    Args:
        crf: a ``torchcrf.CRF``, or anything with ``transitions``, ``start_transitions``, ``end_transitions`` and
            ``batch_first``.
        emissions: (T, B, L), or (B, T, L) if ``crf.batch_first``.
        mask: (T, B) or (B, T) booleans; valid positions first.
        nbest: more than 1 returns a list of label lists per sequence.

    Where two sequences score the same, ours is the one with the smaller labels, read from the end.
    """
    node = _arrays.to_numpy(emissions, "emissions") if not isinstance(emissions, np.ndarray) else emissions
    if node.ndim != 3:
        raise _wrong_shape("emissions", "three dimensions", node.shape)
    if mask is not None:
        mask = _arrays.to_numpy(mask, "mask") if not isinstance(mask, np.ndarray) else mask
    if not crf.batch_first:
        node = node.transpose(1, 0, 2)
        mask = None if mask is None else mask.T
    answers = decode(
        node,
        crf.transitions,
        start=crf.start_transitions,
        end=crf.end_transitions,
        mask=None if mask is None else np.ascontiguousarray(mask, dtype=bool),
        k=nbest,
        decoder=decoder,
        threads=threads,
    )
    if nbest == 1:
        return [path.labels.tolist() for path in answers]
    return [[path.labels.tolist() for path in paths] for paths in answers]


def hmmlearn_decode(
    model: Any, X: Any, lengths: Optional[Sequence[int]] = None, *, decoder: str = "auto", threads: int = 0
) -> Tuple[float, Any]:
    """The most likely states, as ``model.decode(X, lengths)`` of hmmlearn returns them: (log probability, states).

    The model computes the log likelihoods of its states; its ``startprob_`` and ``transmat_`` are the scores of sequences.
    """
    likelihoods = model._compute_log_likelihood(np.asarray(X))
    start, edges = _log(model.startprob_), Edges(_log(model.transmat_))
    ends = np.cumsum([len(likelihoods)] if lengths is None else lengths)
    total = int(ends[-1]) if len(ends) else 0
    if total != len(likelihoods):
        raise _wrong_shape("lengths", f"a sum of {len(likelihoods)} samples", total)
    sequences = np.split(np.ascontiguousarray(likelihoods, dtype=np.float64), ends[:-1])
    paths = decode(sequences, edges, start=start, decoder=decoder, threads=threads)
    return float(sum(path.score for path in paths)), np.concatenate([path.labels for path in paths])


def allennlp_viterbi(
    tag_sequence: Any,
    transition_matrix: Any,
    tag_observations: Optional[Sequence[int]] = None,
    allowed_start_transitions: Any = None,
    allowed_end_transitions: Any = None,
    top_k: Optional[int] = None,
) -> Tuple[Union[List[int], List[List[int]]], Union[float, List[float]]]:
    """The best paths, as ``allennlp.nn.util.viterbi_decode`` returns them: (path, score), or two lists with ``top_k``.

    Args:
        tag_sequence: (T, L) log scores.
        transition_matrix: (L, L) log scores [from, to].
        tag_observations: labels that are known, -1 where they are not.
        allowed_start_transitions, allowed_end_transitions: (L,) log scores of the first and the last label.

    allennlp counts a known label as certain and leaves its scores out; here the label is forced and its scores count.

    >>> allennlp_viterbi([[1.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]])
    ([0, 1], 3.0)
    """
    forced = None
    if tag_observations is not None and len(tag_observations):
        forced = np.asarray(tag_observations)
    answers = decode(
        tag_sequence,
        transition_matrix,
        start=allowed_start_transitions,
        end=allowed_end_transitions,
        forced=forced,
        k=top_k or 1,
    )
    paths = [answers] if not isinstance(answers, list) else answers
    labels = [path.labels.tolist() for path in paths]
    scores = [path.score for path in paths]
    return (labels, scores) if top_k is not None else (labels[0], scores[0])
