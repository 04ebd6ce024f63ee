"""The device of these tests: ``KBEST_TORCH_DEVICE``, or ``cpu``. With ``TRITON_INTERPRET=1`` the kernels for GPUs run there.

`make test-torch` runs them; where there is no torch, they are not collected.
"""

import importlib.util
import os

import pytest

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def device():
    import torch

    return torch.device(os.environ.get("KBEST_TORCH_DEVICE", "cpu"))


@pytest.fixture(autouse=True)
def seeded():
    import torch

    torch.manual_seed(7)
