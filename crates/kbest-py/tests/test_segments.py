"""Segments against enumeration."""

from __future__ import annotations

import itertools

import kbest
import numpy as np
import pytest
from conftest import whole
from kbest import errors, segments


def all_segmentations(node, edge, duration=None, segment=None, longest=None, start=None, end=None):
    """Every segmentation with its score, best first."""
    steps, labels = node.shape
    found = []
    for cuts in itertools.product([False, True], repeat=max(steps - 1, 0)):
        bounds = [0, *[t + 1 for t, cut in enumerate(cuts) if cut], steps]
        spans = list(zip(bounds, bounds[1:]))
        if longest and any(r - s > longest for s, r in spans):
            continue
        for names in itertools.product(range(labels), repeat=len(spans)):
            score = 0.0
            for i, ((s, r), y) in enumerate(zip(spans, names)):
                score += node[s:r, y].sum()
                score += edge[names[i - 1], y] if i else 0.0
                score += duration[r - s - 1, y] if duration is not None else 0.0
                score += segment[s, r - s - 1, y] if segment is not None else 0.0
            score += (start[names[0]] if start is not None else 0.0) + (end[names[-1]] if end is not None else 0.0)
            if score > -np.inf:
                found.append((score, tuple((s, r, y) for (s, r), y in zip(spans, names))))
    return sorted(found, key=lambda item: -item[0])


def spans_of(found):
    return tuple(map(tuple, found.segments.tolist()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(8))
def test_segments_agree_with_enumeration(seed, dtype):
    random = np.random.default_rng(seed)
    steps, labels = int(random.integers(1, 5)), int(random.integers(1, 4))
    node, edge = whole(random, steps, labels), whole(random, labels, labels)
    parts = {}
    if seed % 2:
        parts["duration"] = whole(random, steps, labels)
    if seed % 3 == 0:
        parts["segment"] = whole(random, steps, steps, labels)
    parts["start"] = whole(random, labels)
    expected = all_segmentations(node, edge, **parts)
    arguments = node.astype(dtype), edge.astype(dtype)
    best = segments.decode(*arguments, **parts)
    assert best.score == expected[0][0] and best.exact
    assert (expected[0][0], spans_of(best)) in expected
    assert best.labels.tolist() == [y for s, r, y in best.segments for _ in range(s, r)]
    scores = [score for score, _ in expected]
    assert [found.score for found in segments.decode(*arguments, k=6, **parts)] == scores[:6]
    found = list(segments.kbest_iter(*arguments, **parts))
    assert [f.score for f in found] == scores
    assert len({spans_of(f) for f in found}) == len(expected)
    for score, spans in expected[:5]:
        assert segments.path_score(*arguments, list(spans), **parts) == score
    log_z = np.logaddexp.reduce(scores)
    assert segments.log_partition(*arguments, **parts) == pytest.approx(log_z, abs=1e-5)
    sums = segments.marginals(*arguments, **parts)
    nodes, boundary = np.zeros((steps, labels)), np.zeros(steps + 1)
    for score, spans in expected:
        boundary[0] += np.exp(score - log_z)
        for s, r, y in spans:
            nodes[s:r, y] += np.exp(score - log_z)
            boundary[r] += np.exp(score - log_z)
    np.testing.assert_allclose(sums.node, nodes, atol=1e-5)
    np.testing.assert_allclose(sums.boundary, boundary, atol=1e-5)


def test_limits_and_batches(random):
    node, edge = whole(random, 3, 5, 2), whole(random, 2, 2)
    lengths = [5, 2, 1]
    segment = whole(random, 3, 5, 3, 2)
    alone = [
        segments.decode(n[:size], edge, segment=s[:size], longest=2) for n, s, size in zip(node, segment, lengths)
    ]
    together = segments.decode(node, edge, segment=segment, longest=2, lengths=lengths)
    assert list(map(spans_of, together)) == list(map(spans_of, alone))
    assert all(r - s <= 2 for found in together for s, r, _ in found.segments)
    scores = segments.path_score(node, edge, together, segment=segment, lengths=lengths)
    assert scores.tolist() == [found.score for found in together]
    forced = segments.decode(node[0], edge, forced_segments=[(1, 3, 1)])
    assert (1, 3, 1) in spans_of(forced)
    any_label = segments.decode(node[0], edge, forced_segments=[(1, 3, None)])
    assert any((s, r) == (1, 3) for s, r, _ in spans_of(any_label)) and any_label.score >= forced.score
    best = segments.decode(node[0], edge)
    first = spans_of(best)[0]
    assert first not in spans_of(segments.decode(node[0], edge, forbidden_segments=[first]))
    by_label = segments.decode(node[0], edge, longest=[1, 3])
    assert all(r - s <= [1, 3][y] for s, r, y in spans_of(by_label))


@pytest.mark.parametrize(
    "given, kind, argument",
    [
        (dict(duration=np.zeros((2, 3))), errors.ShapeError, "duration"),
        (dict(segment=np.zeros((4, 2, 2))), errors.ShapeError, "segment"),
        (dict(duration=np.full((2, 2), np.nan)), errors.ScoreError, "duration"),
        (dict(longest=0), errors.ArgumentError, "longest"),
        (dict(decoder="viterbi"), errors.UnsupportedError, "decoder"),
        (dict(segment=np.full((5, 2, 2), np.nan)), errors.ScoreError, "segment"),
        (dict(forced_segments=[(0, 9, 0)]), errors.ShapeError, "forced_segments"),
        (dict(forced_segments=[(3, 1, None)]), errors.ShapeError, "forced_segments"),
        (dict(forced_segments=[(5, 6, None)]), errors.ShapeError, "forced_segments"),
        (dict(forbidden_segments=[(0, 1, 7)]), errors.LabelError, "forbidden_segments"),
        (dict(forced_segments=3), errors.ArgumentError, "forced_segments"),
    ],
    ids=str,
)
def test_mistakes_name_the_argument(given, kind, argument):
    with pytest.raises(kind) as caught:
        segments.decode(np.zeros((5, 2)), np.zeros((2, 2)), **given)
    assert caught.value.argument == argument, caught.value
