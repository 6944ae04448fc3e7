"""What moves elements and computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hone.torch._emit import Arg, Emit, axes_of, axis_of, number
from hone.torch._rules import rule
from hone.torch._sizes import Unsupported, dim_text, expression, formula, is_known, shape_text

# Of these torch gives views. Where one of a graph's input is a graph's output, it stays in torch.
VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        "view.default _unsafe_view.default reshape.default t.default transpose.int permute.default expand.default unsqueeze.default "
        "squeeze.dim squeeze.dims squeeze.default slice.Tensor select.int split.Tensor split_with_sizes.default unbind.int alias.default "
        "detach.default"
    ).split()
)


@rule("aten.view.default", "aten._unsafe_view.default", "aten.reshape.default")
def view(e: Emit, x: Arg, _: Any) -> Any:
    return e.reshaped(x.value, e.out.shape)


@rule("aten.flatten.using_ints", "aten.unflatten.int")
def flatten(e: Emit, x: Arg, *_: Any) -> Any:
    return e.reshaped(x.value, e.out.shape)


@rule("aten.t.default")
def t(e: Emit, x: Arg) -> Any:
    return x.value if x.rank < 2 else e.op("transpose", x.value, perm=[1, 0])


@rule("aten.transpose.int")
def transpose(e: Emit, x: Arg, first: int, second: int) -> Any:
    if x.rank < 2:
        return e.op("identity", x.value)
    return e.transposed(x.value, axis_of(first, x.rank), axis_of(second, x.rank), x.rank)


@rule("aten.permute.default")
def permute(e: Emit, x: Arg, axes: Sequence[int]) -> Any:
    return e.op("transpose", x.value, perm=axes_of(list(axes), x.rank)) if x.rank else e.op("identity", x.value)


@rule("aten.expand.default")
def expand(e: Emit, x: Arg, _: Any, **__: Any) -> Any:
    return e.op("expand", x.value, shape=shape_text(e.out.shape))


@rule("aten.expand_as.default", "aten.view_as.default")
def like_another(e: Emit, x: Arg, _: Arg) -> Any:
    return e.op("expand", x.value, shape=shape_text(e.out.shape)) if e.name == "expand_as" else e.reshaped(x.value, e.out.shape)


@rule("aten.unsqueeze.default", "aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze.default")
def resized(e: Emit, x: Arg, *_: Any) -> Any:
    return e.reshaped(x.value, e.out.shape)


@rule("aten.repeat.default")
def repeat(e: Emit, x: Arg, repeats: Sequence[Any]) -> Any:
    leading = [1] * (len(repeats) - x.rank)
    value = e.reshaped(x.value, [*leading, *x.shape]) if leading else x.value
    return e.op("tile", value, repeats=shape_text(repeats))


@rule("aten.cat.default")
def cat(e: Emit, xs: Sequence[Arg], axis: int = 0) -> Any:
    parts = [x for x in xs if not (x.rank == 1 and is_known(x.shape[0]) and int(x.shape[0]) == 0)]
    if not parts:
        raise Unsupported("a concatenation of nothing")
    values = [e.cast(x.value, e.out.dtype) for x in parts]
    return e.op("concat", *values, axis=axis_of(axis, parts[0].rank))


@rule("aten.stack.default")
def stack(e: Emit, xs: Sequence[Arg], axis: int = 0) -> Any:
    rank = e.out.dim()
    at = axis_of(axis, rank)
    values = [e.op("unsqueeze", e.cast(x.value, e.out.dtype), axes=[at]) for x in xs]
    return e.op("concat", *values, axis=at)


@rule("aten.slice.Tensor")
def slice_(e: Emit, x: Arg, axis: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    at = axis_of(axis, x.rank)
    size, length = expression(x.shape[at]), expression(e.out.shape[at])
    if number(step) != 1:
        if not (size.is_Integer and length.is_Integer):
            raise Unsupported("a slice by steps of an open size")
        first, last, _ = slice(start, end, step).indices(int(size))
        return e.op("slice", x.value, starts=f"[{first}]", ends=f"[{max(first, last)}]", axes=[at], steps=[step])
    if size == length:
        return e.op("identity", x.value)
    begin = expression(start.meta["val"] if isinstance(start, torch.fx.Node) else start or 0)
    if begin.is_Integer and int(begin) < 0:
        begin = size + begin
        if begin.is_Integer and int(begin) < 0:
            begin = expression(0)
    if begin.is_Integer and size.is_Integer:
        begin = expression(min(int(begin), int(size)))
    return e.op("slice", x.value, starts=f"[{formula(begin)}]", ends=f"[{formula(begin + length)}]", axes=[at])


@rule("aten.select.int")
def select(e: Emit, x: Arg, axis: int, index: Any) -> Any:
    at = axis_of(axis, x.rank)
    if isinstance(index, int) and index < 0:
        last = expression(x.shape[at]) + index
        start, end = formula(last), formula(last + 1)
    else:
        start = dim_text(index)
        end = f"{start}+1"
    return e.reshaped(e.op("slice", x.value, starts=f"[{start}]", ends=f"[{end}]", axes=[at]), e.out.shape)


@rule("aten.split.Tensor", "aten.split_with_sizes.default", "aten.chunk.default", "aten.unbind.int")
def split(e: Emit, x: Arg, *args: Any) -> Any:
    axis = args[-1] if (e.name == "unbind" and args) or len(args) > 1 else 0
    at = axis_of(axis, x.rank)
    sizes = [1] * len(e.out) if e.name == "unbind" else [part.shape[at] for part in e.out]
    parts = [x.value] if len(sizes) == 1 else list(e.graph.add_node("split", [x.value], {"axis": at, "sizes": shape_text(sizes)}))
    return [e.reshaped(part, fake.shape) for part, fake in zip(parts, e.out)] if e.name == "unbind" else parts


@rule("aten.flip.default")
def flip(e: Emit, x: Arg, axes: Sequence[int]) -> Any:
    value = x.value
    for at in axes_of(list(axes), x.rank) if axes else []:
        last = dim_text(x.shape[at])
        value = e.op("strided_slice", value, starts=f"[{last}-1]", ends="[-9223372036854775808]", axes=[at], steps="[-1]")
    return value


@rule("aten.roll.default")
def roll(e: Emit, x: Arg, shifts: Sequence[int], axes: Sequence[int] = ()) -> Any:
    if not axes:
        raise Unsupported("roll of all elements as one row")
    value = x.value
    for shift, axis in zip(shifts, axes):
        at = axis_of(axis, x.rank)
        if not is_known(x.shape[at]):
            raise Unsupported("roll of an open size")
        size = int(x.shape[at])
        cut = -shift % size if size else 0
        if cut:
            tail = e.op("slice", value, starts=f"[{cut}]", ends=f"[{size}]", axes=[at])
            head = e.op("slice", value, starts="[0]", ends=f"[{cut}]", axes=[at])
            value = e.op("concat", tail, head, axis=at)
    return value


@rule("aten.constant_pad_nd.default")
def constant_pad(e: Emit, x: Arg, pads: Sequence[Any], value: Any = 0) -> Any:
    before, after = ["0"] * x.rank, ["0"] * x.rank
    for i in range(len(pads) // 2):
        before[x.rank - 1 - i], after[x.rank - 1 - i] = dim_text(pads[2 * i]), dim_text(pads[2 * i + 1])
    return e.op("pad", x.value, e.constant(number(value), x.dtype), pads="[" + ",".join(before + after) + "]", mode="constant")


@rule("aten.full.default", "aten.full_like.default", "aten.new_full.default")
def full(e: Emit, _: Any, *args: Any, **__: Any) -> Any:
    value = args[-1]
    return filled(e, number(value))


@rule("aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default", "aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def zeros_or_ones(e: Emit, *_: Any, **__: Any) -> Any:
    return filled(e, 1 if "ones" in e.name else 0)


@rule("aten.scalar_tensor.default")
def scalar_tensor(e: Emit, value: Any, **_: Any) -> Any:
    return filled(e, number(value))


def filled(e: Emit, value: Any) -> Any:
    one = e.constant(value, e.out.dtype)
    return e.op("expand", one, shape=shape_text(e.out.shape)) if e.out.dim() else e.op("identity", one)


@rule("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def arange(e: Emit, *args: Any, **_: Any) -> Any:
    start, step = (args[0], args[2] if len(args) > 2 else 1) if len(args) > 1 else (0, 1)
    if e.out.dtype not in (torch.int64, torch.int32, torch.float32):
        raise Unsupported(f"arange of {e.out.dtype}")
    numbers = e.op("iota", shape=shape_text(e.out.shape), axis=0, dtype="i64")
    if e.out.dtype == torch.float32 and not all(isinstance(x, int) for x in (start, step)):
        raise Unsupported("arange by fractions")
    if number(step) != 1:
        numbers = e.op("mul", numbers, e.constant(step, torch.int64))
    if number(start) != 0:
        numbers = e.op("add", numbers, e.constant(start, torch.int64))
    return e.cast(numbers, e.out.dtype)


@rule("aten.embedding.default")
def embedding(e: Emit, table: Arg, indices: Arg, *_: Any) -> Any:
    return e.op("gather", table.value, indices.value, axis=0)


@rule("aten.index_select.default")
def index_select(e: Emit, x: Arg, axis: int, index: Arg) -> Any:
    if x.rank == 0 or index.rank != 1:
        raise Unsupported("index_select of a scalar")
    return e.op("gather", x.value, index.value, axis=axis_of(axis, x.rank))


@rule("aten.gather.default")
def gather(e: Emit, x: Arg, axis: int, index: Arg, **_: Any) -> Any:
    if x.rank == 0:
        raise Unsupported("gather of a scalar")
    at = axis_of(axis, x.rank)
    value = x.value
    for other in range(x.rank):  # torch's index may be shorter than x along other axes
        if other != at and expression(x.shape[other]) != expression(index.shape[other]):
            value = e.op("slice", value, starts="[0]", ends=f"[{dim_text(index.shape[other])}]", axes=[other])
    return e.op("gather_elements", value, index.value, axis=at)


@rule("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index_(e: Emit, x: Arg, indices: Sequence[Arg | None]) -> Any:
    used = [i for i, index in enumerate(indices) if index is not None]
    if any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices):
        raise Unsupported("a selection whose size depends on data")
    if len(used) == 1:
        index = indices[used[0]]
        assert index is not None
        return e.op("gather", x.value, index.value, axis=used[0])
    chosen = [index for index in indices if index is not None]
    rank = max(index.rank for index in chosen)
    shape = torch.broadcast_shapes(*(tuple(index.shape) for index in chosen))
    parts = []
    for index in chosen:
        value = e.op("expand", e.cast(index.value, torch.int64), shape=shape_text(shape)) if rank else index.value
        parts.append(e.op("unsqueeze", value, axes=[rank]))
    others = [axis for axis in range(x.rank) if axis not in used]
    source = x.value if used + others == list(range(x.rank)) else e.op("transpose", x.value, perm=used + others)
    y = e.op("gather_nd", source, e.op("concat", *parts, axis=rank), batch_dims=0)
    before = used[0] if used == list(range(used[0], used[-1] + 1)) else 0  # how many axes stand before those of the indices
    if before:
        perm = [*range(rank, rank + before), *range(rank), *range(rank + before, rank + len(others))]
        y = e.op("transpose", y, perm=perm)
    return y


@rule("aten.tril.default", "aten.triu.default")
def triangle(e: Emit, x: Arg, diagonal: int = 0) -> Any:
    rows, columns = x.shape[-2], x.shape[-1]
    i = e.op("add", e.op("iota", shape=f"[{dim_text(rows)},1]", axis=0, dtype="i64"), e.constant(number(diagonal), torch.int64))
    j = e.op("iota", shape=f"[1,{dim_text(columns)}]", axis=1, dtype="i64")
    keep = e.op("less_or_equal" if e.name == "tril" else "greater_or_equal", j, i)
    zero = e.constant(False if x.dtype == torch.bool else 0, x.dtype)
    return e.op("where", keep, x.value, zero)


@rule("aten.pixel_shuffle.default")
def pixel_shuffle(e: Emit, x: Arg, factor: int) -> Any:
    if x.rank != 4:
        raise Unsupported("pixel_shuffle of other than images in batches")
    n, c, h, w = x.shape
    value = e.reshaped(x.value, [n, c // factor**2, factor, factor, h, w])
    return e.reshaped(e.op("transpose", value, perm=[0, 1, 4, 2, 5, 3]), e.out.shape)

