"""Graphs of exported programs."""

from __future__ import annotations

from typing import Any

import torch

import hone
from hone.torch._importer import import_graph
from hone.torch._sizes import Unsupported


def from_torch(program: Any, *args: Any, **kwargs: Any) -> hone.Graph:
    """The graph of a torch.export.ExportedProgram, or of a module for inputs like these. Weights are constants under their names in the module.
    Error names an operator that hone does not take, and why."""
    if not isinstance(program, torch.export.ExportedProgram):
        program = torch.export.export(program, args, kwargs)
    program = program.run_decompositions({})
    signature = program.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        raise hone.Error(f"the program writes {', '.join([*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()])}: call eval() before")
    tensors = {**program.state_dict, **program.constants}
    names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
    weights = {place: (name, tensors[name]) for place, name in names.items() if isinstance(tensors[name], torch.Tensor)}
    for node in list(program.graph.nodes):
        if node.op == "call_function" and "assert" in str(node.target) and not node.users:
            program.graph.erase_node(node)
    try:
        graph, _ = import_graph(program.graph, {}, {place: (name, tensor.detach()) for place, (name, tensor) in weights.items()})
    except Unsupported as reason:
        raise hone.Error(f"the program: {reason}") from reason
    return graph
