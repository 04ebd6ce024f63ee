"""Training in shards: many parts of the data learn apart, and their weights or gradients are added up.

Which sequence is in which shard depends on its id alone, and everything is added in the order of the shards, so that the result
is the same to the last bit wherever the shards run: here, on the threads of one machine, or on a cluster (:mod:`kbest.spark`).

>>> import kbest.sharded, pyarrow
>>> table = pyarrow.table({
...     "id": [1, 2, 3],
...     "tokens": [["the", "old", "man"], ["the", "boats"], ["old", "boats"]],
...     "labels": [["DET", "ADJ", "NOUN"], ["DET", "NOUN"], ["ADJ", "NOUN"]],
... })
>>> tagger = kbest.sharded.train(table, algorithm="crf", shards=2, epochs=30)
>>> tagger.tag(["the", "old", "boats"])
['DET', 'ADJ', 'NOUN']
"""

from __future__ import annotations

import hashlib
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike, cpu_count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Protocol, Sequence, Tuple, Union

from ._kbest import Epoch, ShardPlan, ShardVocabulary, Tagger
from ._signatures import lists_options
from .errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import ShardOptions

__all__ = ["Shards", "train"]

#: By default; more than a small cluster has cores, and few enough to learn well.
SHARDS = 16


def refuse(argument: str, expected: str, got: object) -> ArgumentError:
    """The exception for an argument."""
    error = ArgumentError(f"{argument}: expected {expected}, got {got}")
    error.argument = argument
    return error


def columns_of(argument: str, names: Union[str, Sequence[str]]) -> Tuple[str, ...]:
    """One name, or several."""
    columns = (names,) if isinstance(names, str) else tuple(names or ())
    if not columns or not all(isinstance(name, str) and name for name in columns):
        raise refuse(argument, "the name of a column, or a list of names", repr(names))
    return columns


def check_columns(argument: str, there: Sequence[str], names: Iterable[str]) -> None:
    """Refuses a table that lacks a column."""
    for name in names:
        if name not in there:
            raise refuse(argument, f"a column `{name}`", ", ".join(there) or "no columns")


def shard_of(id: Union[int, str], shards: int) -> int:
    """The shard of a sequence: CRC-32 of its id as text, which Spark computes, too."""
    return zlib.crc32(str(id).encode()) % shards


@dataclass(frozen=True)
class Shards:
    """What a run in shards is: columns and options. Small, and can be pickled."""

    options: Dict[str, Any]
    id: str
    tokens: Tuple[str, ...]
    labels: str
    shards: int
    template: Optional[str]  # its text

    @staticmethod
    def of(
        options: Dict[str, Any], *, id: str, tokens: Union[str, Sequence[str]], labels: str, shards: int
    ) -> "Shards":
        """Checks what can be checked before any data is read."""
        if shards < 1:
            raise refuse("shards", "at least 1", shards)
        template = options.pop("template", None)
        text = None if template is None else Path(template).read_text(encoding="utf-8")
        columns = columns_of("tokens", tokens)
        columns_of("id", id)
        columns_of("labels", labels)
        if labels in columns:
            raise refuse("labels", "another column than the tokens", f"`{labels}`")
        how = Shards(options, id, columns, labels, shards, text)
        how.vocabulary()
        return how

    def vocabulary(self, words: Optional[bytes] = None) -> ShardVocabulary:
        """An empty one, or one that knows the word counts."""
        vocabulary = ShardVocabulary(self.options, self.template, len(self.tokens))
        if words is not None:
            vocabulary.absorb_words(words)
        return vocabulary

    def ordered(self, table: Any) -> Any:
        """The rows of a shard in the order of their ids, which must differ."""
        table = table.sort_by(self.id)
        ids = table[self.id]
        if ids.null_count:
            raise refuse(self.id, "an id in every row", "null")
        if len(ids) > 1:
            import pyarrow.compute as compute

            same = compute.equal(ids.slice(1).combine_chunks(), ids.slice(0, len(ids) - 1).combine_chunks())
            if compute.any(same).as_py():
                twice = ids.slice(1).combine_chunks().filter(same)[0].as_py()
                raise refuse(self.id, "ids that differ", f"{twice!r} twice")
        return table

    def count_words(self, table: Any) -> bytes:
        """The word counts of a shard."""
        return self.vocabulary().words(self.ordered(table), list(self.tokens), self.labels)

    def observe(self, words: Optional[bytes], table: Any) -> bytes:
        """The labels and features of a shard."""
        return self.vocabulary(words).observe(self.ordered(table), list(self.tokens), self.labels)

    def number(self, plan: ShardPlan, table: Any) -> bytes:
        """A shard as the plan numbers it."""
        return plan.number(self.ordered(table), list(self.tokens), self.labels)


