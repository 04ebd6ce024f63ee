"""Tagger and train: every algorithm and feature set, all forms of tokens, other programs' models, threads, pickles."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import threading
from pathlib import Path

import kbest
import numpy as np
import pytest
from kbest import errors

ROOT = Path(__file__).resolve().parents[3]
WORDS = {"the": "DET", "a": "DET", "old": "ADJ", "big": "ADJ", "man": "NOUN", "boat": "NOUN", "sees": "VERB", "eats": "VERB"}


def corpus(sequences=60, seed=3):
    random = np.random.default_rng(seed)
    words = list(WORDS)
    X = [[words[i] for i in random.integers(0, len(words), random.integers(1, 9))] for _ in range(sequences)]
    return X, [[WORDS[word] for word in tokens] for tokens in X]


X, Y = corpus()


@pytest.fixture(scope="module")
def tagger():
    return kbest.train(X, Y, algorithm="crf", epochs=20)


def test_every_form_of_answer(tagger):
    tokens = ["the", "old", "man"]
    assert tagger.tag(tokens) == ["DET", "ADJ", "NOUN"]
    assert tagger.tag_batch([tokens, [], ["eats"]]) == [["DET", "ADJ", "NOUN"], [], ["VERB"]]
    assert tagger.tag_batch((t for t in X), threads=2) == [tagger.tag(t) for t in X]
    assert set(tagger.labels) == {"DET", "ADJ", "NOUN", "VERB"}
    paths = tagger.kbest(tokens, 64, probabilities=True)
    assert len(paths) == 64 and paths[0].labels == ["DET", "ADJ", "NOUN"]
    assert sum(path.probability for path in paths) == pytest.approx(1, abs=1e-5)
    assert [p.score for p in paths] == sorted((p.score for p in paths), reverse=True)
    marginals = tagger.marginals(tokens)
    assert marginals.shape == (3, 4)
    np.testing.assert_allclose(marginals.sum(axis=1), 1)
    best = [tagger.labels.index(label) for label in paths[0].labels]
    np.testing.assert_allclose(paths[0].confidences, marginals[range(3), best])
    assert tagger.kbest(tokens, 1)[0].probability is None
    assert tagger.tag(tokens, known=[None, "VERB", None])[1] == "VERB"
    assert tagger.scores(tokens).shape == (3, 4)
    report = tagger.evaluate(X, Y)
    assert report["accuracy"] == 1 and report["sequence_accuracy"] == 1
    assert dict(report)["tokens"] == sum(map(len, X)) and "macro_f1" in report and "span_f1" not in report
    assert report.labels["DET"]["f1"] == 1 and report.confusions() == [] and "100" in str(report)
    with pytest.raises(KeyError):
        report["nosuch"]
    with pytest.raises(errors.KbestError):
        report.add(report.counts()[:-1])
    assert tagger.explain(tokens).tokens == tokens and "DET" in tagger.explain(tokens)._repr_html_()
    with pytest.raises(errors.KbestError):
        tagger.explain([[]])  # a token without columns
    assert tagger.about["algorithm"] == "crf"


@pytest.mark.parametrize(
    "options",
    [
        dict(algorithm="averaged"),
        dict(algorithm="perceptron", seed=5),
        dict(algorithm="averaged", decoder="beam:2", threads=2),
        dict(algorithm="averaged", runs=2),
        dict(algorithm="voted", epochs=3),
        dict(algorithm="pa", longest=0.5),
        dict(algorithm="crf", c1=0.01, c2=0.1, all_transitions=True),
        dict(algorithm="crf", optimizer="sgd", rate=0.2, batch=2, epochs=20),
        dict(algorithm="dual", kernel="poly:2"),
        dict(algorithm="dual", loss="slack", C=10.0, gap=0.1),
        dict(algorithm="hmm", smoothing=0.1),
        dict(features="morphology"),
        dict(features="columns"),
        dict(features="morphology+words"),
        dict(prune=0.001),
        dict(keep_features=True),
    ],
    ids=str,
)
def test_every_algorithm_learns(options):
    assert kbest.train(X, Y, **options).evaluate(X, Y)["accuracy"] > 0.97


def test_algorithms_are_those_of_the_library():
    with pytest.raises(errors.ArgumentError, match="averaged, perceptron, voted, pa, crf, dual") as caught:
        kbest.train(X, Y, algorithm="nosuch")
    assert caught.value.argument == "algorithm"


def test_without_labels():
    tagger = kbest.train(X, algorithm="baum-welch", states=3, epochs=4)
    assert len(tagger.labels) == 3 and len(tagger.tag(["the"])) == 1
    with pytest.raises(errors.ArgumentError, match="states"):
        kbest.train(X, algorithm="baum-welch")


def as_dicts(tokens):
    return [{"word": w, "len": len(w) / 4, "first": w == "the", "parts": {"end": w[-1]}, "letters": set(w)} for w in tokens]


def test_tokens_of_every_kind():
    dicts = kbest.train(list(map(as_dicts, X)), Y)
    assert dicts.features == "items" and dicts.evaluate(map(as_dicts, X), Y)["accuracy"] > 0.97
    lists = [[["w=" + w, "e=" + w[-1]] for w in tokens] for tokens in X]
    items = kbest.train(lists, Y, features="items")
    assert items.features == "items" and items.evaluate(lists, Y)["accuracy"] > 0.97
    columns = [[(w, w[-1]) for w in tokens] for tokens in X]
    table = kbest.train(columns, Y)
    assert table.features == "words+columns" and table.evaluate(columns, Y)["accuracy"] > 0.97
    numbers = [np.array([[len(w), ord(w[0])] for w in tokens], dtype=float) for tokens in X]
    real = kbest.train(numbers, Y, features="numbers", algorithm="dual", kernel="rbf:1")
    assert real.features == "numbers" and real.evaluate(numbers, Y)["accuracy"] > 0.9
    pairs = kbest.train(((tokens, labels) for tokens, labels in zip(X, Y)), epochs=2)
    assert pairs.tag(["the"]) == ["DET"]
    with pytest.raises(errors.ArgumentError, match="dicts") as caught:
        pairs.tag(as_dicts(["the"]))
    assert caught.value.argument == "tokens"


def test_dicts_become_the_features_of_python_crfsuite(tmp_path):
    """The same names as python-crfsuite gives, seen in the model's file."""
    token = {"w": "cat", "n": 2.0, "b": True, "in": {"x": "y"}, "l": ["p", "q"]}
    tagger = kbest.train([[token, {"w": "dog"}]] * 2, [["A", "B"]] * 2, algorithm="crf")
    data = tagger.to_bytes()
    for name in [b"w:cat", b"in:x:y", b"l:p", b"l:q"]:
        assert name in data


