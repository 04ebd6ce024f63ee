"""Every example runs: docstrings of the extension and of the Python modules, pages, the README, the notebook."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path

import kbest
import pytest
from kbest import _kbest

ROOT = Path(__file__).resolve().parents[3]
FLAGS = doctest.ELLIPSIS


def run(text: str, name: str) -> int:
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report: list = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
    return runner.tries


def documented():
    for name, member in sorted(vars(_kbest).items()):
        if inspect.isroutine(member) or inspect.isclass(member):
            yield name, member
            if inspect.isclass(member):
                for inner, attribute in sorted(vars(member).items()):
                    yield f"{name}.{inner}", attribute


EXAMPLES = [(name, text) for name, member in documented() if ">>>" in (text := inspect.getdoc(member) or "")]


@pytest.mark.parametrize("name, text", EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_docstrings_of_the_extension(name, text):
    assert run(text, name) > 0


def test_everything_public_is_documented():
    assert len(EXAMPLES) >= 15
    for name in kbest.__all__:
        if name != "__version__":
            assert inspect.getdoc(getattr(kbest, name)), name
    for name in ["decode", "kbest_iter", "marginals", "log_partition", "path_score", "train", "Tagger", "Edges"]:
        assert ">>>" in (inspect.getdoc(getattr(kbest, name)) or ""), name


@pytest.mark.parametrize("name", ["kbest", "kbest.errors", "kbest.segments", "kbest.compat", "kbest.sklearn", "kbest._explain", "kbest.sharded", "kbest.spark"])
def test_docstrings_of_modules(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0


def blocks(path: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.S))


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/from-sklearn-crfsuite.md", "docs/network-scores.md"])
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(blocks(page), page) > 0, "the page has examples"


def test_the_notebook(tmp_path, monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(ROOT / "docs/tutorial.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs do not belong into the repository"
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(cwd=str(tmp_path))
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown), "an explanation is shown as a page"
