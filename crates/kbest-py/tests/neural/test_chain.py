"""log Z, gradients and best paths of both engines against torch in double precision."""

import itertools
import os

import numpy as np
import pytest
import reference
import torch

import kbest
from kbest import torch as kt

SLOW = os.environ.get("TRITON_INTERPRET") == "1"
SIZES = [(1, 1, 1), (3, 1, 4), (2, 5, 1), (3, 6, 2), (4, 9, 9), (2, 7, 20), (2, 4, 50), (2, 3, 100), (3, 4, 150), (2, 3, 319)]
if not SLOW:
    SIZES += [(20, 12, 9), (40, 30, 130), (70, 5, 1000), (3, 4, 2606)]


def problem(batch, steps, labels, device, dtype=torch.float32, scale=2.0, masked=False):
    def scores(*shape):
        return (torch.randn(*shape, dtype=torch.float64) * scale).to(dtype)

    found = [scores(batch, steps, labels), scores(labels, labels), scores(labels), scores(labels)]
    mask = None
    if masked:
        mask = torch.rand(batch, steps) < 0.7
        mask[:, 0] = True
        mask = mask.to(device)
    return [score.to(device) for score in found], mask


def gradients(total, leaves):
    return torch.autograd.grad(total, leaves)


def close(found, expected, tolerance=2e-5):
    torch.testing.assert_close(found.double(), expected.double(), rtol=tolerance, atol=tolerance)


def check(scores, mask, tolerance=2e-5, tags=None):
    weights = torch.randn(scores[0].shape[0], dtype=torch.float64, device=scores[0].device)
    mine = [score.clone().requires_grad_() for score in scores]
    theirs = [score.double().requires_grad_() for score in scores]
    expected = reference.log_partition(*theirs, mask)
    if tags is None:
        found = kt.log_partition(*mine, mask=mask)
    else:
        found = -kt.log_likelihood(*mine[:2], tags, *mine[2:], mask=mask)
        expected = expected - reference.path_score(*theirs, tags, mask)
    close(found, expected, tolerance)
    for weight in (torch.ones_like(weights), weights):
        ours = gradients((found.double() * weight).sum(), mine) if weight is weights else torch.autograd.grad(
            (found.double() * weight).sum(), mine, retain_graph=True
        )
        wanted = torch.autograd.grad((expected * weight).sum(), theirs, retain_graph=True, materialize_grads=True)
        for one, other in zip(ours, wanted):
            close(one, torch.nan_to_num(other), tolerance * max(1.0, float(scores[0].shape[0])))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_log_partition_and_gradients(size, masked, device):
    check(*problem(*size, device, masked=masked))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("size", SIZES[:9])
def test_likelihood_and_gradients(size, masked, device):
    scores, mask = problem(*size, device, masked=masked)
    check(scores, mask, tags=torch.randint(size[2], size[:2], device=device))


@pytest.mark.parametrize("size", [(2, 5, 4), (2, 4, 70), (2, 3, 140)])
def test_double_precision(size, device):
    scores, mask = problem(*size, device, dtype=torch.float64, masked=True)
    check(scores, mask, 1e-10)


