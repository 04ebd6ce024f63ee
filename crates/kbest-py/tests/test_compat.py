"""Adapters against the libraries they stand for, where these are installed; else against small references."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import kbest
import numpy as np
import pytest
from conftest import all_paths, whole
from kbest import compat, errors


def stochastic(random, *shape):
    rows = random.random(shape) + 0.01
    return rows / rows.sum(axis=-1, keepdims=True)


def test_librosa_against_enumeration(random):
    prob, transition, p_init = stochastic(random, 3, 4).T.copy(), stochastic(random, 4, 4), stochastic(random, 4)
    expected = all_paths(np.log(prob.T), np.log(transition), np.log(p_init))[0]
    path, logp = compat.librosa_viterbi(prob, transition, p_init=p_init, return_logp=True)
    assert path.dtype == np.uint16 and tuple(path) == expected[1] and logp == pytest.approx(expected[0])


def test_librosa(random):
    librosa = pytest.importorskip("librosa")
    for shape in [(5, 40), (2, 5, 40), (2, 3, 7, 20)]:
        states = shape[-2]
        prob = np.swapaxes(stochastic(random, *shape[:-2], shape[-1], states), -1, -2)
        transition = stochastic(random, states, states)
        for p_init in [None, stochastic(random, states)]:
            theirs, their_logp = librosa.sequence.viterbi(prob, transition, p_init=p_init, return_logp=True)
            ours, logp = compat.librosa_viterbi(prob, transition, p_init=p_init, return_logp=True)
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(logp, their_logp, rtol=1e-9)
        prepared = kbest.Edges(np.log(transition))
        np.testing.assert_array_equal(compat.librosa_viterbi(prob, prepared), librosa.sequence.viterbi(prob, transition))
    with pytest.raises(errors.ShapeError):
        compat.librosa_viterbi(np.ones(3), np.ones((3, 3)))
    with pytest.raises(errors.ArgumentError):
        compat.librosa_viterbi(np.full((3, 2), 2.0), np.ones((3, 3)))


def test_librosa_with_sparse_transitions(random):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    transition = np.triu(np.tril(np.ones((6, 6)), 1), -1)
    transition /= transition.sum(axis=1, keepdims=True)
    prob = stochastic(random, 30, 6).T.copy()
    dense = compat.librosa_viterbi(prob, transition)
    assert (compat.librosa_viterbi(prob, scipy_sparse.csr_matrix(transition)) == dense).all()


def test_torchcrf(random):
    torch = pytest.importorskip("torch")
    torchcrf = pytest.importorskip("torchcrf")
    for batch_first in [False, True]:
        crf = torchcrf.CRF(6, batch_first=batch_first)
        emissions = torch.randn(3, 9, 6) if batch_first else torch.randn(9, 3, 6)
        lengths = torch.tensor([9, 4, 1])
        mask = torch.arange(9)[None] < lengths[:, None]
        mask = mask if batch_first else mask.T
        with torch.no_grad():
            assert compat.torchcrf_decode(crf, emissions) == crf.decode(emissions)
            assert compat.torchcrf_decode(crf, emissions, mask) == crf.decode(emissions, mask)
        best = compat.torchcrf_decode(crf, emissions.requires_grad_(), mask, nbest=3)
        assert [paths[0] for paths in best] == crf.decode(emissions, mask) and len(best[0]) == 3


def test_torch_tensors(random):
    torch = pytest.importorskip("torch")
    node, edge = whole(random, 2, 5, 4), whole(random, 4, 4)
    expected = kbest.decode(node, edge)
    for convert in [
        lambda a: torch.tensor(a),
        lambda a: torch.tensor(a, dtype=torch.float32),
        lambda a: torch.tensor(a, dtype=torch.bfloat16),
        lambda a: torch.tensor(a, dtype=torch.float16),
        lambda a: torch.tensor(a, requires_grad=True),
        lambda a: torch.tensor(a).transpose(-1, -2).contiguous().transpose(-1, -2),
        lambda a: torch.tensor(a).to_sparse(),
    ]:
        assert kbest.decode(convert(node), convert(edge)) == expected
    assert kbest.decode(torch.tensor(node), edge, lengths=torch.tensor([5, 2]), dtype=torch.float32)[1].labels.size == 2
    if torch.cuda.is_available():
        assert kbest.decode(torch.tensor(node).cuda(), torch.tensor(edge).cuda()) == expected


def test_tensors_on_a_gpu_go_through_pinned_memory(random, monkeypatch):
    """With a stand-in for torch, because machines that test have no GPU."""
    node, steps = whole(random, 5, 4), []

    class Tensor:
        dtype, layout, is_sparse, shape = "float64", "strided", False, node.shape

        def __init__(self, device="cuda"):
            self.device = SimpleNamespace(type=device)
            self.values = None if device == "cpu" else node

        def copy_(self, other, non_blocking):
            assert non_blocking
            self.values = other.values
            steps.append("copied")

        def numpy(self):
            assert self.device.type == "cpu" and steps == ["pinned", "copied", "waited"]
            return self.values

        detach = resolve_conj = resolve_neg = lambda self: self

    def empty(shape, dtype, pin_memory):
        assert shape == node.shape and pin_memory
        steps.append("pinned")
        return Tensor("cpu")

    stream = SimpleNamespace(synchronize=lambda: steps.append("waited"))
    cuda = SimpleNamespace(current_stream=lambda device: stream)
    fake = SimpleNamespace(Tensor=Tensor, bfloat16="bfloat16", strided="strided", empty=empty, cuda=cuda)
    monkeypatch.setitem(sys.modules, "torch", fake)
    assert kbest.decode(Tensor(), None) == kbest.decode(node, None)
    assert steps == ["pinned", "copied", "waited"]


def test_dlpack(random):
    """Anything with DLPack in main memory."""
    node, edge = whole(random, 5, 4), whole(random, 4, 4)

    class Tensor:
        def __dlpack__(self, **options):
            return node.__dlpack__(**options)

        def __dlpack_device__(self):
            return node.__dlpack_device__()

    assert kbest.decode(Tensor(), edge) == kbest.decode(node, edge)

    class Elsewhere(Tensor):
        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(errors.DtypeError, match="main memory") as caught:
        kbest.decode(Elsewhere(), edge)
    assert caught.value.argument == "node"


def test_hmmlearn(random):
    hmm = pytest.importorskip("hmmlearn.hmm")
    model = hmm.GaussianHMM(n_components=4, covariance_type="diag", random_state=3)
    model.startprob_, model.transmat_ = stochastic(random, 4), stochastic(random, 4, 4)
    model.means_, model.covars_ = random.normal(size=(4, 2)) * 3, np.ones((4, 2))
    X = random.normal(size=(60, 2)) * 3
    for lengths in [None, [60], [20, 39, 1]]:
        theirs, states = model.decode(X, lengths)
        ours, labels = compat.hmmlearn_decode(model, X, lengths)
        np.testing.assert_array_equal(labels, states)
        assert ours == pytest.approx(theirs)
    with pytest.raises(errors.ShapeError):
        compat.hmmlearn_decode(model, X, [1, 2])


def test_hmmlearns_contract_without_it(random):
    class Model:
        startprob_, transmat_ = stochastic(random, 3), stochastic(random, 3, 3)

        def _compute_log_likelihood(self, X):
            return X

    X = random.normal(size=(4, 3))
    expected = all_paths(X, np.log(Model.transmat_), np.log(Model.startprob_))[0]
    score, states = compat.hmmlearn_decode(Model(), X)
    assert tuple(states) == expected[1] and score == pytest.approx(expected[0])
    with pytest.raises(errors.ShapeError):
        compat.hmmlearn_decode(Model(), X, [])
    score, states = compat.hmmlearn_decode(Model(), X[:0], [])
    assert (score, len(states)) == (0, 0)


def test_allennlp(random):
    """allennlp no longer installs beside current versions of torch: a small reference stands for it."""
    node, edge, start, end = whole(random, 4, 3), whole(random, 3, 3), whole(random, 3), whole(random, 3)
    expected = all_paths(node, edge, start, end)
    borders = dict(allowed_start_transitions=start, allowed_end_transitions=end)
    assert compat.allennlp_viterbi(node, edge, **borders) == (list(expected[0][1]), expected[0][0])
    paths, scores = compat.allennlp_viterbi(node, edge, top_k=4, **borders)
    assert (paths, scores) == ([list(p) for _, p in expected[:4]], [s for s, _ in expected[:4]])
    assert compat.allennlp_viterbi(node, edge, top_k=1) == ([list(all_paths(node, edge)[0][1])], [all_paths(node, edge)[0][0]])
    known = compat.allennlp_viterbi(node, edge, [-1, 2, -1, -1])
    assert known[0] == list(all_paths(node, edge, forced={1: 2})[0][1])
    assert compat.allennlp_viterbi(node, edge, np.array([-1, 2, -1, -1])) == known
