"""Sums of products: matrices, convolutions, attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hone.torch._emit import FLOATS, Arg, Emit, number
from hone.torch._rules import rule
from hone.torch._sizes import Unsupported, dim_text

def check_floats(*xs: Arg | None) -> None:
    for x in xs:
        if x is not None and x.dtype not in FLOATS:
            raise Unsupported(f"products of {x.dtype}")


def product(e: Emit, a: Arg, b: Arg) -> Any:
    """hone's products of 16-bit floats are f32."""
    check_floats(a, b)
    return e.cast(e.op("matmul", a.value, b.value), e.out.dtype)


@rule("aten.mm.default", "aten.bmm.default")
def mm(e: Emit, a: Arg, b: Arg) -> Any:
    return product(e, a, b)


@rule("aten.matmul.default")
def matmul(e: Emit, a: Arg, b: Arg) -> Any:
    if a.rank < 2 or b.rank < 2:
        raise Unsupported("a product with a vector")
    return product(e, a, b)


@rule("aten.addmm.default", "aten.baddbmm.default")
def addmm(e: Emit, x: Arg, a: Arg, b: Arg, *, beta: Any = 1, alpha: Any = 1) -> Any:
    check_floats(x, a, b)
    value = e.op("matmul", a.value, b.value)
    if number(alpha) != 1:
        value = e.op("mul", value, e.constant(alpha, torch.float32))
    if number(beta) != 0:
        added = e.cast(x.value, torch.float32)
        if beta != 1:
            added = e.op("mul", added, e.constant(beta, torch.float32))
        value = e.op("add", value, added)
    return e.cast(value, e.out.dtype)


@rule("aten.linear.default")
def linear(e: Emit, x: Arg, w: Arg, b: Arg | None = None) -> Any:
    check_floats(x, w, b)
    if w.rank != 2 or x.rank < 1:
        raise Unsupported("a linear layer of a vector")
    return e.cast(e.op("linear", x.value, w.value, None if b is None else e.cast(b.value, torch.float32)), e.out.dtype)


@rule("aten.convolution.default")
def convolution(e: Emit, x: Arg, w: Arg, b: Arg | None, strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int], transposed: bool,
                output_padding: Sequence[int], groups: int) -> Any:
    check_floats(x, w, b)
    spatial = w.rank - 2
    if x.rank != w.rank:
        raise Unsupported("a convolution without batches")
    both = lambda values: list(values) * (spatial if len(values) == 1 else 1)
    bias = None if b is None else e.cast(b.value, torch.float32)
    common = {"strides": both(strides), "pads": both(pads) * 2, "dilations": both(dilations), "groups": groups}
    if transposed:
        value = e.op("conv_transpose", x.value, w.value, bias, output_padding=both(output_padding), **common)
    else:
        value = e.op("conv", x.value, w.value, bias, **common)
    return e.cast(value, e.out.dtype)


for _name, _spatial in (("conv1d", 1), ("conv2d", 2), ("conv3d", 3)):

    @rule(f"aten.{_name}.default")
    def conv(e: Emit, x: Arg, w: Arg, b: Arg | None = None, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1) -> Any:
        as_list = lambda value: list(value) if isinstance(value, (list, tuple)) else [value]
        return convolution(e, x, w, b, as_list(strides), as_list(pads), as_list(dilations), False, [0], groups)


def rows_of_heads(e: Emit, x: Arg) -> Any:
    """[B,H,S,D] as rows [B,S,H*D]."""
    b, h, s, d = x.shape
    return e.reshaped(e.transposed(x.value, 1, 2, 4), [b, s, h * d])


def attention(e: Emit, out: torch.Tensor, q: Arg, k: Arg, v: Arg, mask: Arg | None, is_causal: bool, scale: Any, kv_heads: int | None = None) -> Any:
    check_floats(q, k, v)
    if q.rank != 4 or k.rank != 4 or v.rank != 4:
        raise Unsupported("attention of other than [batch, heads, length, columns]")
    if mask is not None and mask.rank > 4:
        raise Unsupported("a mask of more than four dimensions")
    heads = q.shape[1]
    attributes: dict[str, object] = {"heads": int(heads), "kv_heads": int(k.shape[1])}
    if scale is not None:
        attributes["scale"] = float(number(scale))
    if is_causal:
        attributes.update(causal=1, from_start=1)
    mask_value = None if mask is None else mask.value if mask.dtype == torch.bool else e.cast(mask.value, torch.float32)
    y = e.op("attention", rows_of_heads(e, q), rows_of_heads(e, k), rows_of_heads(e, v), mask_value, **attributes)
    b, h, s, d = out.shape
    return e.transposed(e.reshaped(e.cast(y, out.dtype), [b, s, h, d]), 1, 2, 4)


@rule("aten._scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(e: Emit, q: Arg, k: Arg, v: Arg, dropout: float = 0.0, is_causal: bool = False, *, attn_mask: Arg | None = None, scale: Any = None) -> Any:
    if dropout != 0:
        raise Unsupported("attention with dropout")
    y = attention(e, e.out[0], q, k, v, attn_mask, is_causal, scale)
    return [y, lambda: logsumexp(e, q, k, attn_mask, is_causal, scale)]  # where a gradient reads it


def logsumexp(e: Emit, q: Arg, k: Arg, mask: Arg | None, is_causal: bool, scale: Any) -> Any:
    """Of the scaled and masked scores of each query: f32 [B,H,S]."""
    f32 = torch.float32
    if q.shape[1] != k.shape[1]:
        raise Unsupported("logsumexp of shared heads")
    factor = float(number(scale)) if scale is not None else int(q.shape[3]) ** -0.5
    scores = e.op("mul", e.op("matmul", e.of(q, f32), e.transposed(e.of(k, f32), 2, 3, 4)), e.constant(factor, f32))
    lowest = e.constant(float("-inf"), f32)
    if mask is not None:
        scores = e.op("where", mask.value, scores, lowest) if mask.dtype == torch.bool else e.op("add", scores, e.of(mask, f32))
    if is_causal:
        keys = e.op("iota", shape=f"[1,{dim_text(k.shape[2])}]", axis=1, dtype="i64")
        queries = e.op("iota", shape=f"[{dim_text(q.shape[2])},1]", axis=0, dtype="i64")
        scores = e.op("where", e.op("less_or_equal", keys, queries), scores, lowest)
    most = e.op("reduce_max", scores, axes=[3], keepdims=1)
    sums = e.op("reduce_sum", e.op("exp", e.op("sub", scores, most)), axes=[3], keepdims=1)
    return e.reshaped(e.op("add", e.op("log", sums), most), [q.shape[0], q.shape[1], q.shape[2]])


@rule("aten.scaled_dot_product_attention.default")
def scaled_dot_product_attention(e: Emit, q: Arg, k: Arg, v: Arg, attn_mask: Arg | None = None, dropout: float = 0.0, is_causal: bool = False, *, scale: Any = None,
                                 enable_gqa: bool = False) -> Any:
    if dropout != 0:
        raise Unsupported("attention with dropout")
    return attention(e, e.out, q, k, v, attn_mask, is_causal, scale)
