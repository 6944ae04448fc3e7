"""What training asks for: gradients, and norms and losses with what gradients need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hone.torch._emit import Arg, Emit, axis_of, number
from hone.torch._products import check_floats, rows_of_heads
from hone.torch._rows import check_float, wide
from hone.torch._rules import rule
from hone.torch._sizes import Unsupported, dim_text, expression, formula, shape_text
from hone.torch._windows import check, per_axis

F32 = torch.float32


@rule("aten.convolution_backward.default")
def convolution_backward(e: Emit, grad: Arg, x: Arg, w: Arg, _: Any, strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int], transposed: bool,
                         __: Any, groups: int, wanted: Sequence[bool]) -> Any:
    check_floats(grad, x, w)
    spatial = w.rank - 2
    if transposed or x.rank != w.rank:
        raise Unsupported("the gradient of a transposed convolution, or of one without batches")
    common = {"strides": per_axis(strides, spatial), "pads": per_axis(pads, spatial) * 2, "dilations": per_axis(dilations, spatial), "groups": groups}
    d = e.of(grad, F32)
    results: list[Any] = [None, None, None]
    if wanted[0]:
        results[0] = e.cast(e.op("conv_input_gradient", d, w.value, sizes=shape_text(x.shape[2:]), **common), e.out[0].dtype)
    if wanted[1]:
        kernel = [int(size) for size in w.shape[2:]]
        results[1] = e.cast(e.op("conv_weight_gradient", d, x.value, kernel_shape=kernel, **common), e.out[1].dtype)
    if wanted[2]:
        others = [axis for axis in range(grad.rank) if axis != 1]
        results[2] = e.cast(e.op("reduce_sum", d, axes=others, keepdims=0), e.out[2].dtype)
    return results


def channels_of(x: Arg) -> int:
    if x.rank < 2 or not expression(x.shape[1]).is_Integer:
        raise Unsupported("a batch norm without channels")
    return int(x.shape[1])


@rule("aten._native_batch_norm_legit_functional.default")
def batch_norm_train(e: Emit, x: Arg, weight: Arg | None, bias: Arg | None, mean: Arg, variance: Arg, train: bool, momentum: float, epsilon: float) -> Any:
    check_float(x)
    channels = channels_of(x)
    if not train:
        raise Unsupported("a batch norm that is not trained")
    scale = e.of(weight, F32) if weight is not None else e.row(1, channels)
    shift = e.of(bias, F32) if bias is not None else e.row(0, channels)
    results = e.op("batch_norm_train", wide(e, x), scale, shift, e.of(mean, F32), e.of(variance, F32), epsilon=float(epsilon), momentum=float(momentum))
    return [e.cast(result, fake.dtype) for result, fake in zip(results, e.out)]


@rule("aten.native_batch_norm_backward.default")
def batch_norm_backward(e: Emit, grad: Arg, x: Arg, weight: Arg | None, _: Any, __: Any, mean: Arg, inverse_std: Arg, train: bool, ___: float,
                        wanted: Sequence[bool]) -> Any:
    check_float(x)
    if not train:
        raise Unsupported("the gradient of a batch norm that is not trained")
    scale = e.of(weight, F32) if weight is not None else e.row(1, channels_of(x))
    results = e.op("batch_norm_gradient", e.of(grad, F32), wide(e, x), scale, e.of(mean, F32), e.of(inverse_std, F32))
    return [e.cast(result, fake.dtype) if want else None for result, fake, want in zip(results, e.out, wanted)]


@rule("aten.native_group_norm_backward.default")
def group_norm_backward(e: Emit, grad: Arg, x: Arg, mean: Arg, inverse_std: Arg, weight: Arg | None, n: Any, c: Any, hw: Any, groups: int,
                        wanted: Sequence[bool]) -> Any:
    check_float(x)
    by_group = [n, groups, c // groups * hw]
    each = [n, groups, 1]
    unit = e.op("mul", e.op("sub", e.reshaped(wide(e, x), by_group), e.reshaped(e.of(mean, F32), each)), e.reshaped(e.of(inverse_std, F32), each))
    d = e.of(grad, F32)
    results: list[Any] = [None, None, None]
    if wanted[0]:
        scaled = d if weight is None else e.op("mul", d, e.reshaped(e.of(weight, F32), [1, c, *([1] * (x.rank - 2))]))
        scaled = e.reshaped(scaled, by_group)
        first = e.op("reduce_mean", scaled, axes=[2], keepdims=1)
        second = e.op("reduce_mean", e.op("mul", scaled, unit), axes=[2], keepdims=1)
        apart = e.op("sub", e.op("sub", scaled, first), e.op("mul", unit, second))
        results[0] = e.cast(e.reshaped(e.op("mul", apart, e.reshaped(e.of(inverse_std, F32), each)), x.shape), e.out[0].dtype)
    others = [axis for axis in range(x.rank) if axis != 1]
    if wanted[1]:
        product = e.op("mul", d, e.reshaped(unit, x.shape))
        results[1] = e.cast(e.op("reduce_sum", product, axes=others, keepdims=0), e.out[1].dtype)
    if wanted[2]:
        results[2] = e.cast(e.op("reduce_sum", d, axes=others, keepdims=0), e.out[2].dtype)
    return results


@rule("aten.max_pool2d_with_indices_backward.default")
def max_pool_backward(e: Emit, grad: Arg, x: Arg, kernel: Any, strides: Any, pads: Any, dilations: Any, ceil_mode: bool, _: Arg) -> Any:
    check(x, 2)
    size = per_axis(kernel, 2)
    return e.op("max_pool_gradient", x.value, grad.value, kernel_shape=size, strides=per_axis(strides, 2, size), pads=per_axis(pads, 2) * 2,
                dilations=per_axis(dilations, 2), ceil_mode=int(ceil_mode))


@rule("aten.avg_pool2d_backward.default")
def avg_pool_backward(e: Emit, grad: Arg, x: Arg, kernel: Any, strides: Any, pads: Any, ceil_mode: bool, count_include_pad: bool, divisor: Any) -> Any:
    check(x, 2)
    if ceil_mode or divisor is not None:
        raise Unsupported("the gradient of averages with a last window beyond the image, or with a divisor")
    size = per_axis(kernel, 2)
    return e.op("avg_pool_gradient", grad.value, kernel_shape=size, strides=per_axis(strides, 2, size), pads=per_axis(pads, 2) * 2,
                count_include_pad=int(count_include_pad), sizes=shape_text(x.shape[2:]))


@rule("aten.embedding_dense_backward.default")
def embedding_backward(e: Emit, grad: Arg, indices: Arg, rows: Any, padding: Any, by_frequency: bool) -> Any:
    if by_frequency:
        raise Unsupported("gradients by frequency")
    d = e.of(grad, F32)
    if number(padding) >= 0:
        is_padding = e.op("equal", indices.value, e.constant(padding, indices.dtype))
        d = e.op("where", e.op("unsqueeze", is_padding, axes=[indices.rank]), e.constant(0, F32), d)
    return e.cast(e.op("gather_gradient", d, indices.value, shape=shape_text(e.out.shape), axis=0), e.out.dtype)


def padded(e: Emit, value: Any, dtype: torch.dtype, rank: int, axis: int, before: str, after: str) -> Any:
    pads = ["0"] * (2 * rank)
    pads[axis], pads[rank + axis] = before, after
    return e.op("pad", value, e.constant(0, dtype), pads="[" + ",".join(pads) + "]", mode="constant")


@rule("aten.slice_backward.default")
def slice_backward(e: Emit, grad: Arg, sizes: Sequence[Any], axis: int, start: Any, end: Any, step: int) -> Any:
    at = axis_of(axis, grad.rank)
    size = expression(e.out.shape[at])
    if step != 1 or not isinstance(start, int):
        raise Unsupported("the gradient of a slice by steps, or from a computed place")
    begin = expression(start) if start >= 0 else size + start
    after = size - begin - expression(grad.shape[at])
    return padded(e, grad.value, grad.dtype, grad.rank, at, formula(begin), formula(after))


@rule("aten.select_backward.default")
def select_backward(e: Emit, grad: Arg, sizes: Sequence[Any], axis: int, index: Any) -> Any:
    at = axis_of(axis, e.out.dim())
    size = expression(e.out.shape[at])
    if not isinstance(index, int):
        raise Unsupported("the gradient of a place that is computed")
    begin = expression(index) if index >= 0 else size + index
    return padded(e, e.op("unsqueeze", grad.value, axes=[at]), grad.dtype, e.out.dim(), at, formula(begin), formula(size - begin - 1))


def mask_value(e: Emit, mask: Arg | None) -> Any:
    return None if mask is None else mask.value if mask.dtype == torch.bool else e.cast(mask.value, F32)


@rule("aten._scaled_dot_product_flash_attention_for_cpu_backward.default")
def attention_backward(e: Emit, grad: Arg, q: Arg, k: Arg, v: Arg, out: Arg, logsumexp: Arg, dropout: float, is_causal: bool, *, attn_mask: Arg | None = None,
                       scale: Any = None) -> Any:
    check_floats(grad, q, k, v)
    if dropout != 0:
        raise Unsupported("attention with dropout")
    attributes: dict[str, object] = {"heads": int(q.shape[1]), "kv_heads": int(k.shape[1])}
    if scale is not None:
        attributes["scale"] = float(number(scale))
    if is_causal:
        attributes.update(causal=1, from_start=1)
    results = e.op("attention_gradient", rows_of_heads(e, q), rows_of_heads(e, k), rows_of_heads(e, v), rows_of_heads(e, grad), mask_value(e, attn_mask),
                   **attributes)
    gradients = []
    for value, fake in zip(results, e.out):
        b, h, s, d = fake.shape
        gradients.append(e.transposed(e.reshaped(e.cast(value, fake.dtype), [b, s, h, d]), 1, 2, 4))
    return gradients


@rule("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default")
def nll_loss(e: Emit, x: Arg, target: Arg, weight: Arg | None, reduction: int, ignored: int) -> Any:
    valid, chosen = targets(e, x, target, weight, ignored)
    picked = e.op("gather_elements", wide(e, x), e.op("unsqueeze", chosen, axes=[1]), axis=1)
    losses = e.op("where", valid, e.op("neg", e.reshaped(picked, target.shape)), e.constant(0, F32))
    count = e.op("reduce_sum", e.cast(valid, F32), axes=list(range(target.rank)), keepdims=0)
    if reduction == 0:
        return [e.cast(losses, e.out[0].dtype), e.constant(0, e.out[1].dtype)]
    total = e.op("reduce_sum", losses, axes=list(range(target.rank)), keepdims=0)
    return [e.cast(e.op("div", total, count) if reduction == 1 else total, e.out[0].dtype), e.cast(count, e.out[1].dtype)]


def targets(e: Emit, x: Arg, target: Arg, weight: Arg | None, ignored: int) -> tuple[Any, Any]:
    """Where a class counts, and the classes, 0 where none does."""
    check_float(x)
    if weight is not None or x.rank < 2:
        raise Unsupported("losses with a weight for each class, or of one row")
    valid = e.op("not_equal", target.value, e.constant(ignored, target.dtype))
    return valid, e.op("where", valid, target.value, e.constant(0, target.dtype))


@rule("aten.nll_loss_backward.default", "aten.nll_loss2d_backward.default")
def nll_loss_backward(e: Emit, grad: Arg, x: Arg, target: Arg, weight: Arg | None, reduction: int, ignored: int, count: Arg) -> Any:
    valid, chosen = targets(e, x, target, weight, ignored)
    classes = ["1"] * x.rank
    classes[1] = dim_text(x.shape[1])
    numbers = e.op("iota", shape="[" + ",".join(classes) + "]", axis=1, dtype="i64")
    is_class = e.op("equal", numbers, e.op("unsqueeze", e.cast(chosen, torch.int64), axes=[1]))
    hit = e.op("logical_and", is_class, e.op("unsqueeze", valid, axes=[1]))
    each = e.op("neg", e.of(grad, F32))
    if reduction == 1:
        each = e.op("div", each, e.of(count, F32))
    if reduction == 0:
        each = e.op("unsqueeze", each, axes=[1])
    return e.cast(e.op("where", hit, each, e.constant(0, F32)), e.out.dtype)
