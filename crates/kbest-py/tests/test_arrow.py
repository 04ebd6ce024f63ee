"""Tables of Arrow: pyarrow always, polars where it is installed."""

from __future__ import annotations

import kbest
import kbest.sharded
import numpy as np
import pytest
from kbest import errors
from test_text import X, Y

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def tagger():
    return kbest.train(X, Y, algorithm="crf", epochs=10)


@pytest.mark.parametrize("kind", [pyarrow.list_(pyarrow.string()), pyarrow.large_list(pyarrow.large_string())])
@pytest.mark.parametrize("threads", [0, 1])
def test_labels_scores_and_probabilities(tagger, kind, threads):
    column = pyarrow.array(X, type=kind)
    table = pyarrow.table({"id": range(len(X)), "tokens": column})
    answer = tagger.tag_arrow(table, scores=True, probabilities=True, threads=threads)
    assert answer.column_names == ["labels", "score", "probability", "confidences"]
    assert answer["labels"].to_pylist() == tagger.tag_batch(X)
    for i, tokens in enumerate(X[:10]):
        (path,) = tagger.kbest(tokens, 1, probabilities=True)
        assert answer["score"][i].as_py() == path.score
        assert answer["probability"][i].as_py() == path.probability
        assert answer["confidences"][i].as_py() == path.confidences.tolist()
    assert tagger.tag_arrow(table)["labels"].equals(answer["labels"])
    assert tagger.tag_arrow(column)["labels"].equals(answer["labels"])
    assert tagger.tag_arrow(table.to_batches()[0])["labels"].equals(answer["labels"])
    sliced = tagger.tag_arrow(table.slice(5, 7))
    assert sliced["labels"].to_pylist() == tagger.tag_batch(X[5:12])
    chunked = pyarrow.concat_tables([table, table.slice(3)])
    assert len(tagger.tag_arrow(chunked)) == 2 * len(X) - 3


def test_k_best(tagger):
    answer = tagger.tag_arrow(pyarrow.array(X[:6]), k=3, scores=True, probabilities=True)
    for i, tokens in enumerate(X[:6]):
        paths = tagger.kbest(tokens, 3, probabilities=True)
        assert answer["labels"][i].as_py() == [path.labels for path in paths]
        assert answer["scores"][i].as_py() == [path.score for path in paths]
        assert answer["probabilities"][i].as_py() == [path.probability for path in paths]
        assert answer["confidences"][i].as_py() == [path.confidences.tolist() for path in paths]


def test_bad_rows(tagger):
    rows = [["the"], None, ["the", None], []]
    answer = tagger.tag_arrow(pyarrow.array(rows), errors="column")
    assert answer["labels"].to_pylist() == [["DET"], None, None, []]
    messages = answer["error"].to_pylist()
    assert messages[:2] == [None, None] and "null at position 1" in messages[2] and messages[3] is None
    with pytest.raises(errors.ArgumentError, match="null at position 1 in row 2") as caught:
        tagger.tag_arrow(pyarrow.array(rows))
    assert caught.value.argument == "batch"
    bio = kbest.train([["a", "b"]] * 2, [["B-X", "I-X"]] * 2, constraints="auto")
    assert bio.tag_arrow(pyarrow.array([["a"], ["b", "a"]]), errors="column")["error"].null_count == 2


def test_rows_are_counted_over_all_batches(tagger):
    good = pyarrow.table({"tokens": [["the", "cat"]] * 3})
    bad = pyarrow.table({"tokens": [["the"], ["the", None]]})
    with pytest.raises(errors.ArgumentError, match="row 4"):
        tagger.tag_arrow(pyarrow.concat_tables([good, bad]))


def test_several_columns():
    columns = [[(w, w[-1]) for w in tokens] for tokens in X]
    tagger = kbest.train(columns, Y)
    table = pyarrow.table({"word": X, "end": [[w[-1] for w in tokens] for tokens in X]})
    assert tagger.tag_arrow(table, ["word", "end"])["labels"].to_pylist() == tagger.tag_batch(columns)
    uneven = pyarrow.table({"word": [["a"]], "end": [["a", "b"]]})
    with pytest.raises(errors.ArgumentError, match="columns of 1 and 2 tokens in row 0"):
        tagger.tag_arrow(uneven, ["word", "end"])


def test_mistakes(tagger):
    for batch in [pyarrow.table({"other": X}), pyarrow.table({"tokens": [1, 2]}), pyarrow.table({"tokens": [[1], [2]]}), 3]:
        with pytest.raises(errors.ArgumentError) as caught:
            tagger.tag_arrow(batch)
        assert caught.value.argument == "batch"
    with pytest.raises(errors.ArgumentError, match="errors"):
        tagger.tag_arrow(pyarrow.array(X), errors="ignore")
    with pytest.raises(errors.ArgumentError):
        tagger.tag_arrow(pyarrow.array(X), k=0)


BROKEN = [b"caf\xe9", b"a\xe9", b"\xc3", b"\xf0", b"abc\xf0\x9f", b"\xff\xfe", b"\xed\xa0\x80", b"long enough for a view of its own \xe9"]