class Runner(Protocol):
    """Where the shards are."""

    def count_words(self) -> List[bytes]:
        """The word counts of all shards, in order."""

    def observe(self, words: Optional[bytes]) -> List[bytes]:
        """The labels and features of all shards, in order."""

    def number(self, model: bytes) -> List[bytes]:
        """Numbers all shards and keeps them; returns a digest of each, in order."""

    def observed(self) -> List[bytes]:
        """What all numbered shards observe, in order."""

    def total(self, plan: ShardPlan, observed: Optional[bytes], step: bytes) -> bytes:
        """The sum of the answers of all shards."""


def run(
    how: Shards,
    runner: Runner,
    callback: Optional[Callable[[Epoch], Any]],
    checkpoint: Union[None, str, "PathLike[str]"],
    resume: bool,
) -> Tagger:
    """Numbers labels and features, then trains."""
    if resume and checkpoint is None:
        raise refuse("resume", "a checkpoint to resume from", "none")
    words: Optional[bytes] = None
    vocabulary = how.vocabulary()
    if vocabulary.wants_words:
        for counts in runner.count_words():
            vocabulary.absorb_words(counts)
        words = vocabulary.words_to_bytes()
    for counts in runner.observe(words):
        vocabulary.absorb(counts)
    model = vocabulary.freeze()
    digests = runner.number(model)
    plan, observed = ShardPlan(how.options, model), None
    if plan.wants_observed:
        observed = plan.merge_observed(runner.observed())
        plan = ShardPlan(how.options, model, observed)
    key = hashlib.blake2b(f"{plan.depends_on} {how.shards}".encode(), digest_size=8)
    for part in [model, *digests]:
        key.update(hashlib.blake2b(part).digest())
    return plan.train(
        lambda step: runner.total(plan, observed, step),
        int.from_bytes(key.digest(), "little"),
        callback=callback,
        checkpoint=checkpoint,
        resume=resume,
    )


class _Here:
    """Shards in memory, on threads: everything that takes long lets go of the interpreter."""

    def __init__(self, how: Shards, table: Any, threads: int) -> None:
        check_columns("table", table.column_names, [how.id, *how.tokens, how.labels])
        self.how = how
        self.pool = ThreadPoolExecutor(threads)
        rows: Dict[int, List[int]] = {}
        for row, id in enumerate(table[how.id].to_pylist()):
            if isinstance(id, bool) or not isinstance(id, (int, str)):
                raise refuse(how.id, "whole numbers or strings", repr(id))
            rows.setdefault(shard_of(id, how.shards), []).append(row)
        self.tables = [table.take(rows[shard]) for shard in sorted(rows)]
        self.shards: List[bytes] = []

    def each(self, work: Callable[..., bytes], *items: Sequence[Any]) -> List[bytes]:
        return list(self.pool.map(work, *items))

    def count_words(self) -> List[bytes]:
        return self.each(self.how.count_words, self.tables)

    def observe(self, words: Optional[bytes]) -> List[bytes]:
        return self.each(lambda table: self.how.observe(words, table), self.tables)

    def number(self, model: bytes) -> List[bytes]:
        self.plan = ShardPlan(self.how.options, model)
        self.shards = self.each(lambda table: self.how.number(self.plan, table), self.tables)
        return [hashlib.blake2b(shard).digest() for shard in self.shards]

    def observed(self) -> List[bytes]:
        return self.each(self.plan.observed, self.shards)

    def total(self, plan: ShardPlan, observed: Optional[bytes], step: bytes) -> bytes:
        numbers = range(len(self.shards))
        return plan.total(self.each(lambda i, shard: plan.answer(i, shard, step), numbers, self.shards))


@lists_options("shards")
def train(
    table: Any,
    algorithm: str = "averaged",
    *,
    id: str = "id",
    tokens: Union[str, Sequence[str]] = "tokens",
    labels: str = "labels",
    shards: int = SHARDS,
    callback: Optional[Callable[[Epoch], Any]] = None,
    checkpoint: Union[None, str, "PathLike[str]"] = None,
    resume: bool = False,
    threads: int = 0,
    **options: Unpack[ShardOptions],
) -> Tagger:
    """Learns from a pyarrow Table in shards, on one machine: the same model as :func:`kbest.spark.train` of the same rows.

    Args:
        table: columns of ids (whole numbers or strings, all different), tokens and labels (lists of strings).
        algorithm: "averaged", "perceptron", "pa" or "crf".
        id, tokens, labels: names of columns; several columns of tokens as a list.
        shards: how many; the result depends on it, but not on threads.
        threads: 0 means all cores.

    Everything else is as for :func:`kbest.train`.
    """
    how = Shards.of({"algorithm": algorithm, **options}, id=id, tokens=tokens, labels=labels, shards=shards)
    here = _Here(how, table, threads or cpu_count() or 1)
    with here.pool:
        return run(how, here, callback, checkpoint, resume)
