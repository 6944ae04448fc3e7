"""A graph of torch.fx in functional ATen as a graph of hone: one importer, keyed by overload."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

import hone
from hone.torch import _gradients, _moves, _pointwise, _products, _rows, _windows
from hone.torch._emit import Arg, Emit
from hone.torch._rules import RULES
from hone.torch._sizes import Unsupported, type_text

_ = _gradients, _moves, _pointwise, _products, _rows, _windows  # they fill RULES


def overload(node: Node) -> str:
    """`aten.add.Tensor`."""
    return str(node.target)


def is_tensor(node: Any) -> bool:
    return isinstance(node, Node) and isinstance(node.meta.get("val"), torch.Tensor)


def is_getitem(node: Node) -> bool:
    return getattr(node.target, "__name__", "") == "getitem"


def tensors_of(node: Node) -> list[torch.Tensor]:
    """What the node gives."""
    value = node.meta.get("val")
    return [x for x in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(x, torch.Tensor)]


def tensor_operands(node: Node) -> list[Node]:
    return [x for x in node.all_input_nodes if is_tensor(x)]


def emit_node(graph: hone.Graph, node: Node, values: dict[Node, Any]) -> Any:
    """The node's value, or values, in the graph. Unsupported says why there is none."""
    rule = RULES.get(overload(node))
    if rule is None:
        raise Unsupported("the operator is not known")
    out = node.meta.get("val")
    for fake in out if isinstance(out, (list, tuple)) else [out]:
        if isinstance(fake, torch.Tensor):
            type_text(fake)  # of an element type, layout and sizes that hone has
            if fake.device.type not in ("cpu", "meta"):
                raise Unsupported(f"a tensor on {fake.device}")

    def argument(x: Any) -> Any:
        if is_tensor(x):
            return Arg(values[x], x.meta["val"])
        return x

    def arguments(x: Any) -> Any:
        return [argument(item) for item in x] if isinstance(x, (list, tuple)) else argument(x)

    emit = Emit(graph, overload(node).split(".")[1], out)
    try:
        return rule(emit, *map(arguments, node.args), **{key: arguments(value) for key, value in node.kwargs.items()})
    except (hone.Error, TypeError) as error:
        raise Unsupported(str(error).splitlines()[0]) from error


def chosen(results: Any, node: Node) -> Any:
    """One of several results. Some are computed only where they are read."""
    place = node.args[1]
    result = results[place]
    if result is None:
        raise Unsupported(f"result {place} of {overload(node.args[0])}")
    return result() if callable(result) else result


def why_not(node: Node) -> str | None:
    """Why hone does not take the node: None where it does."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return None if node.op == "call_function" and is_getitem(node) else "no operator"
    try:
        graph, values = hone.Graph(), {}
        for i, operand in enumerate(tensor_operands(node)):
            values[operand] = graph.add_input(f"x{i}", type_text(operand.meta["val"]))
            dtype = operand.meta["val"].dtype
            if dtype == torch.float64 and operand.meta["val"].dim() > 0:
                raise Unsupported("elements of torch.float64")
        out = node.meta.get("val")
        if isinstance(out, torch.Tensor) and out.dtype == torch.float64 and out.dim() > 0:
            raise Unsupported("a result of torch.float64")
        results = emit_node(graph, node, values)
        for user in node.users:
            if isinstance(results, list) and is_getitem(user):
                chosen(results, user)
    except Unsupported as reason:
        return str(reason)
    return None


def import_graph(fx: torch.fx.Graph, parameters: dict[str, torch.Tensor], constants: dict[str, tuple[str, torch.Tensor]] | None = None) -> tuple[hone.Graph, list[str]]:
    """A graph, all of whose nodes hone takes, with outputs y0, y1, ...; and the labels of its inputs by placeholder, "" for a size. Inputs in
    `parameters` are the session's; those in `constants` are constants under a name. Unsupported names the operator that hone does not take."""
    graph = hone.Graph("compiled")
    values: dict[Node, Any] = {}
    labels: list[str] = []
    for node in fx.nodes:
        if node.op == "placeholder":
            if not is_tensor(node):
                labels.append("")
                continue
            label = node.name
            if constants and label in constants:
                name, tensor = constants[label]
                values[node] = graph.add_constant(tensor.contiguous(), name)
            elif label in parameters:
                values[node] = graph.add_parameter(label, parameters[label].detach())
            else:
                values[node] = graph.add_input(label, type_text(node.meta["val"]))
            labels.append(label)
        elif node.op == "call_function":
            try:
                if is_getitem(node):
                    values[node] = chosen(values[node.args[0]], node)
                elif tensors_of(node):
                    values[node] = emit_node(graph, node, values)
            except Unsupported as reason:
                raise Unsupported(f"{overload(node)}: {reason}") from reason
        elif node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
            for i, result in enumerate(results):
                graph.add_output(values[result], f"y{i}")
    return graph, labels


