"""Models of segments in Python: every form of answer, against enumeration of what the model itself says."""

from __future__ import annotations

import os
import pickle
import subprocess
import threading
from pathlib import Path

import kbest
import numpy as np
import pytest
from kbest import errors

ROOT = Path(__file__).resolve().parents[3]
FIRST, LAST, CITIES = ["Ada", "Alan", "Kurt"], ["Lovelace", "Turing", "Gödel"], ["Paris", "New York", "Rio de Janeiro"]


def corpus(sequences=60, seed=5):
    random = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(sequences):
        tokens, tags = [], []
        for _ in range(random.integers(1, 4)):
            kind = random.integers(3)
            if kind == 0:
                words, name = [FIRST[random.integers(3)], LAST[random.integers(3)]][random.integers(2) :], "PER"
            elif kind == 1:
                words, name = CITIES[random.integers(3)].split(), "LOC"
            else:
                words, name = [["met", "in", "saw"][random.integers(3)]], None
            tokens += words
            tags += ["O"] if name is None else [f"B-{name}"] + [f"I-{name}"] * (len(words) - 1)
        X.append(tokens)
        Y.append(tags)
    return X, Y


X, Y = corpus()


@pytest.fixture(scope="module", params=["semi", "semi-crf"])
def tagger(request):
    options = {"epochs": 15} if request.param == "semi" else {"epochs": 30, "c2": 0.1}
    return kbest.train(X, Y, algorithm=request.param, **options)


def test_it_learns_and_says_what_it_is(tagger):
    assert tagger.kind == "segments" and set(tagger.labels) == {"PER", "LOC", "O"}
    assert set(tagger.tags) == {"B-PER", "I-PER", "B-LOC", "I-LOC", "O"}
    report = tagger.evaluate(X, Y)
    assert report["accuracy"] > 0.95 and report["span_f1"] > 0.9 and set(report.spans) == {"PER", "LOC"}
    assert "segments" in repr(tagger)
    assert kbest.train([["a"]], [["X"]]).kind == "positions"


def test_answers_belong_together(tagger):
    tokens = ["Ada", "Lovelace", "saw", "New", "York"]
    assert tagger.tag(tokens) == ["B-PER", "I-PER", "O", "B-LOC", "I-LOC"]
    assert tagger.spans(tokens) == [(0, 2, "PER"), (3, 5, "LOC")]
    assert tagger.tag_batch([tokens, [], ["Paris"]], threads=2) == [tagger.tag(tokens), [], ["B-LOC"]]
    paths = tagger.kbest(tokens, 4000, probabilities=True)
    assert len({tuple(path.segments) for path in paths}) == len(paths)
    assert sum(path.probability for path in paths) == pytest.approx(1, abs=1e-4)
    assert [p.score for p in paths] == sorted((p.score for p in paths), reverse=True)
    assert paths[0].segments == [(0, 2, "PER"), (2, 3, "O"), (3, 5, "LOC")]
    # Marginals by adding up all segmentations.
    node = np.zeros((5, 3))
    boundary = np.zeros(6)
    of_segment = {}
    for path in paths:
        boundary[0] += path.probability
        for start, end, label in path.segments:
            node[start:end, tagger.labels.index(label)] += path.probability
            boundary[end] += path.probability
            of_segment[start, end, label] = of_segment.get((start, end, label), 0) + path.probability
    np.testing.assert_allclose(tagger.marginals(tokens), node, atol=1e-4)
    sums = tagger.segment_marginals(tokens)
    np.testing.assert_allclose(sums.boundary, boundary, atol=1e-4)
    np.testing.assert_allclose(sums.node, node, atol=1e-4)
    for path in paths[:20]:
        expected = [of_segment[segment] for segment in path.segments for _ in range(segment[1] - segment[0])]
        np.testing.assert_allclose(path.confidences, expected, atol=1e-4)


def test_known_labels_and_constraints(tagger, tmp_path):
    tokens = ["Ada", "Lovelace", "saw", "Paris"]
    answer = tagger.tag(tokens, known=[None, "B-PER", None, "O"])
    assert answer[1] == "B-PER" and answer[3] == "O"
    np.testing.assert_allclose(tagger.marginals(tokens, known=["O", None, None, None])[0, tagger.labels.index("O")], 1)
    with pytest.raises(kbest.NoPathError):
        tagger.tag(["Ada"], known=["I-PER"])
    with pytest.raises(errors.ArgumentError, match="NOSUCH"):
        tagger.tag(tokens, known=["NOSUCH", None, None, None])
    with pytest.raises(errors.ShapeError, match="known labels"):
        tagger.tag(tokens, known=[None])
    assert tagger.using(constraints="auto").tag(tokens) == tagger.tag(tokens)
    rules = tmp_path / "rules"
    rules.write_text("!PER\tO\n")
    for path in tagger.using(constraints=rules).kbest(tokens, 50):
        labels = [label for _, _, label in path.segments]
        assert ("PER", "O") not in zip(labels, labels[1:])


def test_decoders_agree(tagger):
    expected = tagger.tag_batch(X)
    for decoder in ["semi-viterbi", "semi-viterbi-simd", "semi-funnel", "semi-astar"]:
        assert tagger.using(decoder=decoder).tag_batch(X) == expected, decoder
    with pytest.raises(errors.UnsupportedError, match="this is for segments"):
        tagger.using(decoder="viterbi")
    with pytest.raises(errors.UnsupportedError):
        tagger.using(decoder="semi-astar").kbest(X[0], 2)


