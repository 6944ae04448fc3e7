"""torch.compile(model, backend="hone"): PyTorch's modules run and train through hone.

    fast = torch.compile(model, backend="hone", options={"compute": "bf16", "threads": 2})
    print(hone.torch.explain(model, x))

What hone does not take stays in torch: explain() says which operators, why, and how many bytes cross. options={"fallback": "error"} makes it
an error. Random numbers, dropout's too, stay torch's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd

import hone
from hone.torch._export import from_torch
from hone.torch._partition import GraphReport, partition
from hone.torch._private import weight_places
from hone.torch._report import Report
from hone.torch._session import Compiled
from hone.torch._weights import count_optimizer_steps, refresh

OPTIONS = ("compute", "threads", "device", "fallback", "cache", "no_fusion")
_log = logging.getLogger("hone.torch")


class Backend:
    """A backend with options of its own. `graphs` says what hone computes of each graph that it was given."""

    def __init__(self, **options: Any) -> None:
        unknown = sorted(set(options) - set(OPTIONS))
        if unknown:
            raise hone.Error(f"options {', '.join(unknown)}: unknown; known are {', '.join(OPTIONS)}")
        self.fallback = options.pop("fallback", "torch")
        if self.fallback not in ("torch", "error"):
            raise hone.Error(f'fallback "{self.fallback}": torch or error is needed')
        options.setdefault("threads", torch.get_num_threads())
        self.options = options
        self.graphs: list[GraphReport] = []

    def __call__(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        count_optimizer_steps()
        compiler = aot_autograd(fw_compiler=self.training, bw_compiler=self.training, inference_compiler=self.inference)
        return compiler(gm, example_inputs)

    def inference(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        return self.compiled(gm, weight_places())

    def training(self, gm: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        return self.compiled(gm, [])  # weights change with each step

    def compiled(self, gm: torch.fx.GraphModule, weights: list[int]) -> Callable[..., Any]:
        placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
        static = frozenset(placeholders[i].name for i in weights if isinstance(placeholders[i].meta.get("val"), torch.Tensor))
        fused, names, report = partition(gm, self.fallback == "error")
        self.graphs.append(report)
        if report.in_torch and self.fallback == "error":
            left = "; ".join(f"{name} ({report.in_torch[name]})" for name in sorted(report.in_torch))
            raise hone.Error(f'fallback="error": {len(report.in_torch)} operators would stay in torch: {left}')
        for name, why in sorted(report.in_torch.items()):
            _log.info("%s stays in torch: %s", name, why)
        calls = [node for node in fused.graph.nodes if node.op == "call_module"]
        for name in names:
            part = getattr(fused, name)
            (call,) = [node for node in calls if node.target == name]
            inner = [node for node in part.graph.nodes if node.op == "placeholder"]
            own = frozenset(place.name for place, given in zip(inner, call.args) if getattr(given, "name", None) in static)
            setattr(fused, name, Part(Compiled(part.graph, dict(self.options), own, name)))
        return make_boxed_func(whole(fused) or fused.forward)


class Part(torch.nn.Module):
    """A part of a graph that hone computes."""

    def __init__(self, compiled: Compiled) -> None:
        super().__init__()
        self.compiled = compiled

    def forward(self, *args: Any) -> Any:
        return self.compiled(*args)


def whole(fused: torch.fx.GraphModule) -> Callable[..., Any] | None:
    """The one part that is all of the graph, with inputs and outputs in the same order; None where there is more."""
    calls = [node for node in fused.graph.nodes if node.op not in ("placeholder", "output")]
    if len(calls) != 1 or calls[0].op != "call_module":
        return None
    (output,) = [node for node in fused.graph.nodes if node.op == "output"]
    placeholders = [node for node in fused.graph.nodes if node.op == "placeholder"]
    if list(output.args[0]) != [calls[0]]:
        return None
    compiled = getattr(fused, str(calls[0].target)).compiled
    places = [placeholders.index(node) for node in calls[0].args]
    if places == list(range(len(placeholders))):
        return lambda *args: [compiled(*args)]
    return lambda *args: [compiled(*(args[i] for i in places))]


def backend(gm: torch.fx.GraphModule, example_inputs: list[Any], *, options: dict[str, Any] | None = None, mode: str | None = None) -> Callable[..., Any]:
    """What torch.compile(backend="hone") calls."""
    if mode not in (None, "default"):
        raise hone.Error(f'mode "{mode}": hone has none; options say how it compiles: {", ".join(OPTIONS)}')
    return Backend(**(options or {}))(gm, example_inputs)


def explain(model: Callable[..., Any], *args: Any, options: dict[str, Any] | None = None, **kwargs: Any) -> Report:
    """Compiles a model for these inputs and runs it once: what hone computes, what stays in torch, and why."""
    torch._dynamo.reset()
    own = Backend(**(options or {}))
    torch.compile(model, backend=own)(*args, **kwargs)
    return Report(own.graphs)


__all__ = ["Backend", "GraphReport", "Report", "backend", "explain", "from_torch", "refresh"]
