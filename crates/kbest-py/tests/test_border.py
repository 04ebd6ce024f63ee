"""What Python code and other threads may do to arrays while a call reads them. Each case has a process of its own, because
what is tested ends processes where it fails."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import kbest
import numpy as np
import pytest

BEGINNING = """
import contextlib
import threading
import numpy as np
import kbest

node, edge = np.arange(12.0).reshape(3, 4) % 5, np.arange(16.0).reshape(4, 4) % 3
expected = kbest.decode(node, edge)

class Meddles:
    \"\"\"An argument that changes others when it is converted.\"\"\"

    def __init__(self, meddle, value):
        self.meddle, self.value = meddle, value

    def __array__(self, dtype=None, copy=None):
        self.meddle()
        return self.value
"""


def survives(code):
    code = BEGINNING + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("changed", ["node", "edge"])
@pytest.mark.parametrize("change", ["dtype = np.int8", "dtype = np.complex128", "shape = (-1,)", "strides = (0, 0)"])
def test_arrays_changed_by_other_arguments(changed, change):
    survives(f"""
        def meddle():
            with contextlib.suppress(AttributeError):  # not every version of numpy allows each
                {changed}.{change}
        start = Meddles(meddle, np.zeros(4))
        assert kbest.decode(node, edge, start=start) == expected
    """)


@pytest.mark.parametrize(
    "call",
    [
        "kbest.path_score(node, edge, Meddles(meddle, np.array([0, 1, 2])))",
        "kbest.marginals(node, edge, path=Meddles(meddle, np.array([0, 1, 2])))",
        "list(kbest.kbest_iter(node, edge, unique_by=Meddles(meddle, np.arange(4))))",
        "kbest.segments.decode(node, edge, duration=Meddles(meddle, np.zeros((2, 4))))",
        "kbest.segments.decode(node, edge, duration=table, segment=Meddles(meddle, np.zeros((3, 2, 4))))",
        "kbest.decode([node, node], edge, lengths=Meddles(meddle, np.array([3, 2])))",
        "kbest.decode(node[None], edge, mask=Meddles(meddle, np.ones((1, 3), bool)))",
        "kbest.decode(node, edge, start=table[0], forced=Meddles(meddle, np.array([0, -1, 2])))",
        "kbest.Edges(edge, order=Meddles(meddle, np.arange(4)))",
        "kbest.ClassEdges([0] * 4, [0] * 4, edge, [0], [1], Meddles(meddle, np.zeros(1)))",
    ],
)
def test_every_later_argument(call):
    survives(f"""
        table = np.zeros((2, 4))
        def meddle():
            for array in node, edge, table:
                array.dtype = np.complex128
        {call}
    """)


def test_arrays_changed_by_another_thread():
    survives("""
        rows = np.random.default_rng(1).normal(size=(300, 400, 60))
        more = np.random.default_rng(2).normal(size=(60, 60))
        begun = threading.Event()
        def work():
            begun.set()
            kbest.decode(rows, more, decoder="viterbi", threads=1)
        thread = threading.Thread(target=work)
        thread.start()
        begun.wait()
        while thread.is_alive():
            rows.dtype, more.dtype = np.int64, np.int64
            rows.dtype, more.dtype = np.float64, np.float64
        thread.join()
    """)


def test_an_array_cannot_shrink_meanwhile():
    survives("""
        alone = np.zeros(3 * 4)
        alone.resize(3, 4)
        def meddle():
            try:
                alone.resize(0)
            except ValueError:
                return
            raise AssertionError("resized")
        kbest.decode(alone, edge, start=Meddles(meddle, np.zeros(4)))
    """)


def test_classes_derived_from_numpys():
    survives("""
        class Loud(np.ndarray):
            def view(self, *arguments):
                raise AssertionError("asked for its own view")
        assert kbest.decode(np.ndarray.view(node, Loud), np.ndarray.view(edge, Loud)) == expected
    """)


def test_labels_of_a_path_are_the_users():
    survives("""
        one, other = kbest.decode(node, edge), kbest.decode(node, edge)
        one.labels.dtype = np.int8
        assert one != other and one == one
        assert [path == one for path in kbest.decode(node, edge, k=2)] == [False, False]
    """)


def test_truth_is_any_byte_but_zero():
    odd = np.array([[2, 0, 255], [0, 128, 1]], np.uint8)
    node = np.array([[0.0, 9.0, 1.0], [5.0, 0.0, 1.0]])
    for allowed in [odd.view(bool), np.asfortranarray(odd).view(np.uint8).astype(np.int16)]:
        assert kbest.decode(node, None, allowed=allowed).labels.tolist() == [2, 2]
    strided = np.zeros((2, 6), np.uint8)
    strided[:, ::2] = odd
    assert kbest.decode(node, None, allowed=strided.view(bool)[:, ::2]).labels.tolist() == [2, 2]
    mask = np.array([[2, 0], [3, 7]], np.uint8).view(bool)
    assert [len(path) for path in kbest.decode(np.stack([node, node]), None, mask=mask)] == [1, 2]
