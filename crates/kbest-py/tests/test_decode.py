"""decode, kbest_iter, marginals, log_partition, path_score against enumeration, with every form of input."""

from __future__ import annotations

import itertools
import pickle
import threading

import kbest
import numpy as np
import pytest
from conftest import all_paths, whole
from kbest import errors

KBEST = [d["name"] for d in kbest.decoders() if d["paths"] == "k"]
ONE = [d["name"] for d in kbest.decoders()]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(12))
def test_everything_agrees_with_enumeration(seed, dtype):
    random = np.random.default_rng(seed)
    steps, labels = int(random.integers(1, 5)), int(random.integers(1, 5))
    forbidden = [0.0, 0.2][seed % 2]
    node, edge = whole(random, steps, labels, forbidden=forbidden), whole(random, labels, labels, forbidden=forbidden)
    start, end = whole(random, labels), whole(random, labels)
    allowed = random.random((steps, labels)) < 0.9 if seed % 3 else None
    forced = {0: int(random.integers(labels))} if seed % 4 == 0 else None
    expected = all_paths(node, edge, start, end, allowed, forced)
    options = dict(start=start.astype(dtype), end=end.astype(dtype), allowed=allowed, forced=forced)
    arguments = node.astype(dtype), edge.astype(dtype)
    if not expected:
        with pytest.raises(kbest.NoPathError):
            kbest.decode(*arguments, **options)
        return
    for decoder in ONE:
        if decoder in ("beam", "prefix-beam"):
            continue
        path = kbest.decode(*arguments, decoder=decoder, **options)
        assert (tuple(path), path.score, path.exact) == (expected[0][1], expected[0][0], True), decoder
        assert path.labels.dtype == np.int32
    for decoder in KBEST:
        if decoder in ("beam", "prefix-beam"):
            continue
        paths = kbest.decode(*arguments, k=7, decoder=decoder, **options)
        found = [(p.score, tuple(p)) for p in paths]
        assert found[0] == expected[0] and len(set(found)) == len(found) == min(7, len(expected)), decoder
        assert [score for score, _ in found] == [score for score, _ in expected[:7]], decoder
        assert set(found) <= set(expected), decoder  # beyond the best, ties may come in any order
    lazily = [(p.score, tuple(p)) for p in kbest.kbest_iter(*arguments, **options)]
    assert [score for score, _ in lazily] == [score for score, _ in expected] and set(lazily) == set(expected)
    log_z = np.logaddexp.reduce([score for score, _ in expected])
    assert kbest.log_partition(*arguments, **options) == pytest.approx(log_z, abs=1e-5)
    sums = kbest.marginals(*arguments, pairs=True, path=expected[0][1], **options)
    assert sums.log_partition == pytest.approx(log_z, abs=1e-5)
    assert sums.path_log_probability == pytest.approx(expected[0][0] - log_z, abs=1e-5)
    nodes = np.zeros((steps, labels))
    pairs = np.zeros((steps - 1, labels, labels))
    for score, path in expected:
        for t, y in enumerate(path):
            nodes[t, y] += np.exp(score - log_z)
            if t:
                pairs[t - 1, path[t - 1], y] += np.exp(score - log_z)
    np.testing.assert_allclose(sums.node, nodes, atol=1e-5)
    np.testing.assert_allclose(sums.edge, pairs, atol=1e-5)
    score, path = expected[-1]
    assert kbest.path_score(*arguments, path, **options) == score


def test_layouts_types_and_wrappers_give_the_same(random):
    node, edge = whole(random, 6, 5), whole(random, 5, 5)
    expected = kbest.decode(node, edge)

    class Array:
        def __array__(self, dtype=None, copy=None):
            return node

    padded = np.zeros(node.nbytes + 1, np.uint8)
    misaligned = padded[1:].view(np.float64).reshape(node.shape)
    misaligned[:] = node
    forms = [
        np.asfortranarray(node),
        np.repeat(node, 2, axis=1)[:, ::2],
        node.tolist(),
        Array(),
        misaligned,
        node.astype(">f8"),
        node.astype(np.float32),
        node.astype(np.float16),
        node.astype(np.int64),
        node.astype(np.int8),
        np.matrix(node),
    ]
    for form in forms:
        assert kbest.decode(form, edge) == expected, type(form)
        assert kbest.decode(node, np.asfortranarray(edge)) == expected
    readonly = node.copy()
    readonly.flags.writeable = False
    assert kbest.decode(readonly, edge) == expected


