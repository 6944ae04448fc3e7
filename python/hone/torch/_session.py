"""A session as a function of torch's tensors."""

from __future__ import annotations

import threading
from typing import Any

import torch

import hone
from hone.torch import _weights
from hone.torch._importer import import_graph
from hone.torch._sizes import is_known


def physical_order(fake: torch.Tensor) -> list[int] | None:
    """Axes from the outermost in memory, where they do not lie in order and the elements lie close; None where they lie in order."""
    if fake.is_contiguous():
        return None
    order = sorted(range(fake.dim()), key=lambda axis: (-int_of(fake.stride(axis)), axis))
    return order if order != list(range(fake.dim())) else None


def int_of(size: Any) -> int:
    return int(size.node.hint) if isinstance(size, torch.SymInt) and size.node.hint is not None else int(size)


class Compiled:
    """A graph that hone takes whole. It is compiled when it is called first, since weights are known then."""

    def __init__(self, fx: torch.fx.Graph, options: dict[str, Any], weights: frozenset[str], name: str) -> None:
        self.fx = fx
        self.options = options
        self.name = name
        self.placeholders = [node for node in fx.nodes if node.op == "placeholder"]
        self.weight_places = [i for i, node in enumerate(self.placeholders) if node.name in weights]
        (output,) = [node for node in fx.nodes if node.op == "output"]
        results = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
        self.is_tuple = isinstance(output.args[0], (list, tuple))
        self.fakes = [node.meta["val"] for node in results]
        self.orders = [physical_order(fake) for fake in self.fakes]
        self.are_sizes_known = [all(is_known(size) for size in fake.shape) for fake in self.fakes]
        self.session: hone.Session | None = None
        self.stamps: dict[int, tuple[Any, ...]] = {}
        self.copies: dict[int, torch.Tensor] = {}  # of weights, where HONE_CHECK_WEIGHTS asks that bytes be compared
        self.lock = threading.Lock()

    def open(self, args: tuple[Any, ...]) -> None:
        parameters = {self.placeholders[i].name: args[i] for i in self.weight_places}
        graph, self.labels = import_graph(self.fx, parameters)
        self.session = hone.compile(graph, **self.options)
        self.given = [(i, label) for i, label in enumerate(self.labels) if label and i not in self.weight_places]
        self.note(args)

    def note(self, args: tuple[Any, ...]) -> None:
        self.stamps = {i: _weights.stamp(args[i]) for i in self.weight_places}
        if _weights.is_checked():
            self.copies = {i: args[i].detach().clone() for i in self.weight_places}

    def update(self, args: tuple[Any, ...]) -> None:
        assert self.session is not None
        changed = [i for i in self.weight_places if _weights.stamp(args[i]) != self.stamps.get(i)]
        for i, copy in self.copies.items():
            if i not in changed and not torch.equal(copy, args[i].detach()):
                raise hone.Error(f"weight {self.labels[i]} changed without a sign of it; call hone.torch.refresh() after such writes")
        if changed:
            self.session.set_parameters({self.labels[i]: args[i].detach() for i in changed})
            self.note(args)

    def outputs(self) -> dict[str, torch.Tensor] | None:
        """Memory with the strides that torch expects, where sizes are known."""
        made = {}
        for i, fake in enumerate(self.fakes):
            if self.are_sizes_known[i] and self.orders[i] is not None:
                made[f"y{i}"] = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype)
        return made or None

    def __call__(self, *args: Any) -> Any:
        if self.session is None or self.weight_places:
            with self.lock:
                if self.session is None:
                    self.open(args)
                else:
                    self.update(args)
        assert self.session is not None
        inputs = {label: args[i].detach() if args[i].requires_grad else args[i] for i, label in self.given}
        own = self.outputs()
        found = self.session.run(inputs, outputs=own) if own else self.session.run(inputs)
        results = []
        for i, order in enumerate(self.orders):
            label = f"y{i}"
            result = own[label] if own and label in own else found[label]
            if not isinstance(result, torch.Tensor):
                result = torch.from_dlpack(result)
            if order is not None and not (own and label in own):
                result = torch.empty_permuted(result.shape, order, dtype=result.dtype).copy_(result)
            results.append(result)
        return tuple(results) if self.is_tuple else results[0]
