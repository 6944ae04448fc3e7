"""Which nodes of a graph hone computes, and which stay in torch, and why."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch.fx import Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from hone.torch._importer import is_getitem, is_tensor, overload, tensors_of, why_not
from hone.torch._moves import VIEWS

# A session's call costs more than a few small operators of torch do.
LEAST_NODES = 3
HEAVY = ("mm", "bmm", "addmm", "linear", "convolution", "conv", "attention", "norm", "softmax", "embedding", "pool", "cumsum", "topk", "sum", "mean")


@dataclass
class GraphReport:
    """A graph that torch.compile gave: what hone computes of it."""

    in_hone: int = 0
    in_torch: dict[str, str] = field(default_factory=dict)  # operators by name: why
    counts: dict[str, int] = field(default_factory=dict)  # of those
    parts: int = 0
    crossing_bytes: int = 0  # between parts and what stays in torch, where sizes are known


def reasons(graph: torch.fx.Graph) -> dict[Node, str]:
    """Why each node that hone does not take stays in torch."""
    found: dict[Node, str] = {}
    outputs = {node for node in graph.nodes if node.op == "output"}
    views: set[Node] = set()  # of the graph's inputs
    for node in graph.nodes:
        if node.op != "call_function":
            if node.op == "placeholder":
                views.add(node)
            elif node.op not in ("output",):
                found[node] = "no operator"
            continue
        if is_getitem(node):
            source = node.args[0]
            if source in found:
                found[node] = found[source]
            if source in views:
                views.add(node)
        elif not isinstance(node.target, torch._ops.OpOverload) or not tensors_of(node):
            found[node] = "a number, which torch computes"
        elif (reason := why_not(node)) is not None:
            found[node] = reason
        if overload(node) in VIEWS and node.args and node.args[0] in views:
            views.add(node)
            if node.users.keys() & outputs:
                found[node] = "a view of an input, which is an output"
    return found


class Supported(OperatorSupportBase):
    def __init__(self, refused: dict[Node, str]) -> None:
        self.refused = refused

    def is_node_supported(self, submodules: object, node: Node) -> bool:
        return node.op == "call_function" and node not in self.refused


def is_heavy(node: Node) -> bool:
    return any(part in overload(node) for part in HEAVY)


def partition(gm: torch.fx.GraphModule, keep_small: bool) -> tuple[torch.fx.GraphModule, list[str], GraphReport]:
    """The graph with hone's parts as modules, their names, and what is where. `keep_small`: parts that torch would compute sooner, too."""
    refused = reasons(gm.graph)
    nodes = [node for node in gm.graph.nodes if node.op == "call_function" and not is_getitem(node)]
    whole = not any(node in refused for node in nodes)
    partitioner = CapabilityBasedPartitioner(gm, Supported(refused), allows_single_node_partition=True)
    parts = partitioner.propose_partitions()
    if not (whole or keep_small):
        small = [part for part in parts if not any(is_heavy(node) for node in part.nodes) and len([n for n in part.nodes if not is_getitem(n)]) < LEAST_NODES]
        for part in small:
            refused.update({node: "a part of few small operators" for node in part.nodes})
        parts = [part for part in parts if part not in small]
    report = GraphReport(in_hone=sum(node not in refused for node in nodes), parts=len(parts))
    for node in nodes:
        if node in refused and not refused[node].startswith("a number"):
            name = overload(node)
            report.in_torch.setdefault(name, refused[node])
            report.counts[name] = report.counts.get(name, 0) + 1
    fused = partitioner.fuse_partitions(parts)
    names = [node.target for node in fused.graph.nodes if node.op == "call_module" and str(node.target).startswith("fused_")]
    for node in fused.graph.nodes:
        if node.op == "call_module":
            report.crossing_bytes += sum(bytes_of(x) for x in node.all_input_nodes if x.op != "placeholder")
    return fused, names, report


def bytes_of(node: Node) -> int:
    value = node.meta.get("val")
    if not is_tensor(node) or not all(isinstance(size, int) for size in value.shape):
        return 0
    return int(value.numel() * value.element_size())
