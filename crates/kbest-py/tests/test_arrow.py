"""Tables of Arrow: pyarrow always, polars where it is installed."""

from __future__ import annotations

import kbest
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
