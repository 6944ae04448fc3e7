"""What the rules of ATen's operators build graphs with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

import hone
from hone.torch._sizes import Unsupported, dtype_text, shape_text

FLOATS = (torch.float32, torch.float16, torch.bfloat16)  # that products and rows are of; sums of them are f32


@dataclass
class Arg:
    """A tensor that a node reads: its value in the graph, and what torch knows of it."""

    value: hone.Value
    fake: torch.Tensor

    @property
    def rank(self) -> int:
        return self.fake.dim()

    @property
    def shape(self) -> Sequence[Any]:
        return self.fake.shape

    @property
    def dtype(self) -> torch.dtype:
        return self.fake.dtype


class Emit:
    """One node's part of a graph. `name` is the operator's, without its overload; `out` is what torch says that the node gives: a
    tensor, or several."""

    def __init__(self, graph: hone.Graph, name: str, out: Any) -> None:
        self.graph = graph
        self.name = name
        self.out = out

    def op(self, name: str, *operands: hone.Value | None, **attributes: object) -> Any:
        return self.graph.op(name, *operands, **{key: value for key, value in attributes.items() if value is not None})

    def constant(self, value: Any, dtype: torch.dtype) -> hone.Value:
        return self.graph.add_constant(hone.Tensor([value], dtype=dtype_text(dtype)).reshape([]))

    def row(self, value: Any, size: int) -> hone.Value:
        """f32, the same `size` times."""
        return self.graph.add_constant(hone.Tensor([float(value)] * size, dtype="f32"))

    def cast(self, value: hone.Value, dtype: torch.dtype) -> hone.Value:
        wanted = dtype_text(dtype)
        return value if value.dtype == wanted else self.op("cast", value, dtype=wanted)

    def of(self, x: Any, dtype: torch.dtype) -> hone.Value:
        """A tensor or a number, in a type."""
        if isinstance(x, Arg):
            return self.cast(x.value, dtype)
        if isinstance(x, torch.fx.Node):
            raise Unsupported("a number that is computed")
        return self.constant(x, dtype)

    def transposed(self, value: hone.Value, first: int, second: int, rank: int) -> hone.Value:
        perm = list(range(rank))
        perm[first], perm[second] = perm[second], perm[first]
        return self.op("transpose", value, perm=perm)

    def reshaped(self, value: hone.Value, shape: Sequence[Any]) -> hone.Value:
        return self.op("reshape", value, shape=shape_text(shape))


def axis_of(axis: int, rank: int) -> int:
    found = axis + rank if axis < 0 else axis
    if not 0 <= found < max(rank, 1):
        raise Unsupported(f"axis {axis} of {rank}")
    return found


def axes_of(axes: Any, rank: int) -> list[int]:
    if axes is None or (isinstance(axes, (list, tuple)) and not axes):
        return list(range(rank))
    return [axis_of(axis, rank) for axis in (axes if isinstance(axes, (list, tuple)) else [axes])]


def result_dtype(*xs: Any) -> torch.dtype:
    """As torch promotes tensors and numbers."""
    found = xs[0].fake if isinstance(xs[0], Arg) else xs[0]
    for x in xs[1:]:
        other = x.fake if isinstance(x, Arg) else x
        dtype = torch.result_type(found, other)
        rank = max(found.dim() if isinstance(found, torch.Tensor) else 0, other.dim() if isinstance(other, torch.Tensor) else 0)
        found = torch.empty([1] * rank, dtype=dtype)
    return found.dtype if isinstance(found, torch.Tensor) else torch.result_type(torch.empty(()), found)


def number(value: Any) -> Any:
    if isinstance(value, (int, float, bool)):
        return value
    raise Unsupported("a number that is computed")
