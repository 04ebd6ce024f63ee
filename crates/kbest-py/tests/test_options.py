"""Keywords that are rows of the library's tables: signatures, documentation, types and errors come from the same rows."""

from __future__ import annotations

import inspect
import pickle

import kbest
import kbest._keywords as keywords
import kbest.sharded
import pytest
from kbest import errors
from test_text import X, Y


def names(of):
    return {option["name"] for option in kbest.options(of)}


def test_signatures_types_and_tables_agree():
    parameters = inspect.signature(kbest.train).parameters
    own = {"X", "y", "dev", "callback", "checkpoint", "resume"}
    assert set(parameters) == own | names("train")
    assert parameters["seed"].default == 1 and parameters["c2"].default is None
    assert parameters["algorithm"].default == "averaged" and parameters["tag_decoder"].default == "auto"
    for types, of in [
        (keywords.TrainOptions, "train"),
        (keywords.RecipeOptions, "recipe"),
        (keywords.ShardOptions, "shards"),
        (keywords.TaggerOptions, "tagger"),
    ]:
        assert set(types.__annotations__) | {"algorithm"} == names(of) | {"algorithm"}
    in_shards = inspect.signature(kbest.sharded.train).parameters
    assert names("shards") < set(in_shards) and in_shards["c1"].kind is inspect.Parameter.KEYWORD_ONLY
    about = inspect.getdoc(kbest.train)
    assert all(f"    {option['name']} (" in about for option in kbest.options()) and ">>>" in about
    with pytest.raises(errors.ArgumentError, match="one of train"):
        kbest.options("nosuch")


@pytest.mark.parametrize(
    "options, kind, argument, message",
    [
        (dict(optimiser="sgd"), errors.KeywordError, "optimiser", "did you mean `optimizer`"),
        (dict(nonsense=1), errors.KeywordError, "nonsense", "no keyword `nonsense`; it has dev, "),
        (dict(c2="much"), errors.DtypeError, "c2", "c2: expected a number, got 'much'"),
        (dict(epochs=2.5), errors.DtypeError, "epochs", "expected a whole number, got 2.5"),
        (dict(epochs=-1), errors.ArgumentError, "epochs", "expected a whole number, 0 or more, got -1"),
        (dict(threads=0), errors.ArgumentError, "threads", "expected 1 to 1024, got 0"),
        (dict(algorithm="crv"), errors.ArgumentError, "algorithm", "one of averaged, "),
        (dict(algorithm="crf", c2=-1), errors.ArgumentError, "c2", "expected at least 0, got -1"),
        (dict(algorithm="crf", c1=1, optimizer="sgd"), errors.ArgumentError, "c1", "optimizer lbfgs"),
        (dict(patience=3), errors.ArgumentError, "patience", "held-out data"),
        (dict(all_states=1), errors.DtypeError, "all_states", "true or false"),
        (dict(segment_features="text"), errors.DtypeError, "segment_features", "a list of strings"),
        (dict(tag_decoder=7), errors.DtypeError, "tag_decoder", "a string"),
        (dict(template="nosuch", features="items"), errors.ArgumentError, "features", "added to a template"),
    ],
    ids=str,
)
def test_mistakes(options, kind, argument, message):
    with pytest.raises(kind, match=message) as caught:
        kbest.train(X, Y, **options)
    assert isinstance(caught.value, errors.KbestError) and caught.value.argument == argument


def test_what_is_none_is_not_given():
    nothing = {name: None for name in names("train")}
    assert kbest.train(X, Y, **nothing).to_bytes() == kbest.train(X, Y).to_bytes()
    again = kbest.train(X, Y, lexicon=None, dev_by="accuracy")
    assert again.to_bytes() == kbest.train(X, Y).to_bytes()


def test_an_empty_list_of_names_is_none():
    data = [["Ada", "Lovelace", "met"]] * 3, [["B-PER", "I-PER", "O"]] * 3
    train = lambda **options: kbest.train(*data, algorithm="semi", epochs=2, **options)  # noqa: E731
    assert train(segment_features=[]).to_bytes() == train(segment_features=["none"]).to_bytes() != train().to_bytes()


def test_options_of_taggers(tmp_path):
    tagger = kbest.train(X, Y, tag_decoder="viterbi")
    assert tagger.decoder == "viterbi" and pickle.loads(pickle.dumps(tagger)).decoder == "viterbi"
    tagger.save(tmp_path / "model")
    for load in [lambda **options: kbest.Tagger.load(tmp_path / "model", **options), tagger.using]:
        assert load(decoder="viterbi-simd").decoder == "viterbi-simd"
        with pytest.raises(errors.KeywordError, match="did you mean `decoder`"):
            load(decodr="viterbi")
        with pytest.raises(errors.UnsupportedError, match="this is for single positions"):
            load(decoder="semi-viterbi")


def test_what_does_not_work_in_shards():
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"id": range(len(X)), "tokens": X, "labels": Y})
    for options, kind in [
        (dict(runs=2), errors.ArgumentError),
        (dict(prune=0.5), errors.ArgumentError),
        (dict(sede=1), errors.KeywordError),
        (dict(epochs=0), errors.ArgumentError),
    ]:
        with pytest.raises(kind):
            kbest.sharded.train(table, **options)
    assert kbest.sharded.train(table, epochs=2, tag_decoder="viterbi").decoder == "viterbi"


def test_the_estimator_has_all_options():
    pytest.importorskip("sklearn")
    from kbest.sklearn import SequenceTagger
    from sklearn.base import clone

    estimator = SequenceTagger("pa", longest=0.5, epochs=3, decoder="viterbi")
    parameters = estimator.get_params()
    assert set(parameters) == names("recipe") | {"constraints", "options"}
    assert parameters["longest"] == 0.5 and parameters["algorithm"] == "pa"
    fitted = clone(estimator).fit(X, Y)
    assert fitted.tagger_.decoder == "viterbi" and "--longest 0.5 --epochs 3" in fitted.tagger_.about["options"]
    other = SequenceTagger("pa", options={"decoder": "viterbi"}).fit(X, Y)
    assert other.tagger_.decoder == "auto" and "--decoder viterbi" in other.tagger_.about["options"]
    with pytest.raises(TypeError, match="no option 'longst'"):
        SequenceTagger(longst=1)
