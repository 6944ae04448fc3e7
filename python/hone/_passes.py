"""Passes of hone and of one's own, one after the other."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from hone._hone import Graph

Pass: TypeAlias = str | Callable[[Graph], Graph]


def run_passes(
    graph: Graph,
    passes: Sequence[Pass],
    options: Mapping[str, Sequence[str]] | None = None,
    *,
    after: Callable[[str, Graph], object] | None = None,
) -> Graph:
    """The graph after passes; this one stays.

    A pass is the name of one of hone's (list_passes()), or a function from a graph to a graph, which gets a copy. What a
    function gives is verified. `options` are hone's, as of Graph.after_passes(): {"smooth_quant.alpha": ["0.5"]}. `after`
    is called with the name of each pass and the graph that it gave.
    """
    texts = {name: [value] if isinstance(value, str) else list(value) for name, value in (options or {}).items()}
    for step in passes:
        name = step if isinstance(step, str) else getattr(step, "__name__", repr(step))
        graph = graph.after_passes([step], _of(step, texts)) if isinstance(step, str) else _own(step, name, graph)
        if after:
            after(name, graph)
    return graph


def _of(name: str, options: dict[str, list[str]]) -> dict[str, list[str]]:
    """Those of one pass: another one's are unknown to it."""
    return {key: value for key, value in options.items() if key.startswith(f"{name}.")}


def _own(step: Callable[[Graph], Graph], name: str, graph: Graph) -> Graph:
    try:
        made = step(graph.__copy__())
        if not isinstance(made, Graph):
            raise TypeError(f"a pass gives a hone.Graph, not {type(made).__name__}")
        made.verify()
    except Exception as error:
        error.add_note(f"in the pass {name}")
        raise
    return made
