"""Shared by the tests: enumeration of all paths, the beginning of the chain of trust."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest


def all_paths(node, edge, start=None, end=None, allowed=None, forced=None):
    """Every legal path with its score, best first, ties by labels read from the end; in float64, by plain sums."""
    steps, labels = node.shape
    found = []
    for path in itertools.product(range(labels), repeat=steps):
        score = 0.0
        for t, y in enumerate(path):
            score += node[t, y]
            if allowed is not None and not allowed[t, y]:
                score = -np.inf
            if forced and forced.get(t, y) != y:
                score = -np.inf
            if t > 0:
                step = edge[t - 1] if edge.ndim == 3 else edge
                score += step[path[t - 1], y]
        if start is not None and steps:
            score += start[path[0]]
        if end is not None and steps:
            score += end[path[-1]]
        if score > -np.inf:
            found.append((score, path))
    return sorted(found, key=lambda item: (-item[0], item[1][::-1]))


@pytest.fixture
def random():
    return np.random.default_rng(7)


def whole(random, *shape, low=-4, high=5, forbidden=0.0):
    """Whole-number scores, so that sums are exact and ties are real; some are forbidden."""
    scores = random.integers(low, high, shape).astype(np.float64)
    scores[random.random(shape) < forbidden] = -np.inf
    return scores


# Real clusters and kills take minutes: `make test-cluster`.
collect_ignore = [] if "KBEST_CLUSTER" in os.environ else ["cluster"]
