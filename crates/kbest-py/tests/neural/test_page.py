"""The examples of docs/torch.md and of the package run."""

import doctest
import re
from pathlib import Path

import pytest

import kbest.torch

PAGE = Path(__file__).resolve().parents[4] / "docs" / "torch.md"


def test_page():
    text = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S))
    test = doctest.DocTestParser().get_doctest(text, {}, "torch.md", None, 0)
    assert len(test.examples) > 20
    report: list = []
    runner = doctest.DocTestRunner()
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize("module", [kbest.torch])
def test_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted > 3 and found.failed == 0
