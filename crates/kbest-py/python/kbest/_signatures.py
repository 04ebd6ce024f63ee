"""Signatures and documentation of functions whose keywords are the options of the library's tables."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Any, Callable, TypeVar

from ._kbest import options

_F = TypeVar("_F", bound=Callable[..., Any])


def _documented(option: Any) -> str:
    owners = f"{option['owners']}: " if option["owners"] else ""
    default = f" [default: {option['default_text']}]" if option["default_text"] else ""
    return f"    {option['name']} ({option['type']}): {owners}{option['help']}{default}\n"


def lists_options(of: str) -> Callable[[_F], _F]:
    """Shows the options of a table in the signature of a function that takes them as ``**options``, and in its documentation."""

    def listed(function: _F) -> _F:
        shown: Any = function
        if inspect.isbuiltin(function):  # which can carry no signature
            @wraps(function)
            def shown(*args: Any, **keywords: Any) -> Any:
                return function(*args, **keywords)

        kept = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
        known = {parameter.name for parameter in kept}
        added = [option for option in options(of) if option["name"] not in known]
        keywords = [inspect.Parameter(o["name"], inspect.Parameter.KEYWORD_ONLY, default=o["default"]) for o in added]
        shown.__signature__ = inspect.Signature([*kept, *keywords])
        about = inspect.getdoc(function) or ""
        shown.__doc__ = f"{about}\n\nOptions:\n{''.join(map(_documented, added))}"
        return shown  # type: ignore[no-any-return]

    return listed
