"""A scikit-learn estimator for sequences, with the habits of sklearn-crfsuite.

>>> from kbest.sklearn import SequenceTagger
>>> X = [[{"word": "time"}, {"word": "flies"}]] * 4
>>> y = [["N", "V"]] * 4
>>> tagger = SequenceTagger(algorithm="crf", c2=0.1).fit(X, y)
>>> tagger.predict(X[:1]), tagger.score(X, y)
([['N', 'V']], 1.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

import numpy as np
from sklearn.base import BaseEstimator

from ._kbest import Epoch, Tagger, options, train
from ._signatures import lists_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import RecipeOptions

__all__ = ["SequenceTagger"]

#: What the estimator shares with :func:`kbest.train`.
_DEFAULTS = {option["name"]: option["default"] for option in options("recipe")}


def _as_list(labels: Any) -> List[Any]:
    return labels.tolist() if isinstance(labels, np.ndarray) else list(labels)


class SequenceTagger(BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """Learns to label sequences; the arguments of the constructor are the options of :func:`kbest.train`.

    X is a list of sequences of dicts, of lists of strings (features) or of strings (tokens); y a list of lists of labels.
    The default algorithm is "crf". Without `features`, dicts and lists of strings are features, strings are tokens.

    Args:
        algorithm, features, epochs, c2 and others: as for :func:`kbest.train`, which lists all.
        constraints, decoder: of the tagger, such as "auto" for BIO.
        options: others as a dict; ``{"decoder": ...}`` is the decoder used in training.

    Attributes:
        classes_: the labels of positions.
        tagger_: the :class:`kbest.Tagger`.
        training_log_: an :class:`kbest.Epoch` per pass.
    """

    @lists_options("recipe")
    def __init__(
        self,
        algorithm: str = "crf",
        *,
        constraints: Any = None,
        options: Optional[Dict[str, Any]] = None,
        **others: Unpack[RecipeOptions],
    ) -> None:
        for name in others:
            if name not in _DEFAULTS:
                raise TypeError(f"SequenceTagger() has no option {name!r}; it has: {', '.join(_DEFAULTS)}")
        own = {"algorithm": algorithm, "constraints": constraints, "options": options}
        for name, value in {**_DEFAULTS, **others, **own}.items():
            setattr(self, name, value)

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> "SequenceTagger":
        """Learns from sequences and their labels; with held-out data, keeps the model that does best on it."""
        X, y = list(X), [_as_list(labels) for labels in y]
        options = {name: getattr(self, name) for name in _DEFAULTS if name != "decoder"}
        if options["features"] is None:
            first = next((token for tokens in X for token in tokens), None)
            if first is not None and not isinstance(first, (str, dict)):
                options["features"] = "items"
        self.training_log_: List[Epoch] = []
        self.tagger_: Tagger = train(
            X,
            y,
            dev=None if X_dev is None else (X_dev, y_dev),
            callback=self._log_epoch,
            **{**options, "constraints": self.constraints, "tag_decoder": self.decoder, **(self.options or {})},
        )
        self.classes_: List[str] = sorted(self.tagger_.tags)
        return self

    def _log_epoch(self, epoch: Epoch) -> None:
        self.training_log_.append(epoch)

    def _fitted(self) -> Tagger:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "tagger_")
        return self.tagger_

    def predict(self, X: Any) -> List[List[str]]:
        """The best labels of each sequence."""
        return self._fitted().tag_batch(list(X))

    def predict_single(self, xseq: Any) -> List[str]:
        """The best labels of one sequence."""
        return self._fitted().tag(xseq)

    def predict_kbest(self, X: Any, k: int) -> List[List[List[str]]]:
        """The k best label sequences of each sequence."""
        tagger = self._fitted()
        return [[path.labels for path in tagger.kbest(xseq, k)] for xseq in X]

    def predict_marginals(self, X: Any) -> List[List[Dict[str, float]]]:
        """The probability of every label at every position, as dicts."""
        return [self.predict_marginals_single(xseq) for xseq in X]

    def predict_marginals_single(self, xseq: Any) -> List[Dict[str, float]]:
        """The same for one sequence."""
        tagger = self._fitted()
        return [dict(zip(tagger.labels, row)) for row in tagger.marginals(xseq).tolist()]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of right labels."""
        predicted = self.predict(X)
        weights = np.ones(len(predicted)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        right = total = 0.0
        for labels, gold, weight in zip(predicted, y, weights):
            gold = [str(label) for label in _as_list(gold)]
            right += weight * sum(a == b for a, b in zip(labels, gold))
            total += weight * len(gold)
        return float(right / total) if total else 0.0
