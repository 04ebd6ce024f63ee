"""CRF layers for torch: exact losses, gradients and decoding, on a GPU and on a processor.

>>> import torch
>>> from kbest.torch import CRF
>>> crf = CRF(5, batch_first=True)
>>> emissions = torch.randn(2, 7, 5, requires_grad=True)
>>> loss = -crf(emissions, torch.zeros(2, 7, dtype=torch.long))
>>> loss.backward()
>>> [len(labels) for labels in crf.decode(emissions)]
[7, 7]

:class:`CRF` has the interface of pytorch-crf, and more; the functions beside it take scores instead of a module's. Tensors on
a GPU are computed there by Triton kernels, those in main memory by the Rust library. ``import kbest`` does not import torch.
"""

from .crf import CRF
from .functional import (
    decode,
    entropy,
    kbest,
    log_likelihood,
    log_partition,
    marginals,
    max_margin,
    partial_log_likelihood,
    path_score,
    perceptron,
    sample,
)

__all__ = [
    "CRF",
    "decode",
    "entropy",
    "kbest",
    "log_likelihood",
    "log_partition",
    "marginals",
    "max_margin",
    "partial_log_likelihood",
    "path_score",
    "perceptron",
    "sample",
]
