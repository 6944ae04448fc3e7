"""Along axes: reductions, softmax, norms, and what orders elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hone.torch._emit import FLOATS, Arg, Emit, axes_of, axis_of, number
from hone.torch._rules import rule
from hone.torch._sizes import Unsupported, dim_text, is_known

def wide(e: Emit, x: Arg, dtype: torch.dtype | None = None) -> Any:
    """Sums of 16-bit floats are made in f32 and rounded once."""
    wanted = dtype or x.dtype
    return e.of(x, torch.float32 if wanted in FLOATS else wanted)


def check_float(x: Arg) -> None:
    if x.dtype not in FLOATS:
        raise Unsupported(f"rows of {x.dtype}")


@rule("aten.sum.default", "aten.sum.dim_IntList", "aten.mean.default", "aten.mean.dim")
def sums(e: Emit, x: Arg, axes: Any = None, keepdim: bool = False, **_: Any) -> Any:
    if x.rank == 0:
        return e.of(x, e.out.dtype)
    kind = "reduce_sum" if e.name == "sum" else "reduce_mean"
    value = wide(e, x, e.out.dtype)
    return e.cast(e.op(kind, value, axes=axes_of(axes, x.rank), keepdims=int(keepdim)), e.out.dtype)


@rule("aten.amax.default", "aten.amin.default")
def extremes(e: Emit, x: Arg, axes: Any = (), keepdim: bool = False) -> Any:
    if x.dtype == torch.bool:
        raise Unsupported("extremes of bool")
    if x.rank == 0:
        return e.op("identity", x.value)
    return e.op("reduce_max" if e.name == "amax" else "reduce_min", x.value, axes=axes_of(axes, x.rank), keepdims=int(keepdim))


@rule("aten.max.default", "aten.min.default")
def extreme(e: Emit, x: Arg) -> Any:
    if x.dtype == torch.bool or x.rank == 0:
        raise Unsupported("an extreme of bool or of one number")
    return e.op(f"reduce_{e.name}", x.value, axes=axes_of(None, x.rank), keepdims=0)


@rule("aten.any.default", "aten.any.dim", "aten.any.dims", "aten.all.default", "aten.all.dim", "aten.all.dims")
def truths(e: Emit, x: Arg, axes: Any = None, keepdim: bool = False) -> Any:
    if x.rank == 0 or e.out.dtype != torch.bool:
        raise Unsupported("any or all of one number, or of bytes")
    value = e.cast(x.value if x.dtype == torch.bool else e.op("not_equal", x.value, e.constant(0, x.dtype)), torch.int32)
    kind = "reduce_max" if e.name == "any" else "reduce_min"
    return e.op("not_equal", e.op(kind, value, axes=axes_of(axes, x.rank), keepdims=int(keepdim)), e.constant(0, torch.int32))


@rule("aten.argmax.default", "aten.argmin.default")
def places(e: Emit, x: Arg, axis: int | None = None, keepdim: bool = False) -> Any:
    check_float(x)
    if axis is None or x.rank == 0:
        raise Unsupported("the place of an extreme of all elements")
    return e.op(e.name, x.value, axis=axis_of(axis, x.rank), keepdims=int(keepdim))


@rule("aten.var.correction", "aten.var_mean.correction", "aten.std.correction")
def variance(e: Emit, x: Arg, axes: Any = None, *, correction: Any = 1, keepdim: bool = False) -> Any:
    check_float(x)
    if x.rank == 0:
        raise Unsupported("the variance of one number")
    at = axes_of(axes, x.rank)
    value = wide(e, x)
    mean = e.op("reduce_mean", value, axes=at, keepdims=1)
    apart = e.op("sub", value, mean)
    sum_ = e.op("reduce_sum", e.op("mul", apart, apart), axes=at, keepdims=int(keepdim))
    count = 1
    for axis in at:
        if not is_known(x.shape[axis]):
            raise Unsupported("the variance along an open size")
        count *= int(x.shape[axis])
    divisor = max(count - (1 if correction is None else number(correction)), 0)
    if divisor == 0:
        raise Unsupported("the variance of one number")
    result = e.op("div", sum_, e.constant(divisor, torch.float32))
    if e.name == "std":
        result = e.op("sqrt", result)
    if e.name == "var_mean":
        kept = mean if keepdim else e.op("reduce_mean", value, axes=at, keepdims=0)
        return [e.cast(result, e.out[0].dtype), e.cast(kept, e.out[1].dtype)]
    return e.cast(result, e.out.dtype)


@rule("aten._softmax.default", "aten.softmax.int", "aten._log_softmax.default", "aten.log_softmax.int", "aten._safe_softmax.default")
def softmax(e: Emit, x: Arg, axis: int, *_: Any) -> Any:
    check_float(x)
    if x.rank == 0:
        raise Unsupported("softmax of one number")
    if e.name == "_safe_softmax":
        raise Unsupported("softmax of rows without a finite number")
    kind = "log_softmax" if "log" in e.name else "softmax"
    return e.cast(e.op(kind, wide(e, x), axis=axis_of(axis, x.rank)), e.out.dtype)


@rule("aten._softmax_backward_data.default", "aten._log_softmax_backward_data.default")
def softmax_backward(e: Emit, grad: Arg, y: Arg, axis: int, _: Any) -> Any:
    check_float(y)
    kind = "log_softmax_gradient" if "log" in e.name else "softmax_gradient"
    return e.cast(e.op(kind, wide(e, y), wide(e, grad), axis=axis_of(axis, y.rank)), e.out.dtype)


def normalized(e: Emit, x: Arg, shape: Sequence[Any], weight: Arg | None, bias: Arg | None, epsilon: float) -> Any:
    check_float(x)
    value = wide(e, x)
    scale = None if weight is None else e.of(weight, torch.float32)
    shift = None if bias is None else e.of(bias, torch.float32)
    if len(shape) > 1:
        columns = 1
        for size in shape:
            columns = columns * size
        value = e.reshaped(value, [*x.shape[: x.rank - len(shape)], columns])
        scale = None if scale is None else e.reshaped(scale, [columns])
        shift = None if shift is None else e.reshaped(shift, [columns])
    if scale is None and shift is not None:
        raise Unsupported("a norm with a bias and no weight")
    y = e.op("layer_norm", value, scale, shift, epsilon=float(epsilon))
    return e.reshaped(y, x.shape) if len(shape) > 1 else y


@rule("aten.native_layer_norm.default")
def native_layer_norm(e: Emit, x: Arg, shape: Sequence[Any], weight: Arg | None, bias: Arg | None, epsilon: float) -> Any:
    y = e.cast(normalized(e, x, shape, weight, bias, epsilon), e.out[0].dtype)
    at = list(range(x.rank - len(shape), x.rank))
    value = wide(e, x)

    def mean() -> Any:
        return e.cast(e.op("reduce_mean", value, axes=at, keepdims=1), e.out[1].dtype)

    def inverse_std() -> Any:
        apart = e.op("sub", value, e.op("reduce_mean", value, axes=at, keepdims=1))
        square = e.op("reduce_mean", e.op("mul", apart, apart), axes=at, keepdims=1)
        return e.cast(e.op("rsqrt", e.op("add", square, e.constant(epsilon, torch.float32))), e.out[2].dtype)

    return [y, mean, inverse_std]  # the statistics where somebody reads them


@rule("aten.layer_norm.default")
def layer_norm(e: Emit, x: Arg, shape: Sequence[Any], weight: Arg | None = None, bias: Arg | None = None, epsilon: float = 1e-5, *_: Any) -> Any:
    return e.cast(normalized(e, x, shape, weight, bias, epsilon), e.out.dtype)


@rule("aten.native_layer_norm_backward.default")
def native_layer_norm_backward(e: Emit, grad: Arg, x: Arg, shape: Sequence[Any], mean: Arg, inverse_std: Arg, weight: Arg | None, bias: Arg | None,
                               wanted: Sequence[bool]) -> Any:
    check_float(x)
    d, at = wide(e, grad), list(range(x.rank - len(shape), x.rank))
    others = list(range(x.rank - len(shape)))
    unit = e.op("mul", e.op("sub", wide(e, x), e.of(mean, torch.float32)), e.of(inverse_std, torch.float32))
    scaled = d if weight is None else e.op("mul", d, e.of(weight, torch.float32))
    results: list[Any] = [None, None, None]
    if wanted[0]:
        first = e.op("reduce_mean", scaled, axes=at, keepdims=1)
        second = e.op("reduce_mean", e.op("mul", scaled, unit), axes=at, keepdims=1)
        apart = e.op("sub", e.op("sub", scaled, first), e.op("mul", unit, second))
        results[0] = e.cast(e.op("mul", apart, e.of(inverse_std, torch.float32)), e.out[0].dtype)
    if wanted[1]:
        product = e.op("mul", d, unit)
        results[1] = e.cast(e.op("reduce_sum", product, axes=others, keepdims=0) if others else product, e.out[1].dtype)
    if wanted[2]:
        results[2] = e.cast(e.op("reduce_sum", d, axes=others, keepdims=0) if others else d, e.out[2].dtype)
    return results


@rule("aten.native_group_norm.default")
def native_group_norm(e: Emit, x: Arg, weight: Arg | None, bias: Arg | None, n: Any, c: Any, hw: Any, groups: int, epsilon: float) -> Any:
    check_float(x)
    value = e.reshaped(wide(e, x), [n, groups, c // groups * hw])
    y = e.reshaped(e.op("layer_norm", value, None, None, epsilon=float(epsilon)), x.shape)
    channels = [1, c, *([1] * (x.rank - 2))]
    if weight is not None:
        y = e.op("mul", y, e.reshaped(e.of(weight, torch.float32), channels))
    if bias is not None:
        y = e.op("add", y, e.reshaped(e.of(bias, torch.float32), channels))
    mean = lambda: e.op("reduce_mean", value, axes=[2], keepdims=0)

    def inverse_std() -> Any:
        apart = e.op("sub", value, e.op("reduce_mean", value, axes=[2], keepdims=1))
        square = e.op("reduce_mean", e.op("mul", apart, apart), axes=[2], keepdims=0)
        return e.op("rsqrt", e.op("add", square, e.constant(epsilon, torch.float32)))

    return [e.cast(y, e.out[0].dtype), lambda: e.cast(mean(), e.out[1].dtype), lambda: e.cast(inverse_std(), e.out[2].dtype)]


@rule("aten.group_norm.default")
def group_norm(e: Emit, x: Arg, groups: int, weight: Arg | None = None, bias: Arg | None = None, epsilon: float = 1e-5, *_: Any) -> Any:
    plane: Any = 1
    for size in x.shape[2:]:
        plane = plane * size
    one = Emit(e.graph, "native_group_norm", [e.out, None, None])
    return native_group_norm(one, x, weight, bias, x.shape[0], x.shape[1], plane, groups, epsilon)[0]


@rule("aten._native_batch_norm_legit_no_training.default")
def batch_norm(e: Emit, x: Arg, weight: Arg | None, bias: Arg | None, mean: Arg, variance_: Arg, momentum: float, epsilon: float) -> Any:
    check_float(x)
    if x.rank < 2 or not is_known(x.shape[1]):
        raise Unsupported("a batch norm without channels")
    channels = int(x.shape[1])
    f32 = torch.float32
    scale = e.of(weight, f32) if weight is not None else e.row(1, channels)
    shift = e.of(bias, f32) if bias is not None else e.row(0, channels)
    y = e.op("batch_norm", wide(e, x), scale, shift, e.of(mean, f32), e.of(variance_, f32), epsilon=float(epsilon))
    return [e.cast(y, e.out[0].dtype), None, None]


@rule("aten._fused_rms_norm.default")
def fused_rms_norm(e: Emit, x: Arg, shape: Sequence[Any], weight: Arg | None, epsilon: float | None) -> Any:
    check_float(x)
    if len(shape) != 1 or epsilon is None:
        raise Unsupported("a root mean square over several axes")
    y = e.op("rms_norm", wide(e, x), None if weight is None else e.of(weight, torch.float32), epsilon=float(epsilon))
    return [e.cast(y, e.out[0].dtype), None]


@rule("aten.cumsum.default")
def cumsum(e: Emit, x: Arg, axis: int, **_: Any) -> Any:
    if x.rank == 0:
        raise Unsupported("running sums of one number")
    value = e.of(x, e.out.dtype)
    return e.op("cumsum", value, axis=axis_of(axis, x.rank))


@rule("aten.topk.default")
def topk(e: Emit, x: Arg, k: Any, axis: int = -1, largest: bool = True, is_sorted: bool = True) -> Any:
    check_float(x)
    if x.rank == 0:
        raise Unsupported("the largest of one number")
    return list(e.op("top_k", x.value, k=f"[{dim_text(k)}]", axis=axis_of(axis, x.rank), largest=int(largest)))


@rule("aten.dropout.default", "aten.native_dropout.default")
def dropout(e: Emit, x: Arg, rate: float, train: bool | None) -> Any:
    if train is not False and rate != 0:
        raise Unsupported("random numbers, which stay torch's")
    return e.op("identity", x.value) if e.name == "dropout" else [e.op("identity", x.value), None]
