"""The device of these tests: ``KBEST_TORCH_DEVICE``, or ``cpu``. With ``TRITON_INTERPRET=1`` the kernels for GPUs run there."""

import os

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture
def device():
    return torch.device(os.environ.get("KBEST_TORCH_DEVICE", "cpu"))


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(7)
