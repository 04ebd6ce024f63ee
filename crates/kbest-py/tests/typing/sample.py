"""What users write, checked by `mypy --strict`."""

from typing import Any, Dict, List

import kbest
import kbest.compat
import kbest.segments
import numpy as np
from numpy.typing import NDArray

node: NDArray[np.float32] = np.zeros((3, 4), np.float32)
edges = kbest.Edges(np.zeros((4, 4), np.float32), label_names=["O", "B-X", "I-X", "B-Y"], constraints="auto")
path: kbest.Path = kbest.decode(node, edges)
labels: NDArray[np.int32] = path.labels
best: List[float] = [found.score for found in kbest.kbest_iter(node, edges)]
sums: kbest.Marginals = kbest.marginals(node, edges, pairs=True)
certain: float = float(sums.node.max()) + sums.log_partition
found: kbest.segments.Segmentation = kbest.segments.decode(node, edges, longest=2)


def stop(epoch: kbest.Epoch) -> bool:
    return epoch.loss > 0 and (epoch.dev_accuracy is None or epoch.best)


tagger: kbest.Tagger = kbest.train([["time", "flies"]], [["N", "V"]], callback=stop)
other: kbest.Tagger = kbest.train("train.tsv", algorithm="crf", c2=0.1, lexicon=None, format="jsonl", tag_decoder="viterbi")
kbest.train("train.tsv", c3=0.1)  # type: ignore[call-arg]
kbest.train("train.tsv", c2="much")  # type: ignore[arg-type]
other = kbest.Tagger.load("model", constraints=["auto"], decoder="auto").using(decoder="viterbi")
names: List[str] = tagger.tag(["time", "flies"], known=["N", None])
spans: List[Any] = tagger.spans(["time"])
seen: kbest.Explanation = kbest.explain(node, edges)
report: kbest.Evaluation = tagger.evaluate([["time"]], [["N"]])
figures: Dict[str, float] = {name: report[name] for name in report}
edges_by_class = kbest.ClassEdges([0, 0], [0, 1], [[0.0, 1.0]])
segments: kbest.Tagger = kbest.train([["a"]], [["B-X"]], algorithm="semi", checkpoint="run", resume=True)
boundaries: NDArray[np.float64] = segments.segment_marginals(["a"]).boundary
score: float = tagger.kbest(["time"], 2, probabilities=True)[0].score
try:
    kbest.decode(node, None)
except kbest.NoPathError as error:
    print(error.argument)
