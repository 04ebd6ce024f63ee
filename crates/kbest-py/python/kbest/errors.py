"""The exceptions of kbest.

Each is a :class:`KbestError` and, where there is one, the built-in exception that Python programmers expect. ``argument`` is
the name of the argument that is wrong, if it is one.

>>> import kbest, numpy as np
>>> try:
...     kbest.decode(np.array([[0.0, np.nan]]), None)
... except ValueError as error:
...     print(type(error).__name__, error.argument)
ScoreError node
"""

from __future__ import annotations

from typing import Optional


class KbestError(Exception):
    """Any error of kbest."""

    argument: Optional[str] = None


class ShapeError(KbestError, ValueError):
    """An array of the wrong shape."""


class DtypeError(KbestError, TypeError):
    """An array of the wrong type, or something that is no array."""


class ScoreError(KbestError, ValueError):
    """A score that is NaN or plus infinity."""


class NoPathError(KbestError, ValueError):
    """Every path is forbidden."""


class ArgumentError(KbestError, ValueError):
    """An argument with an illegal value, or an unknown name."""


class KeywordError(KbestError, TypeError):
    """A keyword that the function does not have."""


class LabelError(KbestError, ValueError):
    """A label that is not below the number of labels."""


class UnsupportedError(KbestError, ValueError):
    """The decoder cannot do what was asked."""


class DataError(KbestError, ValueError):
    """A file that does not follow its format."""


class FileError(KbestError, OSError):
    """The operating system could not read or write a file."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""