def test_callbacks_stop_and_fail():
    seen = []

    def stop(epoch):
        seen.append(epoch)
        return epoch.epoch < 3

    tagger = kbest.train(X, Y, algorithm="crf", callback=stop)
    assert [e.epoch for e in seen] == [1, 2, 3] and tagger.about["epochs"] == "3"
    assert all(e.loss >= 0 and e.seconds > 0 and e.dev_accuracy is None and not e.best for e in seen)
    learned = []
    kbest.train(X, Y, epochs=2, callback=learned.append)
    assert all(0 < e.accuracy <= 1 for e in learned)

    def fail(_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        kbest.train(X, Y, callback=fail)
    held_out = []
    kbest.train(X[:5], Y[:5], dev=corpus(20, 9), epochs=30, patience=2, callback=lambda e: held_out.append(e.dev_accuracy))
    assert 3 <= len(held_out) < 30 and all(0 <= accuracy <= 1 for accuracy in held_out)


def test_files_and_the_command_line_agree(tmp_path):
    data = tmp_path / "train.tsv"
    data.write_text("".join("".join(f"{w}\t{y}\n" for w, y in zip(x, ys)) + "\n" for x, ys in zip(X, Y)))
    by_file = kbest.train(data, epochs=4)
    by_list = kbest.train(X, Y, epochs=4)
    assert by_file.tag_batch(X) == by_list.tag_batch(X)
    np.testing.assert_array_equal(by_file.scores(X[0]), by_list.scores(X[0]))
    template = tmp_path / "template"
    template.write_text("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
    assert kbest.train(str(data), template=template).features == "template"
    assert kbest.train(str(data), template=template, features="words").features == "template+words"
    jsonl = tmp_path / "train.jsonl"
    jsonl.write_text("".join(json.dumps({"tokens": x, "tags": ys}) + "\n" for x, ys in zip(X, Y)))
    assert kbest.train(jsonl, epochs=4).tag_batch(X) == by_list.tag_batch(X)
    program = os.environ.get("KBEST_PROGRAM") or next(
        (str(p) for p in [ROOT / "target/debug/kbest", ROOT / "target/release/kbest"] if p.exists()), None
    )
    if program is None:
        pytest.skip("the command line is not built")
    model = tmp_path / "model.kbest"
    subprocess.run([program, "train", data, "-m", model, "--epochs", "4", "-q"], check=True)
    np.testing.assert_array_equal(kbest.Tagger.load(model).scores(X[0]), by_list.scores(X[0]))
    by_list.save(tmp_path / "ours.kbest")
    tagged = subprocess.run(
        [program, "tag", "-m", tmp_path / "ours.kbest", data, "--format", "columns"], check=True, capture_output=True, text=True
    )
    labels = [line.split("\t")[-1] for line in tagged.stdout.splitlines() if line]
    assert labels == sum(by_list.tag_batch(X), [])


def test_using_keeps_what_is_not_given():
    tagger = kbest.train([["a", "b"]] * 3, [["B-X", "I-X"]] * 3)
    both = tagger.using(constraints="auto").using(decoder="viterbi")
    assert both.constraints == ("auto",) and both.decoder == "viterbi"
    assert both.using(constraints=[]).constraints == ()


def test_a_dict_that_contains_itself(tagger):
    token = {"word": "cat"}
    token["self"] = token
    with pytest.raises(errors.ArgumentError, match="contains itself"):
        tagger.tag([token])


def test_pickles_copies_and_files(tagger, tmp_path):
    constrained = tagger.using(decoder="viterbi-simd")
    again = pickle.loads(pickle.dumps(constrained))
    assert again.tag_batch(X) == tagger.tag_batch(X) and again.decoder == "viterbi-simd"
    tagger.save(tmp_path / "model.kbest")
    assert kbest.Tagger.load(str(tmp_path / "model.kbest")).tag(X[0]) == tagger.tag(X[0])
    assert kbest.Tagger.from_bytes(tagger.to_bytes()).tag(X[0]) == tagger.tag(X[0])
    tagger.save_safetensors(tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").stat().st_size > 100


def test_other_programs_models(tmp_path):
    text = "version: 100\ncost-factor: 1\nmaxid: 4\nxsize: 1\n\nNOUN\nVERB\n\nU:%x[0,0]\n\n0 U:flies\n2 U:time\n\n-1\n1.5\n2\n0\n"
    (tmp_path / "model.txt").write_text(text)
    assert kbest.Tagger.load(tmp_path / "model.txt").tag(["time", "flies"]) == ["NOUN", "VERB"]


def test_crfsuites_own_models_and_labels(tmp_path):
    """A model that CRFsuite trained gives CRFsuite's labels."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, labels in zip(X, Y):
        trainer.append(pycrfsuite.ItemSequence(as_dicts(tokens)), labels)
    trainer.set_params({"max_iterations": 20})
    trainer.train(str(tmp_path / "model.crfsuite"))
    theirs = pycrfsuite.Tagger()
    theirs.open(str(tmp_path / "model.crfsuite"))
    ours = kbest.Tagger.load(tmp_path / "model.crfsuite")
    for tokens in X:
        items = as_dicts(tokens)
        assert ours.tag(items) == theirs.tag(pycrfsuite.ItemSequence(items))
    theirs.set(pycrfsuite.ItemSequence(as_dicts(X[0])))
    marginals = ours.marginals(as_dicts(X[0]))
    for t in range(len(X[0])):
        for y, label in enumerate(ours.labels):
            assert marginals[t, y] == pytest.approx(theirs.marginal(label, t), abs=1e-4)


def test_one_tagger_many_threads(tagger):
    expected = tagger.tag_batch(X)
    results = []

    def work():
        results.append([tagger.tag(tokens) for tokens in X])

    threads = [threading.Thread(target=work) for _ in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == [expected] * 6


def test_spans_and_constraints():
    tokens = [["Ada", "Lovelace", "met", "Paris"]] * 4
    labels = [["B-PER", "I-PER", "O", "B-LOC"]] * 4
    tagger = kbest.train(tokens, labels)
    assert tagger.spans(tokens[0]) == [(0, 2, "PER"), (3, 4, "LOC")]
    constrained = tagger.using(constraints="auto")
    for path in constrained.kbest(tokens[0], 40):
        for before, label in zip(["O", *path.labels], path.labels):
            if label.startswith("I-"):
                assert before != "O" and before[2:] == label[2:]
    with pytest.raises(kbest.NoPathError):
        constrained.tag(["Ada"], known=["I-PER"])
    runs = kbest.train([["a", "b"]], [["X", "X"]])
    assert runs.spans(["a", "b"]) == [(0, 2, "X")]


@pytest.mark.parametrize(
    "call, kind, argument",
    [
        (lambda: kbest.Tagger.load("/nosuch/model"), FileNotFoundError, None),
        (lambda: kbest.Tagger.load(__file__), errors.DataError, None),
        (lambda: kbest.train(X, Y[:-1]), errors.ShapeError, "y"),
        (lambda: kbest.train(X[:-1], Y), errors.ShapeError, "y"),
        (lambda: kbest.train(X, [ys + ["X"] for ys in Y]), errors.ShapeError, "y"),
        (lambda: kbest.train(X), errors.ArgumentError, "y"),
        (lambda: kbest.train(X, Y, c2=1.0), errors.ArgumentError, "c2"),
        (lambda: kbest.train(X, Y, algorithm="crf", rate=1.0), errors.ArgumentError, "rate"),
        (lambda: kbest.train(X, Y, epochs=0), errors.ArgumentError, "epochs"),
        (lambda: kbest.train(X, Y, features="nosuch"), errors.ArgumentError, "features"),
        (lambda: kbest.train(X, Y, features="hmm"), errors.ArgumentError, "features"),
        (lambda: kbest.train(X, Y, features="words+words"), errors.ArgumentError, "features"),
        (lambda: kbest.train(X, Y, algorithm="voted", prune=1.0), errors.ArgumentError, "prune"),
        (lambda: kbest.train(X, Y, template="/nosuch"), FileNotFoundError, None),
        (lambda: kbest.train([[object()]], [["A"]]), errors.DtypeError, "tokens"),
        (lambda: kbest.train(["word"], [["A"]]), errors.DtypeError, "X"),
        (lambda: kbest.train([["a"]], [[1.5]]), errors.DtypeError, "y"),
        (lambda: kbest.train(X, Y, algorithm="hmm", features="words"), errors.ArgumentError, "features"),
    ],
)
def test_mistakes(call, kind, argument):
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, kbest.KbestError)
    assert caught.value.argument == argument, caught.value


def test_mistakes_in_calls(tagger):
    with pytest.raises(errors.DtypeError, match="a string"):
        tagger.tag("the old man")
    with pytest.raises(errors.ArgumentError, match="NOSUCH"):
        tagger.tag(["the"], known=["NOSUCH"])
    with pytest.raises(errors.ShapeError, match="known labels"):
        tagger.tag(["the"], known=[None, None])
    with pytest.raises(errors.ArgumentError):
        tagger.kbest(["the"], 0)
    with pytest.raises(errors.UnsupportedError):
        tagger.using(decoder="carpediem").kbest(["the"], 2)


def test_calibrated_probabilities_agree_with_the_command_line(tagger, tmp_path):
    held_out = corpus(200, 12)
    calm = tagger.calibrated(*held_out)
    assert tagger.calibration is None and calm.calibration[0] > 0
    assert calm.tag_batch(X) == tagger.tag_batch(X)
    for tokens in X[:5]:
        sure = calm.marginals(tokens)
        np.testing.assert_allclose(sure.sum(axis=1), 1.0, atol=1e-9)
        best = calm.kbest(tokens, 1, probabilities=True)[0]
        own = [sure[t, calm.labels.index(label)] for t, label in enumerate(best.labels)]
        np.testing.assert_allclose(best.confidences, own, atol=1e-12)
        np.testing.assert_allclose(calm.explain(tokens).marginals, sure, atol=1e-12)
    again = pickle.loads(pickle.dumps(calm))
    assert again.calibration == calm.calibration
    np.testing.assert_array_equal(again.marginals(X[0]), calm.marginals(X[0]))
    with pytest.raises(errors.ShapeError, match="labels"):
        tagger.calibrated(held_out[0], held_out[1][:-1])
    program = os.environ.get("KBEST_PROGRAM") or next(
        (str(p) for p in [ROOT / "target/debug/kbest", ROOT / "target/release/kbest"] if p.exists()), None
    )
    if program is None:
        pytest.skip("the command line is not built")
    calm.save(tmp_path / "calm.kbest")
    (tmp_path / "text.jsonl").write_text("".join(json.dumps({"tokens": x}) + "\n" for x in X))
    tagged = subprocess.run(
        [program, "tag", "-m", tmp_path / "calm.kbest", "--marginals=all", tmp_path / "text.jsonl"],
        check=True,
        capture_output=True,
        text=True,
    )
    for tokens, line in zip(X, tagged.stdout.splitlines()):
        for row, told in zip(calm.marginals(tokens), json.loads(line)["distributions"]):
            np.testing.assert_allclose(row, [told[label] for label in calm.labels], atol=6e-5)
