"""What a search does with a sequence, for people: :func:`kbest.explain` and :meth:`kbest.Tagger.explain`."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, List, Optional, Sequence

from ._kbest import Path, explain_scores


class Explanation:
    """What a search did with one sequence. Notebooks show it as a page (``_repr_html_``).

    Attributes:
        plan: which decoder ``auto`` chooses, and why, in words.
        decoder: the decoder that found the paths.
        exact: whether they are proven to be the best.
        paths: the k best paths.
        opened: (T,) how many labels the search looked at, per position.
        nodes, edges, rounds: how much work it was.
        marginals: (T, L) probabilities of labels.
        log_partition: logarithm of the sum of exp(score) over all paths.
        label_names, tokens: names to show, if known.
    """

    plan: str
    decoder: str
    exact: bool
    paths: List[Path]
    opened: Any
    nodes: int
    edges: int
    rounds: int
    marginals: Any
    log_partition: float

    def __init__(
        self,
        seen: Dict[str, Any],
        label_names: Optional[Sequence[str]] = None,
        tokens: Optional[Sequence[str]] = None,
    ) -> None:
        for name, value in seen.items():
            setattr(self, name, value)
        self.label_names = label_names
        self.tokens = tokens

    def _name(self, label: int) -> str:
        return str(label) if self.label_names is None else self.label_names[label]

    def __str__(self) -> str:
        positions, labels = self.marginals.shape
        lines = [self.plan.rstrip(), f"found by {self.decoder}{'' if self.exact else ', not proven'}"]
        lines.append(f"opened {self.nodes} of {positions * labels} nodes, read {self.edges} edges")
        for rank, path in enumerate(self.paths):
            lines.append(f"{rank}  {path.score:.4f}  {' '.join(self._name(y) for y in path)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Explanation(decoder={self.decoder!r}, paths={len(self.paths)}, nodes={self.nodes})"

    def _repr_html_(self) -> str:
        positions, labels = self.marginals.shape
        head = "".join(
            f"<th>{escape(str(t) if self.tokens is None else str(self.tokens[t]))}</th>" for t in range(positions)
        )
        rows = []
        for rank, path in enumerate(self.paths):
            cells = []
            for t, y in enumerate(path):
                probability = float(self.marginals[t, y])
                cells.append(
                    f'<td style="background:rgba(70,130,180,{probability:.2f})" title="{probability:.4f}">'
                    f"{escape(self._name(y))}</td>"
                )
            rows.append(f"<tr><th>{rank}</th><td>{path.score:.4f}</td>{''.join(cells)}</tr>")
        opened = "".join(
            f'<td><div style="width:3em;background:#eee"><div style="width:{100 * int(n) / max(labels, 1):.1f}%;'
            f'background:#c60;white-space:nowrap">{int(n)}</div></div></td>'
            for n in self.opened
        )
        share = 100 * self.nodes / max(positions * labels, 1)
        return (
            f"<p>{escape(self.plan)}</p>"
            f"<p>Found by <b>{escape(self.decoder)}</b>{'' if self.exact else ', not proven'}: opened {self.nodes:,} of "
            f"{positions * labels:,} nodes ({share:.1f} %), read {self.edges:,} edges. "
            f"Darker labels are more probable.</p>"
            f"<table><tr><th></th><th>score</th>{head}</tr>{''.join(rows)}"
            f"<tr><th colspan=2>opened labels</th>{opened}</tr></table>"
        )


def explain(
    node: Any,
    edge: Any,
    *,
    k: int = 3,
    start: Any = None,
    end: Any = None,
    allowed: Any = None,
    forced: Any = None,
    label_names: Optional[Sequence[str]] = None,
    constraints: Any = None,
    decoder: str = "auto",
    dtype: Any = None,
    tokens: Optional[Sequence[str]] = None,
) -> Explanation:
    """What the search does with one sequence of scores: plan, opened labels, k best paths, probabilities.

    Takes what :func:`kbest.decode` takes for a single sequence; ``tokens`` are shown above the labels.

    >>> import kbest
    >>> seen = kbest.explain([[1.0, 0.0], [4.0, 0.0]], None, k=2, label_names=["N", "V"])
    >>> [path.labels.tolist() for path in seen.paths]
    [[0, 0], [1, 0]]
    """
    names = None if label_names is None else list(label_names)
    seen = explain_scores(
        node,
        edge,
        k=k,
        start=start,
        end=end,
        allowed=allowed,
        forced=forced,
        label_names=names,
        constraints=constraints,
        decoder=decoder,
        dtype=dtype,
    )
    return Explanation(seen, names, tokens)


def explain_tokens(tagger: Any, tokens: Any, k: int, known: Any) -> Explanation:
    """The same for a tagger."""
    tokens = list(tokens)
    seen = tagger._explain(tokens, k, known)  # refuses what is no token
    shown = [token if isinstance(token, str) else next(iter(token), "") if isinstance(token, (list, tuple)) else str(t)
             for t, token in enumerate(tokens)]
    return Explanation(seen, tagger.labels, shown)
