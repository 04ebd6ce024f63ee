"""The module: pytorch-crf's interface, and what goes beyond it."""

import pytest
import torch

import kbest
from kbest.torch import CRF

NAMES = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def made(batch, steps, labels, device, **named):
    crf = CRF(labels, **named).to(device)
    first = crf.batch_first
    shape = (batch, steps) if first else (steps, batch)
    return crf, torch.randn(*shape, labels, device=device), torch.randint(labels, shape, device=device)


def test_importing_kbest_does_not_import_torch():
    import subprocess
    import sys

    program = "import sys, kbest; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize("reduction", ["none", "sum", "mean", "token_mean"])
@pytest.mark.parametrize("batch_first", [False, True])
def test_agrees_with_pytorch_crf(reduction, batch_first, device):
    torchcrf = pytest.importorskip("torchcrf")
    crf, emissions, tags = made(3, 6, 5, device, batch_first=batch_first)
    other = torchcrf.CRF(5, batch_first=batch_first).to(device)
    other.load_state_dict(crf.state_dict())
    crf.load_state_dict(other.state_dict())
    lengths = torch.tensor([6, 1, 4], device=device)
    mask = torch.arange(6, device=device)[None, :] < lengths[:, None]
    mask = mask if batch_first else mask.t()
    answers = []
    for layer in (crf, other):
        leaf = emissions.clone().requires_grad_()
        found = layer(leaf, tags, mask=mask, reduction=reduction)
        layer.zero_grad()
        found.sum().backward()
        answers.append([found, leaf.grad, *(each.grad for each in layer.parameters())])
        answers[-1].append(layer.decode(leaf, mask=mask))
    for ours, theirs in zip(*answers):
        if isinstance(ours, list):
            assert ours == theirs
        else:
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_constraints(device):
    crf, emissions, _ = made(4, 6, 5, device, batch_first=True, label_names=NAMES, constraints="iob2")
    assert set(crf.state_dict()) == {"transitions", "start_transitions", "end_transitions"}
    emissions[:, :, 2] += 3.0
    best = crf.decode(emissions)
    edges = crf.transitions.detach().cpu()
    borders = {"start": crf.start_transitions.detach().cpu(), "end": crf.end_transitions.detach().cpu()}
    expected = kbest.decode(emissions.cpu(), edges, label_names=NAMES, constraints="iob2", **borders)
    assert best == [path.labels.tolist() for path in expected]
    illegal = torch.full((4, 6), 2, device=device)
    assert torch.isneginf(crf(emissions, illegal, reduction="none")).all()
    total = kbest.log_partition(emissions.cpu(), edges, label_names=NAMES, constraints="iob2", **borders)
    torch.testing.assert_close(crf.log_partition(emissions).cpu().double(), torch.from_numpy(total), rtol=1e-5, atol=1e-5)


def test_allowed_matrix(device):
    allowed = torch.eye(3, dtype=torch.bool)
    crf, emissions, _ = made(4, 5, 3, device, batch_first=True, allowed=allowed)
    assert all(len(set(labels)) == 1 for labels in crf.decode(emissions))


def test_partial_labels_and_losses(device):
    crf, emissions, tags = made(3, 5, 4, device)
    single = torch.nn.functional.one_hot(tags, 4).bool()
    torch.testing.assert_close(crf(emissions, single), crf(emissions, tags), rtol=1e-5, atol=1e-5)
    best = torch.tensor(crf.decode(emissions), device=device).t()
    assert float(crf(emissions, best, loss="perceptron").detach()) == 0.0
    assert float(crf(emissions, best, loss="max_margin", cost=100.0).detach()) < 0.0


def test_tensors_and_k_best(device):
    crf, emissions, _ = made(3, 5, 4, device)
    labels, scores = crf.decode_tensor(emissions)
    assert labels.shape == (5, 3) and labels.t().tolist() == crf.decode(emissions)
    several = crf.decode(emissions, k=3)
    assert [paths[0] for paths in several] == crf.decode(emissions) and all(len(paths) == 3 for paths in several)
    torch.testing.assert_close(crf.kbest(emissions, 3)[1][:, 0], scores)
    assert crf.marginals(emissions).shape == emissions.shape
    assert crf.sample(emissions, samples=2).shape == (2, 3, 5)
    assert bool((crf.entropy(emissions) > 0).all())


def test_nothing_allowed_is_an_error(device):
    crf, emissions, _ = made(2, 3, 2, device, batch_first=True)
    emissions[1, 1] = float("-inf")
    with pytest.raises(kbest.NoPathError, match="sequence 1"):
        crf.decode(emissions)


def test_mistakes(device):
    crf, emissions, tags = made(2, 3, 4, device, batch_first=True)
    with pytest.raises(ValueError, match="must all be on"):
        crf(emissions, tags, mask=torch.tensor([[1, 1, 1], [0, 1, 1]], device=device))
    with pytest.raises(ValueError, match="invalid loss: mae"):
        crf(emissions, tags, loss="mae")
    with pytest.raises(ValueError, match="label_names"):
        CRF(4, label_names=["a"])
    with pytest.raises(ValueError, match="label_names"):
        CRF(4, constraints="iob2")


@pytest.mark.parametrize("labels", [5, 140])
def test_compiles_without_graph_breaks(labels, device):
    crf, emissions, tags = made(3, 5, labels, device)
    mask = torch.ones(5, 3, dtype=torch.bool, device=device)
    mask[3:, 1] = False

    def loss(emissions, tags, mask):
        return -crf(emissions * 1.5, tags, mask=mask, reduction="mean")

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for run in (loss, compiled):
        leaf = emissions.clone().requires_grad_()
        crf.zero_grad()
        found = run(leaf, tags, mask)
        found.backward()
        answer = [found.detach(), leaf.grad, crf.transitions.grad.clone()]
        expected = answer if run is loss else expected
    for ours, theirs in zip(answer, expected):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_autocast(device):
    crf, emissions, tags = made(3, 5, 6, device)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        found = crf(emissions.bfloat16(), tags)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, crf(emissions.bfloat16().float(), tags), rtol=1e-5, atol=1e-5)