def test_no_copy_of_c_order(random, monkeypatch):
    """Arrays in C order never reach the conversions."""
    from kbest import _arrays

    def refuse(*_):
        raise AssertionError("copied")

    monkeypatch.setattr(_arrays, "in_c_order", refuse)
    monkeypatch.setattr(_arrays, "to_numpy", refuse)
    node, edge = whole(random, 6, 5), whole(random, 5, 5)
    kbest.decode(node, edge, start=node[0], end=node[1], allowed=np.ones((6, 5), bool))
    with pytest.raises(AssertionError, match="copied"):
        kbest.decode(np.asfortranarray(node), edge)


def test_batches(random):
    node, edge = whole(random, 4, 6, 5), whole(random, 5, 5)
    lengths = np.array([6, 3, 1, 0])
    expected = [kbest.decode(row[:n], edge, k=3) for row, n in zip(node, lengths)]
    assert kbest.decode(node, edge, lengths=lengths, k=3) == expected
    mask = np.arange(6) < lengths[:, None]
    assert kbest.decode(node, edge, mask=mask, k=3) == expected
    assert kbest.decode([row[:n] for row, n in zip(node, lengths)], edge, k=3, threads=3) == expected
    assert kbest.decode(node, edge, lengths=lengths.tolist(), k=3, threads=1) == expected
    sums = kbest.log_partition(node, edge, lengths=lengths)
    assert sums.tolist() == [kbest.log_partition(row[:n], edge) for row, n in zip(node, lengths)]
    assert [m.log_partition for m in kbest.marginals(node, edge, lengths=lengths)] == sums.tolist()
    best = [paths[0] for paths in expected]
    scores = kbest.path_score(node, edge, best, lengths=lengths)
    assert scores.tolist() == [path.score for path in best]
    assert kbest.decode(np.zeros((0, 3, 5)), edge) == []
    assert kbest.decode([], edge) == []
    allowed = random.random((4, 6, 5)) < 0.8
    allowed[..., 0] = True
    forced = np.full((4, 6), -1)
    forced[0, 2] = 4
    allowed[0, 2, 4] = True
    answers = kbest.decode(node, edge, lengths=lengths, allowed=allowed, forced=forced)
    for i, n in enumerate(lengths):
        known = {2: 4} if i == 0 else {}
        assert answers[i] == kbest.decode(node[i, :n], edge, allowed=allowed[i, :n], forced=known)
    assert answers[0].labels[2] == 4
    dicts = kbest.decode(node, edge, lengths=lengths, allowed=allowed, forced=[{2: 4}, None, {}, {}])
    assert dicts == answers


