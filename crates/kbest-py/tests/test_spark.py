"""kbest.spark in local mode: the answers of one machine. Kills and real clusters are in `cluster/` (`make test-cluster`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import kbest
import kbest.sharded
import pytest
from kbest import errors
from spark_session import session
from test_segment_models import X as SPANS, Y as TAGS
from test_text import X, Y as CLEAN

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark", reason="pip install kbest[spark]")

Y = [[label if (i + t) % 7 else "NOUN" for t, label in enumerate(labels)] for i, labels in enumerate(CLEAN)]


@pytest.fixture(scope="module")
def spark():
    spark = session("local[2]")
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def tagger():
    return kbest.train(X, Y, algorithm="crf", epochs=10)


def frame(spark, X=X, Y=Y, parts=3):
    rows = [(i, tokens, labels) for i, (tokens, labels) in enumerate(zip(X, Y))]
    return spark.createDataFrame(rows, "id long, tokens array<string>, gold array<string>").repartitionByRange(parts, "id")


def test_tagging(spark, tagger, tmp_path):
    from kbest.spark import tag

    path = tmp_path / "model.kbest"
    tagger.save(path)
    tagged = tag(frame(spark), path)
    assert tagged.columns == ["id", "tokens", "gold", "labels", "error"]
    rows = tagged.collect()
    assert [row.id for row in rows] == list(range(len(X))), "the order is kept"
    assert [row.labels for row in rows] == tagger.tag_batch(X) and all(row.error is None for row in rows)
    best = tag(frame(spark).drop("gold"), tagger, k=3, marginals=True).collect()
    for row in best:
        paths = tagger.kbest(row.tokens, 3, probabilities=True)
        assert [tuple(found) for found in row.paths] == [(p.labels, p.score, p.probability) for p in paths]
        assert row.labels == paths[0].labels and row.confidences == paths[0].confidences.tolist()


def test_bad_rows(spark, tagger):
    from kbest.spark import tag

    data = [(0, ["the", "man"]), (1, None), (2, ["the", None]), (3, []), (4, ["the"] * 9)]
    df = spark.createDataFrame(data, "id int, tokens array<string>")
    for k in [1, 2]:
        rows = tag(df, tagger, k=k, longest=8, marginals=True).collect()
        assert [row.labels for row in rows] == [tagger.tag(["the", "man"]), None, None, [], None]
        messages = [row.error for row in rows]
        assert messages[0] is None and messages[3] is None
        assert "got null" in messages[1] and "null at position 1" in messages[2] and "9 tokens, more than 8" in messages[4]
    others = tag(spark.createDataFrame([(0, 7)], "id int, tokens int"), tagger, k=2, marginals=True).collect()
    assert others[0].labels is None and others[0].paths is None and "expected a list of strings, got int32" in others[0].error
    bio = kbest.train([["a", "b"]] * 2, [["B-X", "I-X"]] * 2, constraints="auto")
    one = tag(spark.createDataFrame([(["a"],)], "tokens array<string>"), bio).collect()  # I-X cannot follow, so B-X cannot end
    assert [(row.labels is None) == (row.error is not None) for row in one] == [True]
    assert tag(df.limit(0), tagger, k=2).collect() == []


def test_segments_constraints_and_columns(spark, tmp_path):
    from kbest.spark import evaluate, tag

    semi = kbest.train(SPANS, TAGS, algorithm="semi", epochs=5)
    df = frame(spark, SPANS, TAGS)
    assert [row.labels for row in tag(df, semi).collect()] == semi.tag_batch(SPANS)
    rules = tmp_path / "rules"
    rules.write_text("!PER\tO\n")
    expected = semi.using(constraints=rules)
    assert [row.labels for row in tag(df, semi, constraints=str(rules)).collect()] == expected.tag_batch(SPANS)
    assert str(evaluate(df, semi, labels="gold")) == str(semi.evaluate(SPANS, TAGS))
    columns = [[(w, w[-1]) for w in tokens] for tokens in X]
    two = kbest.train(columns, Y)
    rows = [([w for w, _ in tokens], [end for _, end in tokens]) for tokens in columns]
    df = spark.createDataFrame(rows, "word array<string>, end array<string>")
    assert [row.labels for row in tag(df, two, ["word", "end"]).collect()] == two.tag_batch(columns)


def test_evaluation_is_that_of_one_machine(spark, tagger):
    from kbest.spark import evaluate

    found = evaluate(frame(spark), tagger, labels="gold")
    expected = tagger.evaluate(X, Y)
    assert dict(found) == dict(expected) and str(found) == str(expected) and found.labels == expected.labels


@pytest.mark.parametrize("options", [dict(algorithm="averaged", epochs=3), dict(algorithm="crf", epochs=4), dict(algorithm="pa", features="morphology", epochs=2)], ids=str)
def test_training_is_that_of_one_machine(spark, options, tmp_path):
    from kbest.spark import train

    options = {**options, "labels": "gold", "shards": 10}  # more than one group of answers
    table = pyarrow.table({"id": range(len(X)), "tokens": X, "gold": Y})
    expected = kbest.sharded.train(table, threads=1, **options)
    assert kbest.sharded.train(table.take(list(range(len(X)))[::-1]), threads=3, **options).to_bytes() == expected.to_bytes()
    found = train(frame(spark), **options)
    assert found.to_bytes() == expected.to_bytes()
    # Stopped, and gone on with, here and there.
    kept = tmp_path / "checkpoint"
    train(frame(spark, parts=1), **{**options, "epochs": 1}, checkpoint=kept)
    assert train(frame(spark), **options, checkpoint=kept, resume=True).to_bytes() == expected.to_bytes()
    assert kbest.sharded.train(table, **options, checkpoint=kept, resume=True).to_bytes() == expected.to_bytes()


def test_a_template_and_features_add_up(tmp_path):
    template = tmp_path / "template"
    template.write_text("U0:%x[0,0]\nB\n")
    table = pyarrow.table({"id": range(len(X)), "tokens": X, "labels": Y})
    assert kbest.sharded.train(table, template=template, features="words", epochs=1).features == "template+words"


def test_mistakes(spark, tagger):
    from kbest.spark import evaluate, tag, train

    df = frame(spark)
    for call, argument in [
        (lambda: tag(df, tagger, "nosuch"), "df"),
        (lambda: tag(df.withColumnRenamed("gold", "labels"), tagger), "df"),
        (lambda: tag(df, tagger, k=0), "k"),
        (lambda: tag(df, tagger, tokens=[]), "tokens"),
        (lambda: tag(df, tagger, tokens=None), "tokens"),
        (lambda: tag(df, tagger, tokens=["tokens", ""]), "tokens"),
        (lambda: tag(df, tagger, longest=0), "longest"),
        (lambda: tag(df, tagger, threads=-1), "threads"),
        (lambda: tag([["a"]], tagger), "df"),
        (lambda: evaluate(df, tagger, tokens=[], labels="gold"), "tokens"),
        (lambda: evaluate(df, tagger, labels="id"), "id"),
        (lambda: train(df, labels="gold", id="nosuch"), "df"),
        (lambda: train(df, labels="gold", tokens=[]), "tokens"),
        (lambda: train(df, labels="tokens"), "labels"),
        (lambda: train(df, labels="gold", constraints="nosuch", epochs=1000), "constraints"),
        (lambda: train(df, labels="gold", tag_decoder="nosuch", epochs=1000), "decoder"),
        (lambda: kbest.sharded.train(pyarrow.table({"tokens": X, "labels": Y})), "table"),
        (lambda: kbest.sharded.train(pyarrow.table({"id": range(len(X)), "labels": Y}), tokens=[]), "tokens"),
        (lambda: evaluate(df, tagger), "df"),
        (lambda: train(df, labels="nosuch"), "df"),
        (lambda: train(df, labels="id"), "id"),
        (lambda: train(df, labels="gold", id="tokens"), "tokens"),
        (lambda: train(df, labels="gold", shards=0), "shards"),
        (lambda: train(df, labels="gold", epochs=0), "epochs"),
        (lambda: train(df, labels="gold", resume=True), "resume"),
        (lambda: train(df, "voted", labels="gold"), "algorithm"),
        (lambda: train(df, labels="gold", c2=1.0), "c2"),
        (lambda: train(df, labels="gold", nosuch=1), "nosuch"),
    ]:
        with pytest.raises(errors.KbestError) as caught:
            call()
        assert caught.value.argument == argument, caught.value
    with pytest.raises(errors.UnsupportedError):
        tag(df, tagger, k=2, decoder="carpediem")
    with pytest.raises(Exception, match="7 twice"):
        train(df.unionAll(df.where("id = 7")), labels="gold", epochs=1)
    with pytest.raises(Exception, match="got null in row"):
        evaluate(spark.createDataFrame([(["a"], None)], "tokens array<string>, labels array<string>"), tagger)


def test_the_script(spark, tmp_path):
    """As `spark-submit` would run it, without starting another Java."""
    from kbest import spark_submit

    data, model = str(tmp_path / "data.parquet"), str(tmp_path / "model.kbest")
    frame(spark).withColumnRenamed("gold", "labels").write.parquet(data)
    spark_submit.main(["train", data, "-m", model, "--epochs", "2", "--shards", "3", "--seed", "5"])
    table = pyarrow.table({"id": range(len(X)), "tokens": X, "labels": Y})
    expected = kbest.sharded.train(table, epochs=2, shards=3, seed=5)
    assert kbest.Tagger.load(model).to_bytes() == expected.to_bytes()
    spark.read.parquet(data).drop("labels").write.json(str(tmp_path / "in.jsonl"))
    spark_submit.main(["tag", str(tmp_path / "in.jsonl"), "-m", model, "-o", str(tmp_path / "out.parquet"), "-k", "2"])
    tagged = spark.read.parquet(str(tmp_path / "out.parquet")).orderBy("id").collect()
    assert [row.labels for row in tagged] == expected.tag_batch(X) and len(tagged[0].paths) == 2
    with pytest.raises(SystemExit) as caught:
        spark_submit.main(["tag", "/nosuch", "-m", "/nosuch", "-o", "/nosuch"])
    assert caught.value.code == 2


def test_broadcasts_are_destroyed(spark, monkeypatch):
    """Everything that training sends out is taken back, also if it fails."""
    from kbest.spark import train
    from pyspark import Broadcast

    sent, destroyed = [], []
    broadcast, destroy = spark.sparkContext.broadcast, Broadcast.destroy
    monkeypatch.setattr(type(spark.sparkContext), "broadcast", lambda self, value: sent.append(broadcast(value)) or sent[-1])
    monkeypatch.setattr(Broadcast, "destroy", lambda self, *rest: destroyed.append(self) or destroy(self, *rest))
    for options in [dict(algorithm="crf", epochs=2), dict(features="morphology", epochs=2)]:
        train(frame(spark), labels="gold", shards=3, **options)
        assert len(sent) > 2 and {id(one) for one in sent} == {id(one) for one in destroyed}, options

    def stop(epoch):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        train(frame(spark), labels="gold", shards=3, epochs=3, callback=stop)
    assert {id(one) for one in sent} == {id(one) for one in destroyed}


def test_the_three_commands_of_the_page(spark, tagger, tmp_path):
    """docs/spark.md, on a laptop: as they stand there, through spark-submit. The first, pip, has made this environment."""
    page = (Path(__file__).resolve().parents[3] / "docs/spark.md").read_text(encoding="utf-8")
    block = page.split("in three commands")[1].split("```sh\n")[1].split("```")[0]
    install, where, submit = [line.split("  #")[0].strip() for line in block.strip().splitlines()]
    assert install == "pip install '.[spark]'"
    frame(spark).drop("gold").write.parquet(str(tmp_path / "sentences.parquet"))
    tagger.save(str(tmp_path / "model.kbest"))
    folders = [os.path.dirname(sys.executable), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(folders), "SPARK_LOCAL_IP": "127.0.0.1"}

    def shell(command):
        ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, f"{command}: {ran.stderr}"
        return ran.stdout

    assert Path(shell(where).strip()).name == "spark_submit.py"
    told = shell(submit).strip().splitlines()
    assert told[-1] == f"wrote tagged.parquet: {len(X)} rows, 0 of them with an error instead of labels", told
    tagged = spark.read.parquet(str(tmp_path / "tagged.parquet")).orderBy("id").collect()
    assert [row.labels for row in tagged] == tagger.tag_batch(X)


def test_the_script_explains_itself():
    from kbest import spark_submit

    program = [sys.executable, spark_submit.__file__, "--help"]
    told = subprocess.run(program, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"})
    assert told.returncode == 0 and "spark-submit" in told.stdout
