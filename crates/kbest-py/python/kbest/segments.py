"""Segments instead of single positions: the same questions, asked of semi-Markov models.

>>> import kbest.segments
>>> kbest.segments.decode([[1.0, 0.0], [1.0, 0.0], [0.0, 3.0]], [[-1.0, -1.0], [-1.0, -1.0]])
Segmentation(segments=[[0, 2, 0], [2, 3, 1]], score=4.0, exact=True)
"""

from ._kbest import Segmentation, SegmentationIterator, SegmentMarginals
from ._kbest import segments_decode as decode
from ._kbest import segments_kbest_iter as kbest_iter
from ._kbest import segments_log_partition as log_partition
from ._kbest import segments_marginals as marginals
from ._kbest import segments_path_score as path_score

__all__ = [
    "SegmentMarginals",
    "Segmentation",
    "SegmentationIterator",
    "decode",
    "kbest_iter",
    "log_partition",
    "marginals",
    "path_score",
]
