"""The estimator with scikit-learn's own tools."""

from __future__ import annotations

import pickle

import pytest
from test_text import X, Y, as_dicts

pytest.importorskip("sklearn")
from kbest.sklearn import SequenceTagger  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer  # noqa: E402

DICTS = list(map(as_dicts, X))


def to_dicts(sequences):
    return [as_dicts(tokens) for tokens in sequences]


def test_fit_and_predict():
    tagger = SequenceTagger(epochs=20).fit(DICTS, Y)
    assert tagger.classes_ == ["ADJ", "DET", "NOUN", "VERB"]
    assert tagger.predict(DICTS) == Y and tagger.score(DICTS, Y) == 1
    assert tagger.predict_single(DICTS[0]) == Y[0]
    marginals = tagger.predict_marginals(DICTS[:2])
    assert set(marginals[0][0]) == set(tagger.classes_)
    assert sum(marginals[0][0].values()) == pytest.approx(1)
    kbest = tagger.predict_kbest(DICTS[:2], 3)
    assert [len(paths) for paths in kbest] == [3, 3] and kbest[0][0] == Y[0]
    assert len(tagger.training_log_) <= 20 and tagger.training_log_[0].epoch == 1
    assert pickle.loads(pickle.dumps(tagger)).predict(DICTS) == Y
    weighted = tagger.score(DICTS[:2], [Y[0], ["X"] * len(Y[1])], sample_weight=[1, 0])
    assert weighted == 1


def test_words_lists_and_held_out_data():
    assert SequenceTagger(algorithm="averaged").fit(X, Y, X[:5], Y[:5]).predict(X) == Y
    lists = [[["w=" + w] for w in tokens] for tokens in X]
    tagger = SequenceTagger(algorithm="pa", options={"longest": 0.5}).fit(lists, Y)
    assert tagger.tagger_.features == "items" and tagger.predict(lists) == Y


def test_parameters_and_clones():
    tagger = SequenceTagger(c2=0.5, algorithm="crf")
    assert tagger.get_params()["c2"] == 0.5
    copy = clone(tagger.set_params(c1=0.1))
    assert copy.get_params() == tagger.get_params() and not hasattr(copy, "tagger_")
    with pytest.raises(NotFittedError):
        copy.predict(DICTS)


def test_model_selection():
    tagger = SequenceTagger(epochs=5)
    assert cross_val_score(tagger, DICTS, Y, cv=3).min() > 0.9
    search = GridSearchCV(tagger, {"c2": [0.01, 1.0], "algorithm": ["crf"]}, cv=2).fit(DICTS, Y)
    assert search.best_score_ > 0.9 and search.predict(DICTS[:3]) == Y[:3]
    pipeline = make_pipeline(FunctionTransformer(to_dicts), SequenceTagger(epochs=10))
    assert pipeline.fit(X, Y).score(X, Y) > 0.95


def test_against_sklearn_crfsuite():
    """The same features and regularisation give the same labels on data this easy, and nearly the same confidences."""
    sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
    theirs = sklearn_crfsuite.CRF(c2=1.0, max_iterations=100).fit(DICTS, Y)
    ours = SequenceTagger(algorithm="crf", c2=1.0).fit(DICTS, Y)
    assert ours.predict(DICTS) == [list(labels) for labels in theirs.predict(DICTS)]
    a, b = ours.predict_marginals(DICTS[:5]), theirs.predict_marginals(DICTS[:5])
    for mine, other in zip(sum(a, []), sum(b, [])):
        for label in ours.classes_:
            assert mine[label] == pytest.approx(other[label], abs=0.02)
