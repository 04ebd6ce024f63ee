"""Exact sequence labelling with thousands of labels: the best label sequence, or the k best, fast.

>>> import numpy as np, kbest
>>> node = np.array([[1.0, 0.0, 2.0], [0.0, 0.5, 1.0]])  # two positions, three labels
>>> edge = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -np.inf]])  # [from, to]; -inf forbids
>>> kbest.decode(node, edge)
Path(labels=[0, 1], score=3.5, exact=True)

Scores: :func:`decode`, :func:`kbest_iter`, :func:`marginals`, :func:`log_partition`, :func:`path_score`, and the same for
segments in :mod:`kbest.segments`. Text: :func:`train` (:func:`options` lists what it can be told) and :class:`Tagger`, :class:`kbest.sklearn.SequenceTagger`. Other
libraries' conventions: :mod:`kbest.compat`. Errors: :mod:`kbest.errors`.
"""

from __future__ import annotations

from . import _kbest, compat, errors, segments
from ._explain import Explanation, explain
from ._kbest import (
    ArrowStream,
    ClassEdges,
    Edges,
    Epoch,
    Evaluation,
    Marginals,
    Path,
    PathIterator,
    SparseEdges,
    TaggedPath,
    Tagger,
    __version__,
    decode,
    decoders,
    kbest_iter,
    log_partition,
    marginals,
    options,
    path_score,
)
from ._signatures import lists_options
from .errors import KbestError, NoPathError

train = lists_options("train")(_kbest.train)

__all__ = [
    "ArrowStream",
    "ClassEdges",
    "Edges",
    "Epoch",
    "Evaluation",
    "Explanation",
    "KbestError",
    "Marginals",
    "NoPathError",
    "Path",
    "PathIterator",
    "SparseEdges",
    "TaggedPath",
    "Tagger",
    "__version__",
    "compat",
    "decode",
    "decoders",
    "errors",
    "explain",
    "kbest_iter",
    "log_partition",
    "marginals",
    "options",
    "path_score",
    "segments",
    "train",
]
