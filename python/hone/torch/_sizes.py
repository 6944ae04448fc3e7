"""Sizes of torch as hone writes them: numbers, symbols, and formulas of these."""

from __future__ import annotations

from typing import Any

import sympy
import torch

DTYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
}


class Unsupported(Exception):
    """Why a node stays in torch."""


def dtype_text(dtype: torch.dtype) -> str:
    if dtype not in DTYPES:
        raise Unsupported(f"elements of {dtype}")
    return DTYPES[dtype]


def expression(size: Any) -> sympy.Expr:
    """Of a number or a torch.SymInt."""
    if isinstance(size, torch.SymInt):
        return size.node.expr
    return sympy.Integer(int(size))


def formula(expr: sympy.Expr) -> str:
    if expr.is_Integer:
        return str(int(expr))
    if expr.is_Symbol:
        return str(expr.name)
    if expr.is_Add:
        return "(" + "+".join(formula(term) for term in expr.args) + ")"
    if expr.is_Mul and all(factor.is_Integer or not factor.is_Rational for factor in expr.args):
        return "*".join(formula(factor) for factor in expr.args)
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        return "*".join([formula(expr.base)] * int(expr.exp))
    if type(expr).__name__ == "FloorDiv":
        return f"({formula(expr.args[0])})/({formula(expr.args[1])})"
    raise Unsupported(f"a size of {expr}")


def dim_text(size: Any) -> str:
    """Of a number, a torch.SymInt, or a node of a graph that computes one."""
    if isinstance(size, torch.fx.Node):
        size = size.meta["val"]
    return formula(expression(size))


def shape_text(shape: Any) -> str:
    return "[" + ",".join(dim_text(size) for size in shape) + "]"


def type_text(tensor: torch.Tensor) -> str:
    if tensor.layout != torch.strided or tensor.is_complex():
        raise Unsupported(f"a tensor of {tensor.dtype}, {tensor.layout}")
    return dtype_text(tensor.dtype) + shape_text(tensor.shape)


def is_known(size: Any) -> bool:
    return expression(size).is_Integer