def test_pickles_files_threads(tagger, tmp_path):
    again = pickle.loads(pickle.dumps(tagger.using(decoder="semi-viterbi")))
    assert again.decoder == "semi-viterbi" and again.tag_batch(X) == tagger.tag_batch(X)
    tagger.save(tmp_path / "model.kbest")
    loaded = kbest.Tagger.load(tmp_path / "model.kbest")
    assert loaded.tag_batch(X) == tagger.tag_batch(X) and loaded.to_bytes() == tagger.to_bytes()
    results = []
    threads = [threading.Thread(target=lambda: results.append(tagger.tag_batch(X, threads=1))) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == [tagger.tag_batch(X)] * 4


def test_tables(tagger):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"tokens": X})
    answer = tagger.tag_arrow(table, scores=True, probabilities=True)
    assert answer["labels"].to_pylist() == tagger.tag_batch(X)
    best = tagger.tag_arrow(table, k=3, scores=True, probabilities=True)
    for i, tokens in enumerate(X[:8]):
        paths = tagger.kbest(tokens, 3, probabilities=True)
        assert best["labels"][i].as_py() == [path.labels for path in paths]
        assert best["scores"][i].as_py() == [path.score for path in paths]
        assert best["probabilities"][i].as_py() == [path.probability for path in paths]
        assert answer["confidences"][i].as_py() == paths[0].confidences.tolist()


def test_what_models_of_segments_cannot_do(tagger, tmp_path):
    for call in [tagger.scores, tagger.explain]:
        with pytest.raises(errors.UnsupportedError, match="single positions"):
            call(X[0])
    with pytest.raises(errors.UnsupportedError, match="single positions"):
        tagger.save_safetensors(tmp_path / "x")
    with pytest.raises(errors.UnsupportedError, match="segments"):
        kbest.train([["a"]], [["X"]]).segment_marginals(["a"])


def test_options(tmp_path):
    cities = tmp_path / "cities.txt"
    cities.write_text("\n".join(CITIES))
    runs = [[tag.split("-")[-1] for tag in tags] for tags in Y]
    tagger = kbest.train(X, runs, algorithm="semi", segments="runs", longest_segment=8, lexicon=[cities], segment_features=["lexicon"])
    assert b"cities" in tagger.to_bytes() and set(tagger.tags) == {"PER", "LOC", "O"}
    assert max(end - start for path in tagger.kbest(X[0] * 4, 50) for start, end, _ in path.segments) <= 8
    kbest.train([[(w, str(t)) for t, w in enumerate(x)] for x in X], Y, algorithm="semi", lines=2, epochs=1)
    for options, argument in [
        (dict(algorithm="crf", segments="runs"), "segments"),
        (dict(algorithm="semi", segments="nosuch"), "segments"),
        (dict(algorithm="semi", longest_segment=0), "longest_segment"),
        (dict(algorithm="semi", segment_features=["nosuch"]), "segment_features"),
        (dict(algorithm="semi", prune=0.1), "prune"),
    ]:
        with pytest.raises(errors.ArgumentError) as caught:
            kbest.train(X, Y, **options)
        assert caught.value.argument == argument, caught.value
    with pytest.raises(FileNotFoundError):
        kbest.train(X, Y, algorithm="semi", lexicon="/nosuch")


def test_held_out_data_and_the_estimator():
    seen = []
    kbest.train(X[:8], Y[:8], algorithm="semi", dev=corpus(20, 9), epochs=8, patience=2, callback=lambda e: seen.append(e.dev_accuracy))
    assert seen and all(0 <= accuracy <= 1 for accuracy in seen)
    sklearn = pytest.importorskip("kbest.sklearn")
    estimator = sklearn.SequenceTagger(algorithm="semi", epochs=10).fit(X, Y)
    assert estimator.classes_ == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"] and estimator.score(X, Y) > 0.95
    assert estimator.predict_marginals_single(X[0])[0].keys() == {"PER", "LOC", "O"}


def test_the_command_line_agrees(tmp_path):
    program = next((p for p in [ROOT / "target/debug/kbest", ROOT / "target/release/kbest"] if p.exists()), None)
    program = os.environ.get("KBEST_PROGRAM") or program
    if program is None:
        pytest.skip("the command line is not built")
    data, model = tmp_path / "train.tsv", tmp_path / "model.kbest"
    data.write_text("".join("".join(f"{w}\t{y}\n" for w, y in zip(x, ys)) + "\n" for x, ys in zip(X, Y)))
    subprocess.run([program, "train", data, "-m", model, "--algorithm", "semi", "--epochs", "4", "-q"], check=True)
    ours = kbest.train(X, Y, algorithm="semi", epochs=4)
    theirs = kbest.Tagger.load(model)
    for tokens in X[:20]:
        assert [(p.segments, p.score) for p in ours.kbest(tokens, 3)] == [(p.segments, p.score) for p in theirs.kbest(tokens, 3)]
    report = subprocess.run([program, "evaluate", "-m", model, data], check=True, capture_output=True, text=True).stdout
    assert report == str(theirs.evaluate(X, Y))
