"""kbest on a cluster: tag, evaluate and train with Spark, where the rows are.

Needs pyspark 4 or newer and pyarrow, and kbest on every machine. Rows go to the library as tables of Arrow, without a Python
object per token. The model goes out as a file, once per executor, and is mapped into memory, so that tasks share it.

>>> from pyspark.sql import SparkSession                                             # doctest: +SKIP
>>> spark = SparkSession.builder.getOrCreate()                                       # doctest: +SKIP
>>> tagged = kbest.spark.tag(spark.read.parquet("sentences.parquet"), "model.kbest") # doctest: +SKIP
>>> tagged.write.parquet("tagged.parquet")                                           # doctest: +SKIP
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from ._kbest import Epoch, Evaluation, ShardPlan, Tagger
from ._signatures import lists_options
from .sharded import SHARDS, Shards, check_columns, columns_of, refuse, run

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import ShardOptions

__all__ = ["evaluate", "tag", "train"]

_Model = Union[Tagger, str, "PathLike[str]"]
_Columns = Union[str, Sequence[str]]

#: More tokens than this in one row are taken for a mistake in the data.
LONGEST = 100_000


def _check(df: Any, names: Iterable[str], new: Iterable[str] = ()) -> None:
    """Refuses what is no DataFrame of Spark, columns that are missing, and those that are there and must not be."""
    if not hasattr(df, "sparkSession") or not hasattr(df, "mapInArrow"):
        raise refuse("df", "a DataFrame of Spark", f"{type(df).__module__}.{type(df).__qualname__}")
    try:
        df.sparkSession.sparkContext
    except Exception as error:  # Spark Connect says so in its own way
        raise refuse("df", "a DataFrame of a session with a SparkContext", "one of Spark Connect") from error
    check_columns("df", df.columns, names)
    for name in new:
        if name in df.columns:
            raise refuse("df", f"no column `{name}`, which is added", "one")


def _check_lists(df: Any, names: Iterable[str]) -> None:
    for name in names:
        kind = df.schema[name].dataType.simpleString()
        if kind != "array<string>":
            raise refuse(name, "lists of strings", kind)


@dataclass(frozen=True)
class _Sent:
    """A model that has been sent out, and how to tag with it."""

    file: str
    rules: Tuple[Tuple[str, bool], ...]  # constraints; whether they are files that have been sent, too
    options: Tuple[Tuple[str, Any], ...]  # all others


_sent: Dict[str, str] = {}  # of this driver: names and places


def _add_file(df: Any, data: bytes) -> str:
    """Adds bytes to the files of the cluster, under a name that only they have."""
    name = f"kbest-{hashlib.blake2b(data, digest_size=16).hexdigest()}"
    if name not in _sent:
        # It must stay: an executor that is started later fetches it, too.
        folder = tempfile.mkdtemp(prefix="kbest-spark-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, name)
        with open(path, "wb") as out:
            out.write(data)
        _sent[name] = path
    df.sparkSession.sparkContext.addFile(_sent[name])
    return name


def _rule(df: Any, rule: str) -> Tuple[str, bool]:
    if not os.path.isfile(rule):
        return rule, False
    with open(rule, "rb") as file:
        return _add_file(df, file.read()), True


def _send(df: Any, model: _Model, options: Dict[str, Any]) -> Tuple[Tagger, _Sent]:
    """Sends the model out, and the files of its constraints."""
    tagger = model.using(**options) if isinstance(model, Tagger) else Tagger.load(model, **options)
    rules = tuple(_rule(df, rule) for rule in tagger.constraints)
    others = tuple((name, value) for name, value in tagger._options.items() if name != "constraints")
    return tagger, _Sent(_add_file(df, tagger.to_bytes()), rules, others)


_loaded: Dict[_Sent, Tagger] = {}  # of this worker


def _tagger(sent: _Sent) -> Tagger:
    if sent not in _loaded:
        from pyspark import SparkFiles

        _loaded.clear()  # one model at a time is enough, and workers are many
        rules = [SparkFiles.get(rule) if is_file else rule for rule, is_file in sent.rules]
        _loaded[sent] = Tagger.load(SparkFiles.get(sent.file), constraints=rules, **dict(sent.options))
    return _loaded[sent]


@dataclass(frozen=True)
class _Wanted:
    sent: _Sent
    tokens: Tuple[str, ...]
    k: int
    marginals: bool
    longest: int
    threads: int

    def fields(self) -> List[Any]:
        """The columns that are added."""
        from pyspark.sql.types import ArrayType, DoubleType, StringType, StructField, StructType

        labels = ArrayType(StringType())
        path = StructType([StructField("labels", labels), StructField("score", DoubleType()), StructField("probability", DoubleType())])
        fields = [StructField("labels", labels)]
        if self.k > 1:
            fields.append(StructField("paths", ArrayType(path)))
        if self.marginals:
            fields.append(StructField("confidences", ArrayType(DoubleType())))
        return [*fields, StructField("error", StringType())]


def tag_batch(tagger: Tagger, batch: Any, wanted: _Wanted) -> Any:
    """A record batch with the columns of the answer added."""
    import pyarrow
    import pyarrow.compute as compute

    def is_tokens(kind: Any) -> bool:
        lists = pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind)
        return bool(lists and (pyarrow.types.is_string(kind.value_type) or pyarrow.types.is_large_string(kind.value_type)))

    others = [name for name in wanted.tokens if not is_tokens(batch.schema.field(name).type)]
    strings = pyarrow.list_(pyarrow.string())
    if others:
        got = batch.schema.field(others[0]).type
        labels = pyarrow.nulls(len(batch), strings)
        error = pyarrow.array([f"{others[0]}: expected a list of strings, got {got}"] * len(batch), pyarrow.string())
        paths = confidences = None
    else:
        probabilities = wanted.k > 1 or wanted.marginals
        answer = tagger.tag_arrow(
            batch.select(list(wanted.tokens)),
            list(wanted.tokens),
            k=wanted.k,
            scores=wanted.k > 1,
            probabilities=probabilities,
            errors="column",
            longest=wanted.longest,
            threads=wanted.threads,
        ).combine_chunks()

        def column(name: str) -> Any:
            found = answer[name]
            return found.chunk(0) if found.num_chunks else pyarrow.array([], found.type)

        labels, error, paths = column("labels"), column("error"), None
        confidences = column("confidences") if wanted.marginals else None
        if wanted.k > 1:
            parts = [labels.values, column("scores").values, column("probabilities").values]
            each = pyarrow.StructArray.from_arrays(parts, ["labels", "score", "probability"])
            paths = pyarrow.ListArray.from_arrays(labels.offsets, each, mask=labels.is_null())
            labels = compute.list_element(labels, 0) if len(labels) else pyarrow.array([], strings)
            if confidences is not None:
                confidences = compute.list_element(confidences, 0) if len(labels) else pyarrow.array([], pyarrow.list_(pyarrow.float64()))
        silent = compute.and_(labels.is_null(), error.is_null())
        error = compute.if_else(silent, f"{wanted.tokens[0]}: expected a list of strings, got null", error)
    added = {"labels": labels}
    if wanted.k > 1:
        kind = pyarrow.struct([("labels", strings), ("score", pyarrow.float64()), ("probability", pyarrow.float64())])
        added["paths"] = pyarrow.nulls(len(batch), pyarrow.list_(kind)) if paths is None else paths
    if wanted.marginals:
        numbers = pyarrow.list_(pyarrow.float64())
        added["confidences"] = pyarrow.nulls(len(batch), numbers) if confidences is None else confidences
    added["error"] = error
    return pyarrow.RecordBatch.from_arrays([*batch.columns, *added.values()], [*batch.schema.names, *added])


def _tag_all(wanted: _Wanted, batches: Iterable[Any]) -> Iterator[Any]:
    tagger = _tagger(wanted.sent)
    for batch in batches:
        yield tag_batch(tagger, batch, wanted)


def tag(
    df: Any,
    model: _Model,
    tokens: _Columns = "tokens",
    k: int = 1,
    marginals: bool = False,
    constraints: Any = None,
    *,
    longest: int = LONGEST,
    threads: int = 1,
    **options: Any,
) -> Any:
    """Tags every row of a DataFrame.

    Args:
        df: a DataFrame with a column of lists of strings.
        model: a file in any format that kbest reads, or a :class:`kbest.Tagger`; of positions or of segments.
        tokens: the column of tokens; a list of names for models of several columns.
        k: how many label sequences.
        marginals: add a column ``confidences``: the probability of each label.
        constraints, options: as for :meth:`kbest.Tagger.load`; ``kbest.options("tagger")`` lists them.
        longest: rows with more tokens are not tagged.
        threads: of one task; Spark itself runs a task per core.

    Returns:
        A DataFrame with all columns of `df`, rows in the same order, and ``labels``; with k > 1 also ``paths``, an array of
        (labels, score, probability), best first; and ``error``. A row that cannot be tagged (no list, null, a null in the list,
        too long, forbidden by the constraints) has null labels and a message in ``error``; the job goes on.
    """
    for name, number in [("k", k), ("longest", longest)]:
        if number < 1:
            raise refuse(name, "at least 1", number)
    if threads < 0:
        raise refuse("threads", "at least 0", threads)
    columns = columns_of("tokens", tokens)
    _check(df, columns)
    tagger, sent = _send(df, model, {"constraints": constraints, **options})
    tagger.kbest([], k)  # a decoder that finds one path only is refused here, and not by every row
    wanted = _Wanted(sent, columns, k, marginals, longest, threads)
    fields = wanted.fields()
    _check(df, columns, [field.name for field in fields])
    from pyspark.sql.types import StructType

    return df.mapInArrow(partial(_tag_all, wanted), StructType([*df.schema.fields, *fields]))


def _count_all(sent: _Sent, tokens: Sequence[str], labels: str, batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow

    tagger = _tagger(sent)
    counted: Optional[Evaluation] = None
    for batch in batches:
        table = pyarrow.Table.from_batches([batch])
        part = tagger._evaluate_arrow(table, list(tokens), labels, 1)
        if counted is None:
            counted = part
        else:
            counted.add(part.counts())
    if counted is not None:
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([counted.counts()], pyarrow.binary())], ["counts"])


def evaluate(
    df: Any,
    model: _Model,
    tokens: _Columns = "tokens",
    labels: str = "labels",
    constraints: Any = None,
    **options: Any,
) -> Evaluation:
    """How good the labels of a model are: the figures of ``kbest evaluate``, counted where the rows are.

    Counts are whole numbers, so the figures are those of one machine. Every row must have tokens and as many labels. Constraints
    and other options are as for :func:`tag`.
    """
    columns = columns_of("tokens", tokens)
    _check(df, [*columns, *columns_of("labels", labels)])
    _check_lists(df, [*columns, labels])
    tagger, sent = _send(df, model, {"constraints": constraints, **options})
    parts = df.select(*columns, labels).mapInArrow(partial(_count_all, sent, columns, labels), "counts binary").collect()
    whole = tagger.evaluate([], [])
    for part in parts:
        whole.add(bytes(part.counts))
    return whole


_plans: Dict[str, ShardPlan] = {}  # of this worker


@dataclass(frozen=True)
class _Plan:
    """A plan as it travels: the bytes are broadcast, the key tells workers whether they have it."""

    how: Shards
    key: str
    sent: Any  # a broadcast of (model, observed)

    def get(self) -> ShardPlan:
        if self.key not in _plans:
            _plans.clear()
            model, observed = self.sent.value
            _plans[self.key] = ShardPlan(self.how.options, model, observed)
        return _plans[self.key]


def _on_table(work: Callable[[Any], bytes], table: Any) -> Any:
    import pyarrow

    shard = table["_shard"][0].as_py()
    data = work(table.drop_columns(["_shard"]))
    return pyarrow.table({"shard": pyarrow.array([shard], pyarrow.int32()), "data": pyarrow.array([data], pyarrow.binary())})


def _observe(how: Shards, words: Any, table: Any) -> bytes:
    return how.observe(None if words is None else words.value, table)


def _number(plan: _Plan, table: Any) -> bytes:
    return plan.how.number(plan.get(), table)


def _answer(plan: _Plan, step: Any, numbered: Tuple[int, bytes]) -> Tuple[int, bytes]:
    index, shard = numbered
    return index, plan.get().answer(index, shard, step.value)


def _observed(plan: _Plan, numbered: Tuple[int, bytes]) -> Tuple[int, bytes]:
    return numbered[0], plan.get().observed(numbered[1])


def _digest(numbered: Tuple[int, bytes]) -> Tuple[int, bytes]:
    return numbered[0], hashlib.blake2b(numbered[1]).digest()


def _add(plan: _Plan, group: Tuple[int, Iterable[Tuple[int, bytes]]]) -> Tuple[int, bytes]:
    return group[0], plan.get().add([answer for _, answer in sorted(group[1])])


def _in_order(parts: Iterable[Tuple[int, bytes]]) -> List[bytes]:
    return [part for _, part in sorted(parts)]


class _OnSpark:
    """Shards in the memory of executors, or on their disks."""

    def __init__(self, df: Any, how: Shards) -> None:
        from pyspark.sql import functions, types

        _check(df, [how.id, *how.tokens, how.labels])
        kind = df.schema[how.id].dataType
        whole = (types.ByteType, types.ShortType, types.IntegerType, types.LongType, types.StringType)
        if not isinstance(kind, whole):
            raise refuse(how.id, "whole numbers or strings", kind.simpleString())
        _check_lists(df, [*how.tokens, how.labels])
        self.how = how
        self.context = df.sparkSession.sparkContext
        shard = functions.crc32(functions.col(how.id).cast("string")) % how.shards
        rows = df.select(how.id, *how.tokens, how.labels).withColumn("_shard", shard.cast("int"))
        self.groups = rows.groupBy("_shard")
        self.table: Any = None
        self.kept: Any = None
        self.count = 0
        self.plan: Any = None
        self.broadcasts: List[Any] = []

    def send(self, value: Any) -> Any:
        """A broadcast that lasts as long as the run: what an executor loses may be made again with it."""
        self.broadcasts.append(self.context.broadcast(value))
        return self.broadcasts[-1]

    def tables(self, work: Callable[[Any], bytes]) -> Any:
        # A function without hints: Spark infers nothing from a partial one.
        return self.groups.applyInArrow(lambda table: _on_table(work, table), "shard int, data binary")

    def each_table(self, work: Callable[[Any], bytes]) -> List[bytes]:
        return _in_order((row.shard, bytes(row.data)) for row in self.tables(work).collect())

    def sent_plan(self, model: bytes, observed: Optional[bytes]) -> _Plan:
        key = hashlib.blake2b(model + (observed or b"") + repr(self.how).encode()).hexdigest()
        return _Plan(self.how, key, self.send((model, observed)))

    def count_words(self) -> List[bytes]:
        return self.each_table(self.how.count_words)

    def observe(self, words: Optional[bytes]) -> List[bytes]:
        sent = None if words is None else self.send(words)
        return self.each_table(partial(_observe, self.how, sent))

    def number(self, model: bytes) -> List[bytes]:
        from pyspark import StorageLevel

        self.model, self.plan = model, self.sent_plan(model, None)
        # Tables are made into shards once; what an executor loses is made again, the same.
        self.table = self.tables(partial(_number, self.plan)).persist(StorageLevel.DISK_ONLY)
        numbers = sorted(row.shard for row in self.table.select("shard").collect())
        self.count = len(numbers)
        ranks = {shard: rank for rank, shard in enumerate(numbers)}
        shards = self.table.rdd.map(lambda row: (ranks[row.shard], bytes(row.data)))
        self.kept = shards.partitionBy(self.count, lambda rank: rank).persist(StorageLevel.MEMORY_AND_DISK)
        return _in_order(self.kept.map(_digest).collect())

    def observed(self) -> List[bytes]:
        return _in_order(self.kept.map(partial(_observed, self.plan)).collect())

    def total(self, plan: ShardPlan, observed: Optional[bytes], step: bytes) -> bytes:
        if observed is not None and self.plan.sent.value[1] is None:
            self.plan = self.sent_plan(self.model, observed)
        sent = self.context.broadcast(step)
        try:
            return plan.total(self.answers(plan, sent))
        finally:
            sent.destroy()

    def answers(self, plan: ShardPlan, sent: Any) -> List[bytes]:
        answers, count = self.kept.map(partial(_answer, self.plan, sent)), self.count
        if count > plan.FAN:  # the first level of the sum, on the cluster
            count = -(-count // plan.FAN)
            fan = plan.FAN
            grouped = answers.map(lambda answer: (answer[0] // fan, answer)).groupByKey(count)
            answers = grouped.map(partial(_add, self.plan))
        return _in_order(answers.collect())

    def forget(self) -> None:
        for kept in [self.kept, self.table]:
            if kept is not None:
                kept.unpersist()
        while self.broadcasts:
            self.broadcasts.pop().destroy()


@lists_options("shards")
def train(
    df: Any,
    algorithm: str = "averaged",
    *,
    id: str = "id",
    tokens: _Columns = "tokens",
    labels: str = "labels",
    shards: int = SHARDS,
    callback: Optional[Callable[[Epoch], Any]] = None,
    checkpoint: Union[None, str, "PathLike[str]"] = None,
    resume: bool = False,
    **options: Unpack[ShardOptions],
) -> Tagger:
    """Learns from the rows of a DataFrame, where they are; the same model, to the last bit, whatever the number of executors, and
    as :func:`kbest.sharded.train` of the same rows on one machine.

    Perceptrons ("averaged", "perceptron", "pa") learn apart in each shard, and their weights are averaged after each pass
    (iterative parameter mixing). A "crf" adds up gradients, and the driver takes a step of L-BFGS.

    Args:
        df: columns of ids (whole numbers or strings, all different), tokens and labels (lists of strings).
        shards: how many parts learn apart: at least as many as there are cores. A row's shard depends on its id alone. The
            model depends on the number of shards.
        checkpoint: a file of the driver that is replaced after each pass; with ``resume`` training goes on from it.

    Everything else is as for :func:`kbest.sharded.train`.
    """
    how = Shards.of({"algorithm": algorithm, **options}, id=id, tokens=tokens, labels=labels, shards=shards)
    runner = _OnSpark(df, how)
    try:
        return run(how, runner, callback, checkpoint, resume)
    finally:
        runner.forget()