def lists(rows, kind="short"):
    """Rows of tokens that are bytes as a column of lists of strings of any layout. pyarrow does not check them."""
    tokens = [token for row in rows for token in row]
    ends = [sum(len(row) for row in rows[:i]) for i in range(len(rows) + 1)]
    large = kind == "large"
    text = {"short": pyarrow.string(), "large": pyarrow.large_string(), "view": pyarrow.string_view()}[kind]
    stored = {"short": pyarrow.binary(), "large": pyarrow.large_binary(), "view": pyarrow.binary_view()}[kind]
    stored = pyarrow.array(tokens, type=stored)
    strings = pyarrow.Array.from_buffers(text, len(tokens), stored.buffers(), stored.null_count)
    offsets = pyarrow.array(ends, pyarrow.int64() if large else pyarrow.int32())
    return (pyarrow.LargeListArray if large else pyarrow.ListArray).from_arrays(offsets, strings)


@pytest.mark.parametrize("kind", ["short", "large", "view"])
@pytest.mark.parametrize("broken", BROKEN)
def test_text_that_is_not_utf_8(tagger, kind, broken):
    good = [token.encode() for token in X[0]]
    column = lists([good, [b"the", broken], good, [broken[:1], None, b"the"], []], kind)
    table = pyarrow.table({"tokens": column})
    for rows in [table, pyarrow.concat_tables([table.slice(2), table])]:
        answer = tagger.tag_arrow(rows, errors="column")
        labels, messages = answer["labels"].to_pylist()[-5:], answer["error"].to_pylist()[-5:]
        assert labels == [tagger.tag(X[0]), None, tagger.tag(X[0]), None, []]
        assert [message is None for message in messages] == [True, False, True, False, True]
        assert "text that cannot be read as UTF-8 at position 1" in messages[1]
    with pytest.raises(errors.ArgumentError, match="UTF-8 at position 1 in row 1") as caught:
        tagger.tag_arrow(table)
    assert caught.value.argument == "batch"
    assert tagger.tag_arrow(column.slice(2, 1))["labels"].to_pylist() == [tagger.tag(X[0])], "other rows do not matter"


def test_a_file_whose_text_is_not_utf_8(tagger, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    tokens, labels = lists([[b"the"], [b"caf\xe9"]]), lists([[b"DET"], [b"NO\xff"]])
    parquet.write_table(pyarrow.table({"id": [1, 2], "tokens": tokens, "labels": labels}), tmp_path / "latin-1.parquet")
    table = parquet.read_table(tmp_path / "latin-1.parquet")
    assert tagger.tag_arrow(table, errors="column")["error"].null_count == 1
    good = pyarrow.array([["a"], ["b"]])
    for column in ["tokens", "labels"]:
        rows = table.set_column(table.column_names.index(column), column, good)
        with pytest.raises(errors.ArgumentError, match="cannot be read as UTF-8 at position 0 in row 1"):
            kbest.sharded.train(rows, epochs=1, shards=1)


def test_offsets_that_do_not_fit(tagger):
    """Offsets that are changed after pyarrow has checked them."""

    def array(kind, offsets, *buffers, **children):
        return pyarrow.Array.from_buffers(kind, len(offsets) - 1, [None, pyarrow.py_buffer(offsets), *buffers], **children)

    for good, bad in [([0, 2], [0, 5]), ([0, 1, 2], [0, 2, 1]), ([0, 2], [-1, 2])]:
        offsets = np.array(good, np.int32)
        column = array(pyarrow.list_(pyarrow.string()), offsets, children=[pyarrow.array(["the", "cat"])])
        table = pyarrow.table({"tokens": column})
        offsets[:] = bad
        with pytest.raises(errors.ArgumentError, match="damaged lists"):
            tagger.tag_arrow(table, errors="column")
    offsets = np.array([0, 3, 5, 6], np.int32)
    strings = array(pyarrow.string(), offsets, pyarrow.py_buffer(b"thecat"))
    table = pyarrow.table({"tokens": pyarrow.ListArray.from_arrays(pyarrow.array([0, 1, 2, 3], pyarrow.int32()), strings)})
    offsets[:] = [0, 5, 2, 6]
    messages = tagger.tag_arrow(table, errors="column")["error"].to_pylist()
    assert [message is None for message in messages] == [True, False, True]


def test_anything_that_speaks_arrow(tagger):
    class Speaker:
        def __arrow_c_stream__(self, requested_schema=None):
            return pyarrow.table({"tokens": X}).__arrow_c_stream__(requested_schema)

    stream = tagger.tag_arrow(Speaker())
    assert isinstance(stream, kbest.ArrowStream) and len(stream) == len(X)
    assert pyarrow.table(stream)["labels"].to_pylist() == tagger.tag_batch(X)
    assert pyarrow.table(stream).equals(pyarrow.table(stream))


def test_polars(tagger):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"tokens": X})
    answer = tagger.tag_arrow(frame, scores=True)
    assert isinstance(answer, polars.DataFrame)
    assert answer["labels"].to_list() == tagger.tag_batch(X)
    assert tagger.tag_arrow(frame["tokens"])["labels"].to_list() == tagger.tag_batch(X)
    assert tagger.tag_arrow(frame.lazy())["labels"].to_list() == tagger.tag_batch(X)
    long = [["word-that-is-longer-than-twelve-bytes", "the"]]
    assert tagger.tag_arrow(polars.DataFrame({"tokens": long}))["labels"].to_list() == tagger.tag_batch(long)