def test_many_sequences_on_many_threads(random):
    node, edge = whole(random, 300, 9, 20), whole(random, 20, 20)
    assert kbest.decode(node, edge) == kbest.decode(node, edge, threads=1)
    results = []
    threads = [threading.Thread(target=lambda: results.append(kbest.decode(node, edge))) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(result == results[0] for result in results) and len(results) == 4


def test_edges_of_every_shape(random):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    node = whole(random, 5, 4)
    edge = whole(random, 4, 4)
    edge[random.random((4, 4)) < 0.5] = 0.0
    expected = kbest.decode(node, edge, k=9)
    for matrix in [scipy_sparse.csr_matrix(edge), scipy_sparse.coo_array(edge), scipy_sparse.csc_array(edge)]:
        assert kbest.decode(node, matrix, k=9) == expected
        assert kbest.decode(node, kbest.Edges(matrix), k=9) == expected
    forbidden = np.where(edge == 0, -np.inf, edge)
    edges = kbest.SparseEdges.from_scipy(scipy_sparse.csr_matrix(edge))
    assert (edges.base, len(edges)) == (-np.inf, np.count_nonzero(edge))
    try:
        assert kbest.decode(node, edges, k=9) == kbest.decode(node, forbidden, k=9)
    except kbest.NoPathError:
        with pytest.raises(kbest.NoPathError):
            kbest.decode(node, forbidden)
    prepared = kbest.Edges(edge)
    assert (prepared.labels, prepared.shape, prepared.dtype) == (4, "dense", "float64")
    assert kbest.decode(node, prepared, k=9) == expected
    steps = whole(random, 4, 4, 4)
    assert [p.score for p in kbest.decode(node, steps, k=5)] == [score for score, _ in all_paths(node, steps)[:5]]
    batch = np.stack([node, node + 1])
    per_sequence = np.stack([steps, steps[::-1]])
    answers = kbest.decode(batch, per_sequence)
    assert answers == [kbest.decode(n, e) for n, e in zip(batch, per_sequence)]
    assert kbest.decode(batch, steps) == [kbest.decode(n, steps) for n in batch]
    assert kbest.decode(node[:1], steps[:0]) == kbest.decode(node[:1], edge)
    assert kbest.decode(node, None) == kbest.decode(node, np.zeros((4, 4)))
    order = [3, 1, 0, 2]
    assert kbest.decode(node, kbest.Edges(edge, order=order), decoder="staggered") == expected[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_class_edges(random, dtype):
    """Against the dense matrix that they stand for."""
    for _ in range(30):
        labels, origins, targets = random.integers(1, 6), random.integers(1, 4), random.integers(1, 4)
        class_from, class_to = random.integers(0, origins, labels), random.integers(0, targets, labels)
        base = whole(random, origins, targets, forbidden=0.2).astype(dtype)
        exceptions = random.permutation(labels * labels)[: random.integers(0, labels * labels + 1)]
        from_, to = exceptions // labels, exceptions % labels
        value = whole(random, len(exceptions), forbidden=0.2).astype(dtype)
        dense = base[class_from][:, class_to]
        dense[from_, to] = value
        edges = kbest.ClassEdges(class_from, class_to, base, from_, to, value)
        assert (edges.labels, len(edges)) == (labels, len(exceptions))
        node = whole(random, random.integers(0, 5), labels).astype(dtype)
        path = random.integers(0, labels, len(node))
        assert kbest.path_score(node, edges, path) == kbest.path_score(node, dense, path)
        try:
            expected = kbest.decode(node, dense, k=7)
        except kbest.NoPathError:
            with pytest.raises(kbest.NoPathError):
                kbest.decode(node, edges)
            continue
        assert kbest.decode(node, edges, k=7) == expected == kbest.decode(node, kbest.Edges(edges), k=7)
        assert list(itertools.islice(kbest.kbest_iter(node, edges), 7)) == expected
        np.testing.assert_allclose(kbest.marginals(node, edges).node, kbest.marginals(node, dense).node, atol=1e-9)
        assert kbest.log_partition(node, edges) == pytest.approx(kbest.log_partition(node, dense))
        found = kbest.segments.decode(node, edges)
        assert found.score == kbest.segments.decode(node, dense).score
    assert kbest.Edges(kbest.ClassEdges([0], [0], [[1.0]])).shape == "sparse"
    for mistake in [
        lambda: kbest.ClassEdges([0, 2], [0, 0], [[1.0]]),
        lambda: kbest.ClassEdges([0], [0, 0], [[1.0]]),
        lambda: kbest.ClassEdges([0], [0], [1.0]),
        lambda: kbest.ClassEdges([0], [0], [[np.nan]]),
        lambda: kbest.ClassEdges([0], [0], [[1.0]], [0], [1], [1.0]),
        lambda: kbest.ClassEdges([0], [0], [[1.0]], [0]),
    ]:
        with pytest.raises(kbest.KbestError):
            mistake()


def test_constraints_from_names(random):
    names = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    node, edge = whole(random, 8, 5), np.zeros((5, 5))
    prepared = kbest.Edges(edge, label_names=names, constraints="auto")
    for answer in [
        kbest.decode(node, edge, label_names=names, constraints="auto", k=20),
        kbest.decode(node, edge, label_names=names, constraints=["iob2"], k=20),
        kbest.decode(node, prepared, k=20),
        kbest.decode(node, None, label_names=names, constraints="iob2", k=20),
    ]:
        assert len(answer) == 20
        for path in answer:
            for before, label in zip([0, *path], path):
                if names[label].startswith("I-"):
                    assert names[before][2:] == names[label][2:]
    start = np.full(5, -1.0)
    assert kbest.decode(node, prepared, start=start).score == kbest.decode(node, prepared).score - 1
    with pytest.raises(errors.ArgumentError, match="label_names"):
        kbest.decode(node, edge, constraints="auto")
    with pytest.raises(errors.ArgumentError, match="expected auto") as caught:
        kbest.decode(node, edge, label_names=names, constraints="nosuch")
    assert caught.value.argument == "constraints"


def test_prepared_edges_with_more_constraints(tmp_path):
    """Scores of a transition file are added once, whoever asks for them."""
    file = tmp_path / "transitions.tsv"
    file.write_text("O\tO\t1.5\nO\tB-X\nB-X\tI-X\t0.25\nI-X\tI-X\nB-X\tO\nI-X\tO\n")
    names = ["O", "B-X", "I-X"]
    node = np.ones((4, 3))
    prepared = kbest.Edges(np.zeros((3, 3)), label_names=names, constraints=file)
    expected = kbest.decode(node, np.zeros((3, 3)), label_names=names, constraints=[file, "iob2"])
    got = kbest.decode(node, prepared, label_names=names, constraints="iob2")
    assert got.score == expected.score and got.labels.tolist() == expected.labels.tolist()


@pytest.mark.parametrize(
    "make, kind, argument",
    [
        (lambda: kbest.Edges(kbest.Edges(np.zeros((2, 2))), order=[1, 0]), errors.ArgumentError, "edge"),
        (lambda: kbest.Edges(np.zeros((2, 3, 2, 2))), errors.ShapeError, "edge"),
        (lambda: kbest.Edges(np.zeros((0, 3, 2, 2))), errors.ShapeError, "edge"),
        (lambda: kbest.SparseEdges(10**12, [], [], []), errors.ArgumentError, "labels"),
        (lambda: kbest.decode(np.zeros((2, 3, 2)), None, forced=[{0: 1}, [1, 2]]), errors.DtypeError, "forced"),
    ],
)
def test_what_cannot_be_meant(make, kind, argument):
    with pytest.raises(kind) as caught:
        make()
    assert caught.value.argument == argument


def test_path_score_names_the_sequence():
    with pytest.raises(errors.KbestError, match="sequence 1"):
        kbest.path_score(np.zeros((2, 3, 2)), None, [[0, 1, 0], [0, 9, 0]])


def test_absurd_numbers_of_threads():
    node = np.random.default_rng(1).normal(size=(40, 3, 4))
    got = [path.labels.tolist() for path in kbest.decode(node, None, threads=10**6)]
    assert got == [path.labels.tolist() for path in kbest.decode(node, None, threads=1)]


def test_unique_by(random):
    node, edge = whole(random, 4, 6), whole(random, 6, 6)
    groups = [0, 0, 1, 1, 2, 2]
    seen, expected = set(), []
    for score, path in all_paths(node, edge):
        key = tuple(groups[y] for y in path)
        if key not in seen:
            seen.add(key)
            expected.append((score, path))
    found = list(kbest.kbest_iter(node, edge, unique_by=groups))
    assert [p.score for p in found] == [score for score, _ in expected]
    assert {tuple(groups[y] for y in p) for p in found} == seen


def test_types():
    node32 = np.ones((2, 2), np.float32) / 3
    assert kbest.decode(node32, np.zeros((2, 2), np.float32)).score == float(np.float32(2 / 3))
    assert kbest.decode(node32, np.zeros((2, 2))).score == 2 * float(np.float32(1 / 3))
    assert kbest.decode(node32.astype(np.float64), None, dtype="float32").score == float(np.float32(2 / 3))
    assert kbest.decode(node32, None, dtype=np.float64).score == 2 * float(np.float32(1 / 3))
    edges = kbest.Edges(np.zeros((2, 2), np.float32))
    with pytest.raises(errors.DtypeError, match="edges of float64") as caught:
        kbest.decode(np.zeros((2, 2)), edges)
    assert caught.value.argument == "edge"
    assert kbest.decode(np.zeros((2, 2)), edges, dtype="float32").score == 0


NODE, EDGE = np.zeros((3, 4)), np.zeros((4, 4))
NAN = np.array([[0.0, np.nan, 0.0, 0.0]] * 3)
MISTAKES = [
    (dict(node=np.zeros(3)), errors.ShapeError, "node"),
    (dict(node=np.zeros((1, 2, 3, 4))), errors.ShapeError, "node"),
    (dict(node=np.zeros((3, 5))), errors.ShapeError, "node"),
    (dict(node=np.zeros((3, 0)), edge=None), errors.ShapeError, "node"),
    (dict(node=[[1.0], [1.0, 2.0]]), errors.ShapeError, "node"),
    (dict(node=NAN), errors.ScoreError, "node"),
    (dict(node=-NAN), errors.ScoreError, "node"),
    (dict(node=np.full((3, 4), np.inf)), errors.ScoreError, "node"),
    (dict(node=np.full((3, 4), "x")), errors.DtypeError, "node"),
    (dict(node=np.zeros((3, 4), complex)), errors.DtypeError, "node"),
    (dict(node=np.full((3, 4), None)), errors.DtypeError, "node"),
    (dict(node="node"), errors.DtypeError, "node"),
    (dict(node=object()), errors.DtypeError, "node"),
    (dict(edge=np.zeros((4, 5))), errors.ShapeError, "edge"),
    (dict(edge=np.zeros(4)), errors.ShapeError, "edge"),
    (dict(edge=np.zeros((1, 4, 4))), errors.ShapeError, "edge"),
    (dict(edge=np.zeros((1, 2, 4, 4))), errors.ShapeError, "edge"),
    (dict(edge=np.full((4, 4), np.nan)), errors.ScoreError, "edge"),
    (dict(edge=np.full((4, 4), "x")), errors.DtypeError, "edge"),
    (dict(start=np.zeros(5)), errors.ShapeError, "start"),
    (dict(start=[0, 0, 0, float("nan")]), errors.ScoreError, "start"),
    (dict(end=np.zeros((4, 1))), errors.ShapeError, "end"),
    (dict(end=["a"] * 4), errors.DtypeError, "end"),
    (dict(end=np.full(4, np.inf)), errors.ScoreError, "end"),
    (dict(allowed=np.ones((3, 5), bool)), errors.ShapeError, "allowed"),
    (dict(allowed=np.ones((3, 4))), errors.DtypeError, "allowed"),
    (dict(forced={3: 0}), errors.ArgumentError, "forced"),
    (dict(forced={0: 4}), errors.ArgumentError, "forced"),
    (dict(forced=[0, 1]), errors.ShapeError, "forced"),
    (dict(forced=[0.5, 1, 1]), errors.DtypeError, "forced"),
    (dict(lengths=[3]), errors.ShapeError, "lengths"),
    (dict(mask=[True]), errors.ShapeError, "mask"),
    (dict(node=np.zeros((2, 3, 4)), lengths=[3]), errors.ShapeError, "lengths"),
    (dict(node=np.zeros((2, 3, 4)), lengths=[3, 4]), errors.ShapeError, "lengths"),
    (dict(node=np.zeros((2, 3, 4)), lengths=[3, -1]), errors.ShapeError, "lengths"),
    (dict(node=np.zeros((2, 3, 4)), mask=[[1, 0, 1], [1, 1, 1]]), errors.ShapeError, "mask"),
    (dict(node=np.zeros((2, 3, 4)), mask=[[0, 1, 1], [1, 1, 1]]), errors.ShapeError, "mask"),
    (dict(node=np.zeros((2, 3, 4)), mask=[[1, 1, 1]]), errors.ShapeError, "mask"),
    (dict(node=np.zeros((2, 3, 4)), mask=[[1] * 3] * 2, lengths=[3, 3]), errors.ArgumentError, "mask"),
    (dict(node=np.zeros((2, 3, 4)), edge=np.zeros((3, 2, 4, 4))), errors.ShapeError, "edge"),
    (dict(k=0), errors.ArgumentError, "k"),
    (dict(decoder="nosuch"), errors.ArgumentError, "decoder"),
    (dict(decoder="carpediem", k=2), errors.UnsupportedError, "decoder"),
    (dict(dtype="int32"), errors.DtypeError, "dtype"),
    (dict(dtype="float16"), errors.DtypeError, "dtype"),
    (dict(label_names=["a"] * 4, constraints="auto"), errors.ArgumentError, "label_names"),
    (dict(label_names=["a"], constraints="iob2"), errors.ArgumentError, "constraints"),
]


@pytest.mark.parametrize("given, kind, argument", MISTAKES, ids=lambda value: str(value)[:40])
def test_mistakes_name_the_argument(given, kind, argument):
    arguments = {"node": NODE, "edge": EDGE, **given}
    with pytest.raises(kind) as caught:
        kbest.decode(**arguments)
    assert isinstance(caught.value, kbest.KbestError)
    assert caught.value.argument == argument, caught.value
    assert str(caught.value)


def test_the_message_is_that_of_the_library():
    with pytest.raises(ValueError, match="the node score of position 0, label 1 is NaN: expected a finite number"):
        kbest.decode(NAN, EDGE)
    batch = np.zeros((3, 2, 4))
    batch[2] = -np.inf
    with pytest.raises(kbest.NoPathError, match="sequence 2: no legal path"):
        kbest.decode(batch, EDGE)


def test_empty_sequences_and_single_labels():
    path = kbest.decode(np.zeros((0, 4)), EDGE)
    assert (path.labels.tolist(), path.score) == ([], 0.0)
    assert kbest.log_partition(np.zeros((0, 4)), EDGE) == 0.0
    assert [tuple(p) for p in kbest.kbest_iter(np.zeros((0, 4)), EDGE)] == [()]
    assert tuple(kbest.decode(np.ones((5, 1)), [[1.0]])) == (0,) * 5
    assert kbest.marginals(np.zeros((0, 4)), EDGE).node.shape == (0, 4)


def test_paths_are_values():
    path = kbest.decode([[1.0, 2.0]], None)
    assert pickle.loads(pickle.dumps(path)) == path
    assert repr(path) == "Path(labels=[1], score=2.0, exact=True)"
    assert (len(path), list(path), path.decoder) == (1, [1], path.decoder)
    assert path != kbest.decode([[1.0, 3.0]], None)
    assert path != 3


def test_beam_says_whether_it_is_proven(random):
    node, edge = whole(random, 12, 30), 10 * whole(random, 30, 30)
    exact = kbest.decode(node, edge)
    beam = kbest.decode(node, edge, decoder="beam:1")
    assert beam.score <= exact.score and (not beam.exact or beam == exact)


def test_the_interpreter_is_free_while_decoding(random):
    """Another thread counts while a long call runs."""
    node, edge = random.normal(size=(60, 1500)).astype(np.float32), random.normal(size=(1500, 1500)).astype(np.float32)
    prepared = kbest.Edges(edge)
    running, counted = threading.Event(), []

    def count():
        running.set()
        n = 0
        while running.is_set():
            n += 1
        counted.append(n)

    thread = threading.Thread(target=count)
    thread.start()
    running.wait()
    kbest.decode(node, prepared, decoder="viterbi")
    running.clear()
    thread.join()
    assert counted[0] > 1000


def test_explanations():
    seen = kbest.explain([[1.0, 0.0], [4.0, 0.0]], None, k=2, label_names=["<N>", "V"], tokens=["a", "b"])
    assert seen.paths[0].labels.tolist() == [0, 0] and seen.exact and seen.opened.tolist() == [2, 2]
    html = seen._repr_html_()
    assert "&lt;N&gt;" in html and "<N>" not in html and "2 positions, 2 labels" in html
    assert "opened 4 of 4 nodes" in str(seen) and "<N> <N>" in str(seen)
