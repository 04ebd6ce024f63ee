"""Keywords and their types, written from the tables of options by tests/suite/options.rs of the library (KBEST_UPDATE=1)."""

from os import PathLike
from typing import Optional, Sequence, TypedDict, Union

Path = Union[str, "PathLike[str]"]


class TaggerOptions(TypedDict, total=False):
    """Keywords of taggers."""

    constraints: Union[None, Path, Sequence[Path]]
    decoder: Optional[str]


class RecipeOptions(TypedDict, total=False):
    """Keywords of training algorithms."""

    seed: Optional[int]
    threads: Optional[int]
    runs: Optional[int]
    decoder: Optional[str]
    agreement: Optional[str]
    longest: Optional[float]
    optimizer: Optional[str]
    c1: Optional[float]
    c2: Optional[float]
    rate: Optional[float]
    batch: Optional[int]
    smoothing: Optional[float]
    states: Optional[int]
    kernel: Optional[str]
    loss: Optional[str]
    C: Optional[float]
    gap: Optional[float]
    budget: Optional[int]
    all_states: bool
    all_transitions: bool
    no_averaging: bool
    segments: Optional[str]
    longest_segment: Optional[int]
    lexicon: Union[None, Path, Sequence[Path]]
    lines: Optional[int]
    segment_features: Optional[Sequence[str]]
    template: Optional[Path]
    features: Optional[str]
    min_frequency: Optional[int]
    epochs: Optional[int]
    patience: Optional[int]
    dev_by: Optional[str]
    prune: Optional[float]
    keep_features: bool


class ShardOptions(TypedDict, total=False):
    """Keywords of functions that train in shards."""

    seed: Optional[int]
    decoder: Optional[str]
    agreement: Optional[str]
    longest: Optional[float]
    optimizer: Optional[str]
    c1: Optional[float]
    c2: Optional[float]
    all_states: bool
    all_transitions: bool
    template: Optional[Path]
    features: Optional[str]
    min_frequency: Optional[int]
    epochs: Optional[int]
    constraints: Union[None, Path, Sequence[Path]]
    tag_decoder: Optional[str]


class TrainOptions(RecipeOptions, total=False):
    """Keywords of `kbest.train`."""

    format: Optional[str]
    label: Optional[str]
    fields: Optional[Sequence[str]]
    tabs: bool
    colon_words: bool
    constraints: Union[None, Path, Sequence[Path]]
    tag_decoder: Optional[str]