def test_gradcheck(device):
    scores, mask = problem(2, 4, 3, device, dtype=torch.float64, masked=True)
    tags = torch.randint(3, (2, 4), device=device)
    leaves = [score.requires_grad_() for score in scores]

    def likelihood(node, edges, start, end):
        return kt.log_likelihood(node, edges, tags, start, end, mask=mask)

    assert torch.autograd.gradcheck(likelihood, leaves, nondet_tol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("labels", [5, 140])
def test_half_types(dtype, labels, device):
    scores, _ = problem(3, 4, labels, device, dtype=dtype)
    mine = scores[0].clone().requires_grad_()
    theirs = scores[0].double().requires_grad_()
    found = kt.log_partition(mine, *scores[1:])
    expected = reference.log_partition(theirs, *scores[1:])
    assert found.dtype == torch.float32
    close(found, expected)
    (ours,), (wanted,) = gradients(found.sum(), [mine]), gradients(expected.sum(), [theirs])
    assert ours.dtype == dtype
    close(ours, wanted, 1e-2)


@pytest.mark.parametrize("labels", [4, 40, 150])
def test_other_layouts(labels, device):
    node = torch.randn(labels, 5, 3, device=device)
    edges, start, end = (torch.randn(*shape, device=device) for shape in ((labels, labels), (labels,), (labels,)))
    check([node.permute(2, 1, 0), edges.t(), start, end], None)


@pytest.mark.parametrize("labels", [6, 140])
@pytest.mark.parametrize("where", ["edges", "node", "both", "gap"])
def test_scores_beyond_the_range_of_exp(labels, where, device):
    scores, mask = problem(3, 6, labels, device, masked=True)
    if where in ("edges", "both"):
        scores[1] *= 100
    if where in ("node", "both"):
        scores[0] *= 100
    if where == "gap":  # the best label can be reached from a hopeless one alone
        scores[1][:, 1] = float("-inf")
        scores[1][0, 1] = 0.0
        scores[0][:, :, 0] = -150.0
        scores[0][:, 2:, 1] = 400.0
        scores[0][:, :2, 2] = 300.0
    check(scores, mask, 5e-4)


@pytest.mark.parametrize("labels", [5, 140])
def test_minus_infinity(labels, device):
    scores, mask = problem(4, 6, labels, device, masked=True)
    scores[1][torch.rand(labels, labels, device=device) < 0.4] = float("-inf")
    scores[2][1:3] = float("-inf")
    scores[0][torch.rand(4, 6, labels, device=device) < 0.2] = float("-inf")
    scores[0][:, :, 0] = 0.0
    scores[1][0, 0] = 0.0
    check(scores, mask)


@pytest.mark.parametrize("labels", [3, 140])
def test_everything_forbidden(labels, device):
    scores, _ = problem(2, 4, labels, device)
    scores[0][1, 2] = float("-inf")
    leaves = [score.requires_grad_() for score in scores]
    found = kt.log_partition(*leaves)
    assert torch.isneginf(found).tolist() == [False, True]
    for gradient in gradients(found[0] + found[1], leaves):
        assert not gradient.isnan().any()
    labels_found, best = kt.decode(*(leaf.detach() for leaf in leaves))
    assert torch.isneginf(best).tolist() == [False, True]
    assert (labels_found[1] == -1).all() and (labels_found[0] >= 0).all()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_best_paths(size, masked, device):
    scores, mask = problem(*size, device, masked=masked)
    found, best = kt.decode(*scores, mask=mask)
    assert found.cpu().tolist() == reference.decode(*scores, mask=None if mask is None else mask.cpu()).tolist()
    if mask is None:
        paths = kbest.decode(scores[0].cpu(), scores[1].cpu(), start=scores[2].cpu(), end=scores[3].cpu())
        assert [path.labels.tolist() for path in paths] == found.tolist()
        assert [path.score for path in paths] == best.tolist()


@pytest.mark.parametrize("labels", [3, 40, 150])
def test_ties(labels, device):
    node = torch.randint(2, (4, 7, labels)).float()
    edges, start, end = (torch.randint(2, shape).float() for shape in ((labels, labels), (labels,), (labels,)))
    found, _ = kt.decode(*(score.to(device) for score in (node, edges, start, end)))
    paths = kbest.decode(node, edges, start=start, end=end)
    assert [path.labels.tolist() for path in paths] == found.tolist()


def test_k_best(device):
    scores, mask = problem(2, 4, 3, device, masked=True)
    labels, found = kt.kbest(*scores[:2], 100, *scores[2:], mask=mask)
    node, edges, start, end = (score.cpu().double() for score in scores)
    for b in range(2):
        on = mask[b].cpu().nonzero()[:, 0].tolist()
        every = []
        for path in itertools.product(range(3), repeat=len(on)):
            score = start[path[0]] + end[path[-1]] + sum(node[b, t, y] for t, y in zip(on, path))
            every.append((float(score + sum(edges[p, y] for p, y in zip(path, path[1:]))), path))
        every = sorted(every, key=lambda way: -way[0])[:100]
        count = int((found[b] > float("-inf")).sum())
        assert count == len(every)
        np.testing.assert_allclose(found[b, :count].cpu(), [score for score, _ in every], rtol=1e-5, atol=1e-5)
        assert labels[b, 0, on].tolist() == list(every[0][1])
        assert (labels[b, count:] == -1).all()


def test_marginals_entropy_and_samples(device):
    scores, mask = problem(2, 4, 3, device, masked=True)
    named = {"mask": mask}
    labels, found = kt.kbest(*scores[:2], 81, *scores[2:], **named)
    log_z = kt.log_partition(*scores, **named)
    probability = (found.double() - log_z.double()[:, None]).exp()
    close(probability.sum(1), torch.ones(2, device=device))
    expected = torch.zeros(2, 4, 3, dtype=torch.float64, device=device)
    for y in range(3):
        expected[:, :, y] = ((labels == y) * probability[:, :, None]).sum(1)
    close(kt.marginals(*scores, **named), expected)
    close(kt.entropy(*scores, **named), -torch.special.xlogy(probability, probability).sum(1))
    drawn = kt.sample(*scores, **named, samples=4000)
    assert ((drawn >= 0) == mask).all()
    often = torch.stack([(drawn == y).double().mean(0) for y in range(3)], 2)
    assert float((often - expected).abs().max()) < 0.05


def test_partial_labels(device):
    scores, mask = problem(2, 4, 3, device, masked=True)
    allowed = torch.rand(2, 4, 3, device=device) < 0.6
    allowed[:, :, 1] = True
    found = kt.partial_log_likelihood(*scores[:2], allowed, *scores[2:], mask=mask)
    labels, paths = kt.kbest(*scores[:2], 81, *scores[2:], mask=mask)
    legal = allowed.gather(2, labels.clamp(min=0).transpose(1, 2)).transpose(1, 2) | (labels < 0)
    inside = torch.where(legal.all(2), paths.double(), float("-inf")).logsumexp(1) - paths.double().logsumexp(1)
    close(found, inside)
    everything = kt.partial_log_likelihood(*scores[:2], torch.ones_like(allowed), *scores[2:], mask=mask)
    close(everything, torch.zeros(2, device=device))


def test_margin_losses(device):
    scores, mask = problem(3, 5, 4, device, masked=True)
    tags = torch.randint(4, (3, 5), device=device)
    leaves = [score.requires_grad_() for score in scores]
    labels, found = kt.kbest(*scores[:2], 4**5, *scores[2:], mask=mask)
    gold = kt.path_score(*leaves[:2], tags, *leaves[2:], mask=mask)
    wrong = ((labels != tags[:, None, :]) & mask[:, None, :]).sum(2)
    for loss, cost in ((kt.max_margin, 1.5), (kt.perceptron, 0.0)):
        named = {"cost": cost} if cost else {}
        mine = loss(*leaves[:2], tags, *leaves[2:], mask=mask, **named)
        close(mine, (found.double() + cost * wrong).max(1).values - gold.double())
        assert all(torch.isfinite(gradient).all() for gradient in gradients(mine.sum(), leaves))


def test_second_derivatives_are_refused(device):
    node = torch.randn(1, 3, 2, device=device, requires_grad=True)
    total = kt.log_partition(node, torch.zeros(2, 2, device=device)).sum()
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.grad(total, node, create_graph=True)
