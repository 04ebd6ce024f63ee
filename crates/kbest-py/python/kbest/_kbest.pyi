"""Types of the extension module. The documentation is in the docstrings of the module itself."""

from os import PathLike
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Unpack

from ._explain import Explanation
from ._keywords import TaggerOptions, TrainOptions

_Path = Union[str, "PathLike[str]"]
_Rules = Union[None, str, "PathLike[str]", Sequence[str]]
_Token = Union[str, float, Sequence[str], Sequence[float], Mapping[str, Any], NDArray[Any]]
_Tokens = Union[Iterable[_Token], NDArray[Any]]
_Known = Optional[Sequence[Optional[str]]]
_Spans = Optional[Sequence[Any]]

__version__: str

@final
class Edges:
    def __new__(
        cls,
        edge: Any,
        *,
        label_names: Optional[Sequence[str]] = None,
        constraints: _Rules = None,
        order: Any = None,
        dtype: Any = None,
    ) -> Edges: ...
    @property
    def labels(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> str: ...

@final
class SparseEdges:
    def __new__(cls, labels: int, from_: Any, to: Any, value: Any, base: float = 0.0) -> SparseEdges: ...
    @staticmethod
    def from_scipy(matrix: Any, base: float = ...) -> SparseEdges: ...
    @property
    def labels(self) -> int: ...
    @property
    def base(self) -> float: ...
    def __len__(self) -> int: ...

@final
class ClassEdges:
    def __new__(
        cls,
        class_from: Any,
        class_to: Any,
        base: Any,
        from_: Any = None,
        to: Any = None,
        value: Any = None,
    ) -> ClassEdges: ...
    @property
    def labels(self) -> int: ...
    def __len__(self) -> int: ...

@final
class Path:
    @property
    def labels(self) -> NDArray[np.int32]: ...
    @property
    def score(self) -> float: ...
    @property
    def exact(self) -> bool: ...
    @property
    def decoder(self) -> str: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Tuple[Any, Tuple[NDArray[np.int32], float, bool, str]]: ...
    @staticmethod
    def _restore(labels: Sequence[int], score: float, exact: bool, decoder: str) -> Path: ...

@final
class PathIterator:
    def __iter__(self) -> PathIterator: ...
    def __next__(self) -> Path: ...

@final
class Marginals:
    @property
    def node(self) -> NDArray[np.float64]: ...
    @property
    def log_partition(self) -> float: ...
    @property
    def edge(self) -> Optional[NDArray[np.float64]]: ...
    @property
    def path_log_probability(self) -> Optional[float]: ...
    @property
    def labels(self) -> NDArray[np.int32]: ...

def decode(
    node: Any,
    edge: Any,
    *,
    k: int = 1,
    lengths: Any = None,
    mask: Any = None,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced: Any = None,
    label_names: Optional[Sequence[str]] = None,
    constraints: _Rules = None,
    decoder: str = "auto",
    dtype: Any = None,
    threads: int = 0,
) -> Any: ...  # Path, List[Path] or a list of either: it depends on the values of node and k
def kbest_iter(
    node: Any,
    edge: Any,
    *,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced: Any = None,
    label_names: Optional[Sequence[str]] = None,
    constraints: _Rules = None,
    dtype: Any = None,
    unique_by: Any = None,
) -> PathIterator: ...
def path_score(
    node: Any,
    edge: Any,
    path: Any,
    *,
    lengths: Any = None,
    mask: Any = None,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced: Any = None,
    label_names: Optional[Sequence[str]] = None,
    constraints: _Rules = None,
    dtype: Any = None,
) -> Any: ...  # float, or an array for a batch
def marginals(
    node: Any,
    edge: Any,
    *,
    lengths: Any = None,
    mask: Any = None,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced: Any = None,
    label_names: Optional[Sequence[str]] = None,
    constraints: _Rules = None,
    dtype: Any = None,
    threads: int = 0,
    pairs: bool = False,
    path: Any = None,
) -> Any: ...  # Marginals, or a list of them for a batch
def log_partition(
    node: Any,
    edge: Any,
    *,
    lengths: Any = None,
    mask: Any = None,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced: Any = None,
    label_names: Optional[Sequence[str]] = None,
    constraints: _Rules = None,
    dtype: Any = None,
    threads: int = 0,
) -> Any: ...  # float, or an array for a batch
def batch_gradients(
    node: Any,
    edge: Any,
    *,
    lengths: Any = None,
    start: Any = None,
    end: Any = None,
    weights: Optional[Sequence[float]] = None,
    threads: int = 0,
) -> Any: ...  # log Z, and the gradients of node and edge scores or None
def decoders() -> List[Dict[str, Any]]: ...
def explain_scores(
    node: Any,
    edge: Any,
    *,
    k: int = 3,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced: Any = None,
    label_names: Optional[Sequence[str]] = None,
    constraints: _Rules = None,
    decoder: str = "auto",
    dtype: Any = None,
) -> Dict[str, Any]: ...
@final
class Segmentation:
    @property
    def segments(self) -> NDArray[np.int32]: ...
    @property
    def labels(self) -> NDArray[np.int32]: ...
    @property
    def score(self) -> float: ...
    @property
    def exact(self) -> bool: ...
    @property
    def decoder(self) -> str: ...

@final
class SegmentationIterator:
    def __iter__(self) -> SegmentationIterator: ...
    def __next__(self) -> Segmentation: ...

@final
class SegmentMarginals:
    @property
    def node(self) -> NDArray[np.float64]: ...
    @property
    def boundary(self) -> NDArray[np.float64]: ...
    @property
    def log_partition(self) -> float: ...

def segments_decode(
    node: Any,
    edge: Any,
    *,
    k: int = 1,
    duration: Any = None,
    segment: Any = None,
    longest: Any = None,
    lengths: Any = None,
    mask: Any = None,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced_segments: _Spans = None,
    forbidden_segments: _Spans = None,
    decoder: str = "auto",
    dtype: Any = None,
    threads: int = 0,
) -> Any: ...
def segments_kbest_iter(
    node: Any,
    edge: Any,
    *,
    duration: Any = None,
    segment: Any = None,
    longest: Any = None,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced_segments: _Spans = None,
    forbidden_segments: _Spans = None,
    dtype: Any = None,
) -> SegmentationIterator: ...
def segments_path_score(
    node: Any,
    edge: Any,
    segments: Any,
    *,
    duration: Any = None,
    segment: Any = None,
    longest: Any = None,
    lengths: Any = None,
    mask: Any = None,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    dtype: Any = None,
) -> Any: ...
def segments_marginals(
    node: Any,
    edge: Any,
    *,
    duration: Any = None,
    segment: Any = None,
    longest: Any = None,
    lengths: Any = None,
    mask: Any = None,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced_segments: _Spans = None,
    forbidden_segments: _Spans = None,
    dtype: Any = None,
    threads: int = 0,
) -> Any: ...
def segments_log_partition(
    node: Any,
    edge: Any,
    *,
    duration: Any = None,
    segment: Any = None,
    longest: Any = None,
    lengths: Any = None,
    mask: Any = None,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced_segments: _Spans = None,
    forbidden_segments: _Spans = None,
    dtype: Any = None,
    threads: int = 0,
) -> Any: ...
@final
class TaggedPath:
    @property
    def labels(self) -> List[str]: ...
    @property
    def score(self) -> float: ...
    @property
    def probability(self) -> Optional[float]: ...
    @property
    def confidences(self) -> Optional[NDArray[np.float64]]: ...
    @property
    def segments(self) -> Optional[List[Tuple[int, int, str]]]: ...

@final
class Evaluation:
    def __getitem__(self, name: str, /) -> float: ...
    def keys(self) -> List[str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    @property
    def labels(self) -> Dict[str, Dict[str, float]]: ...
    @property
    def spans(self) -> Optional[Dict[str, Dict[str, float]]]: ...
    def confusions(self, limit: int = 10) -> List[Tuple[str, str, int]]: ...
    def counts(self) -> bytes: ...
    def add(self, counts: bytes) -> None: ...

@final
class ArrowStream:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __len__(self) -> int: ...

@final
class Tagger:
    @staticmethod
    def load(path: _Path, **options: Unpack[TaggerOptions]) -> Tagger: ...
    @staticmethod
    def from_bytes(data: bytes, **options: Unpack[TaggerOptions]) -> Tagger: ...
    def using(self, **options: Unpack[TaggerOptions]) -> Tagger: ...
    def save(self, path: _Path) -> None: ...
    def save_safetensors(self, path: _Path) -> None: ...
    def to_bytes(self) -> bytes: ...
    def __reduce__(self) -> Tuple[Any, Tuple[bytes, Dict[str, Any]]]: ...
    @staticmethod
    def _restore(data: bytes, options: Dict[str, Any]) -> Tagger: ...
    @property
    def _options(self) -> Dict[str, Any]: ...
    @property
    def labels(self) -> Tuple[str, ...]: ...
    @property
    def tags(self) -> Tuple[str, ...]: ...
    @property
    def kind(self) -> str: ...
    @property
    def constraints(self) -> Tuple[str, ...]: ...
    @property
    def decoder(self) -> str: ...
    @property
    def features(self) -> str: ...
    @property
    def about(self) -> Dict[str, str]: ...
    @property
    def calibration(self) -> Optional[Tuple[float, List[Tuple[float, float]]]]: ...
    def calibrated(
        self, sequences: Iterable[_Tokens], labels: Iterable[Sequence[str]], *, threads: int = 0
    ) -> Tagger: ...
    def tag(self, tokens: _Tokens, *, known: _Known = None) -> List[str]: ...
    def tag_batch(self, sequences: Iterable[_Tokens], *, threads: int = 0) -> List[List[str]]: ...
    def kbest(
        self, tokens: _Tokens, k: int, *, known: _Known = None, probabilities: bool = False
    ) -> List[TaggedPath]: ...
    def marginals(self, tokens: _Tokens, *, known: _Known = None) -> NDArray[np.float64]: ...
    def segment_marginals(self, tokens: _Tokens, *, known: _Known = None) -> SegmentMarginals: ...
    def scores(self, tokens: _Tokens) -> NDArray[np.float32]: ...
    def spans(self, tokens: _Tokens, *, known: _Known = None) -> List[Tuple[int, int, str]]: ...
    def evaluate(
        self, sequences: Iterable[_Tokens], labels: Iterable[Sequence[str]], *, threads: int = 0
    ) -> Evaluation: ...
    def tag_arrow(
        self,
        batch: Any,
        column: Union[None, str, Sequence[str]] = None,
        *,
        k: int = 1,
        scores: bool = False,
        probabilities: bool = False,
        errors: str = "raise",
        longest: Optional[int] = None,
        threads: int = 0,
    ) -> Any: ...
    def explain(self, tokens: _Tokens, *, k: int = 3, known: _Known = None) -> Explanation: ...
    def _tag_arrow(
        self,
        stream: Any,
        columns: Sequence[str],
        k: int,
        scores: bool,
        probabilities: bool,
        errors: bool,
        longest: Optional[int],
        threads: int,
    ) -> ArrowStream: ...
    def _evaluate_arrow(self, stream: Any, columns: Sequence[str], labels: str, threads: int) -> Evaluation: ...
    def _explain(self, tokens: _Tokens, k: int, known: _Known = None) -> Dict[str, Any]: ...

@final
class ShardVocabulary:
    def __new__(cls, options: Dict[str, Any], template: Optional[str], columns: int) -> ShardVocabulary: ...
    @property
    def wants_words(self) -> bool: ...
    def words(self, stream: Any, columns: Sequence[str], labels: str) -> bytes: ...
    def words_to_bytes(self) -> bytes: ...
    def observe(self, stream: Any, columns: Sequence[str], labels: str) -> bytes: ...
    def absorb_words(self, counts: bytes) -> None: ...
    def absorb(self, counts: bytes) -> None: ...
    def freeze(self) -> bytes: ...

@final
class ShardPlan:
    FAN: int
    def __new__(cls, options: Dict[str, Any], model: bytes, observed: Optional[bytes] = None) -> ShardPlan: ...
    @property
    def depends_on(self) -> str: ...
    @property
    def wants_observed(self) -> bool: ...
    def number(self, stream: Any, columns: Sequence[str], labels: str) -> bytes: ...
    def observed(self, shard: bytes) -> bytes: ...
    def merge_observed(self, shards: Sequence[bytes]) -> bytes: ...
    def answer(self, index: int, shard: bytes, step: bytes) -> bytes: ...
    def add(self, answers: Sequence[bytes]) -> bytes: ...
    def total(self, answers: Sequence[bytes]) -> bytes: ...
    def train(
        self,
        run: Callable[[bytes], bytes],
        key: int,
        *,
        callback: Optional[Callable[[Epoch], Any]] = None,
        checkpoint: Optional[_Path] = None,
        resume: bool = False,
    ) -> Tagger: ...

@final
class Epoch:
    @property
    def epoch(self) -> int: ...
    @property
    def loss(self) -> float: ...
    @property
    def accuracy(self) -> Optional[float]: ...
    @property
    def dev_accuracy(self) -> Optional[float]: ...
    @property
    def best(self) -> bool: ...
    @property
    def seconds(self) -> float: ...
    def __reduce__(self) -> Tuple[Any, Tuple[int, float, Optional[float], Optional[float], bool, float]]: ...
    @staticmethod
    def _restore(
        epoch: int,
        loss: float,
        accuracy: Optional[float],
        dev_accuracy: Optional[float],
        best: bool,
        seconds: float,
    ) -> Epoch: ...

def train(
    X: Any,
    y: Any = None,
    *,
    algorithm: str = "averaged",
    dev: Any = None,
    callback: Optional[Callable[[Epoch], Any]] = None,
    checkpoint: Optional[_Path] = None,
    resume: bool = False,
    **options: Unpack[TrainOptions],
) -> Tagger: ...
def options(of: str = "train") -> List[Dict[str, Any]]: ...
