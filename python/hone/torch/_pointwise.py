"""Element by element."""

from __future__ import annotations

import math
from typing import Any

import torch

from hone.torch._emit import FLOATS, Arg, Emit, number, result_dtype
from hone.torch._rules import rule
from hone.torch._sizes import Unsupported

ANY_FLOAT = (*FLOATS, torch.float64)


def float_dtype(e: Emit) -> torch.dtype:
    dtype: torch.dtype = e.out.dtype
    if dtype not in ANY_FLOAT:
        raise Unsupported(f"a result of {dtype}")
    return dtype


def unary(overload: str, op: str) -> None:
    @rule(f"aten.{overload}.default")
    def emit(e: Emit, x: Arg) -> Any:
        return e.op(op, e.of(x, float_dtype(e)))


for name in "acos acosh asin asinh atan atanh cos cosh erf exp log rsqrt sigmoid sin sinh sqrt tan tanh reciprocal silu mish".split():
    unary(name, name)


@rule("aten.relu.default", "aten.neg.default", "aten.abs.default", "aten.sign.default", "aten.sgn.default")
def same_type(e: Emit, x: Arg) -> Any:
    name = {"sgn": "sign"}.get(e.name, e.name)
    if x.dtype == torch.bool:
        raise Unsupported(f"{name} of bool")
    return e.op(name, x.value)


@rule("aten.ceil.default", "aten.floor.default", "aten.round.default", "aten.trunc.default")
def whole(e: Emit, x: Arg) -> Any:
    if x.dtype not in ANY_FLOAT:
        return e.op("identity", x.value)
    if e.name == "trunc":
        zero = e.constant(0, x.dtype)
        return e.op("where", e.op("less", x.value, zero), e.op("ceil", x.value), e.op("floor", x.value))
    return e.op(e.name, x.value)


@rule("aten.square.default")
def square(e: Emit, x: Arg) -> Any:
    value = e.of(x, e.out.dtype)
    return e.op("mul", value, value)


def through_f32(e: Emit, x: Arg, compute: Any) -> Any:
    """Computed in f32 and rounded once, as torch does with 16 bits."""
    dtype = float_dtype(e)
    wide = dtype if dtype == torch.float64 else torch.float32
    return e.cast(compute(e.of(x, wide), wide), dtype)


@rule("aten.exp2.default")
def exp2(e: Emit, x: Arg) -> Any:
    return through_f32(e, x, lambda v, t: e.op("pow", e.constant(2, t), v))


@rule("aten.log2.default", "aten.log10.default")
def log_of_base(e: Emit, x: Arg) -> Any:
    base = 2 if e.name == "log2" else 10
    return through_f32(e, x, lambda v, t: e.op("mul", e.op("log", v), e.constant(1 / math.log(base), t)))


@rule("aten.gelu.default")
def gelu(e: Emit, x: Arg, approximate: str = "none") -> Any:
    return e.op("gelu", x.value, approximate=approximate)


@rule("aten.leaky_relu.default")
def leaky_relu(e: Emit, x: Arg, slope: float = 0.01) -> Any:
    return e.op("leaky_relu", x.value, alpha=float(number(slope)))


@rule("aten.elu.default")
def elu(e: Emit, x: Arg, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    if (scale, input_scale) != (1, 1):
        raise Unsupported("elu with scales")
    return e.op("elu", x.value, alpha=float(number(alpha)))


@rule("aten.hardswish.default")
def hardswish(e: Emit, x: Arg) -> Any:
    return e.op("hard_swish", x.value)


@rule("aten.hardsigmoid.default")
def hardsigmoid(e: Emit, x: Arg) -> Any:
    return e.op("hard_sigmoid", x.value, alpha=1 / 6, beta=0.5)


@rule("aten.softplus.default")
def softplus(e: Emit, x: Arg, beta: float = 1, threshold: float = 20) -> Any:
    if beta != 1 or threshold != 20:
        raise Unsupported("softplus with beta or threshold")
    value = e.of(x, float_dtype(e))
    return e.op("where", e.op("greater", value, e.constant(20, x.dtype)), value, e.op("softplus", value))


@rule("aten.hardtanh.default", "aten.clamp.default")
def clamp(e: Emit, x: Arg, least: Any = None, most: Any = None) -> Any:
    if e.name == "hardtanh":
        least, most = -1 if least is None else least, 1 if most is None else most
    value = e.of(x, e.out.dtype)
    if least is not None:
        value = e.op("max", value, e.constant(number(least), e.out.dtype))
    if most is not None:
        value = e.op("min", value, e.constant(number(most), e.out.dtype))
    return value


@rule("aten.clamp_min.default", "aten.clamp_max.default")
def clamp_one(e: Emit, x: Arg, bound: Any) -> Any:
    return e.op("max" if e.name == "clamp_min" else "min", e.of(x, e.out.dtype), e.constant(number(bound), e.out.dtype))


@rule("aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor", "aten.sub.Scalar", "aten.rsub.Scalar", "aten.rsub.Tensor")
def add(e: Emit, a: Any, b: Any, alpha: Any = 1) -> Any:
    dtype = e.out.dtype
    if dtype == torch.bool:
        raise Unsupported("sums of bool")
    if e.name == "rsub":
        a, b = b, a
        if alpha != 1:
            raise Unsupported("rsub with alpha")
    first, second = e.of(a, dtype), e.of(b, dtype)
    if number(alpha) != 1:
        second = e.op("mul", second, e.constant(alpha, dtype))
    return e.op("add" if e.name == "add" else "sub", first, second)


@rule("aten.mul.Tensor", "aten.mul.Scalar")
def mul(e: Emit, a: Any, b: Any) -> Any:
    if e.out.dtype == torch.bool:
        return e.op("logical_and", e.of(a, torch.bool), e.of(b, torch.bool))
    return e.op("mul", e.of(a, e.out.dtype), e.of(b, e.out.dtype))


@rule("aten.div.Tensor", "aten.div.Scalar")
def div(e: Emit, a: Any, b: Any) -> Any:
    return e.op("div", e.of(a, float_dtype(e)), e.of(b, e.out.dtype))


@rule("aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.floor_divide.default")
def div_whole(e: Emit, a: Any, b: Any, *, rounding_mode: str | None = "floor") -> Any:
    dtype = e.out.dtype
    if dtype not in ANY_FLOAT or rounding_mode is None:
        raise Unsupported("a division of integers, which fails by zero in torch")
    quotient = e.op("div", e.of(a, dtype), e.of(b, dtype))
    if rounding_mode == "trunc":
        zero = e.constant(0, dtype)
        return e.op("where", e.op("less", quotient, zero), e.op("ceil", quotient), e.op("floor", quotient))
    raise Unsupported("a floor division of floats")  # torch corrects the quotient by the remainder


@rule("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def power(e: Emit, a: Any, b: Any) -> Any:
    dtype = e.out.dtype
    if dtype not in ANY_FLOAT:
        raise Unsupported("powers of integers")
    if isinstance(b, (int, float)) and b == 2:
        value = e.of(a, dtype)
        return e.op("mul", value, value)
    return e.op("pow", e.of(a, dtype), e.of(b, dtype))


@rule("aten.maximum.default", "aten.minimum.default")
def extremum(e: Emit, a: Arg, b: Arg) -> Any:
    if e.out.dtype == torch.bool:
        return e.op("logical_or" if e.name == "maximum" else "logical_and", a.value, b.value)
    return e.op("max" if e.name == "maximum" else "min", e.of(a, e.out.dtype), e.of(b, e.out.dtype))


COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_or_equal", "gt": "greater", "ge": "greater_or_equal"}


@rule(*(f"aten.{name}.{kind}" for name in COMPARISONS for kind in ("Tensor", "Scalar")))
def compare(e: Emit, a: Any, b: Any) -> Any:
    dtype = result_dtype(a, b)
    if dtype == torch.bool and e.name not in ("eq", "ne"):
        dtype = torch.int32
    return e.op(COMPARISONS[e.name], e.of(a, dtype), e.of(b, dtype))


@rule("aten.logical_and.default", "aten.logical_or.default", "aten.logical_xor.default")
def logical(e: Emit, a: Arg, b: Arg) -> Any:
    return e.op(e.name, truth(e, a), truth(e, b))


@rule("aten.logical_not.default")
def logical_not(e: Emit, x: Arg) -> Any:
    return e.op("logical_not", truth(e, x))


def truth(e: Emit, x: Arg) -> Any:
    return x.value if x.dtype == torch.bool else e.op("not_equal", x.value, e.constant(0, x.dtype))


@rule(*(f"aten.bitwise_{name}.{kind}" for name in ("and", "or", "xor") for kind in ("Tensor", "Scalar")))
def bitwise(e: Emit, a: Any, b: Any) -> Any:
    first, second = e.of(a, e.out.dtype), e.of(b, e.out.dtype)
    return e.op(e.name.replace("bitwise", "logical") if e.out.dtype == torch.bool else e.name, first, second)


@rule("aten.bitwise_not.default")
def bitwise_not(e: Emit, x: Arg) -> Any:
    return e.op("logical_not" if x.dtype == torch.bool else "bitwise_not", x.value)


@rule("aten.isnan.default")
def isnan(e: Emit, x: Arg) -> Any:
    if x.dtype not in ANY_FLOAT:
        raise Unsupported(f"isnan of {x.dtype}")
    return e.op("is_nan", x.value)


@rule("aten.isinf.default")
def isinf(e: Emit, x: Arg) -> Any:
    if x.dtype not in ANY_FLOAT:
        raise Unsupported(f"isinf of {x.dtype}")
    return e.op("is_inf", x.value)


@rule("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def where(e: Emit, condition: Arg, a: Any, b: Any) -> Any:
    return e.op("where", truth(e, condition), e.of(a, e.out.dtype), e.of(b, e.out.dtype))


@rule("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(e: Emit, x: Arg, mask: Arg, value: Any) -> Any:
    return e.op("where", mask.value, e.of(value, x.dtype), x.value)


@rule("aten._to_copy.default", "aten.to.dtype", "prims.convert_element_type.default")
def convert(e: Emit, x: Arg, *args: Any, **kwargs: Any) -> Any:
    if kwargs.get("device") not in (None, torch.device("cpu")):
        raise Unsupported("a copy to another device")
    if x.dtype in ANY_FLOAT and e.out.dtype not in (*ANY_FLOAT, torch.bool):
        # C's conversion: beyond the integer's range it is undefined, as in torch.
        return e.cast(x.value, e.out.dtype)
    if e.out.dtype == torch.bool:
        return truth(e, x)
    return e.op("identity", x.value) if x.dtype == e.out.dtype else e.cast(x.value, e.out.dtype)


@rule("aten.clone.default", "aten.detach.default", "aten.alias.default", "aten.contiguous.default", "aten.lift_fresh_copy.default")
def copy(e: Emit, x: Arg, **_: Any) -> Any:
    return e.op("identity", x.value)


@rule("aten.addcmul.default", "aten.addcdiv.default")
def addc(e: Emit, x: Arg, a: Arg, b: Arg, *, value: Any = 1) -> Any:
    dtype = float_dtype(e)
    product = e.op("mul" if e.name == "addcmul" else "div", e.of(a, dtype), e.of(b, dtype))
    if number(value) != 1:
        product = e.op("mul", product, e.constant(value, dtype))
    return e.op("add", e.of(x, dtype), product)


@rule("aten.lerp.Scalar")
def lerp(e: Emit, a: Arg, b: Arg, weight: Any) -> Any:
    if not 0 <= number(weight) < 0.5:
        raise Unsupported("lerp from the end")
    return e.op("add", a.value, e.op("mul", e.constant(weight, a.dtype), e.op("sub", b.value, a.value)))


# Gradients of what has one result.


@rule("aten.threshold_backward.default")
def threshold_backward(e: Emit, grad: Arg, x: Arg, threshold: Any) -> Any:
    return e.op("where", e.op("less_or_equal", x.value, e.constant(number(threshold), x.dtype)), e.constant(0, grad.dtype), grad.value)


@rule("aten.sigmoid_backward.default")
def sigmoid_backward(e: Emit, grad: Arg, y: Arg) -> Any:
    one = e.constant(1, y.dtype)
    return e.op("mul", grad.value, e.op("mul", y.value, e.op("sub", one, y.value)))


@rule("aten.tanh_backward.default")
def tanh_backward(e: Emit, grad: Arg, y: Arg) -> Any:
    return e.op("mul", grad.value, e.op("sub", e.constant(1, y.dtype), e.op("mul", y.value, y.value)))


@rule("aten.gelu_backward.default")
def gelu_backward(e: Emit, grad: Arg, x: Arg, *, approximate: str = "none") -> Any:
    if approximate != "none":
        raise Unsupported("the gradient of gelu by tanh")
    t = x.dtype
    cdf = e.op("mul", e.constant(0.5, t), e.op("add", e.constant(1, t), e.op("erf", e.op("mul", x.value, e.constant(math.sqrt(0.5), t)))))
    square = e.op("mul", e.op("mul", x.value, x.value), e.constant(-0.5, t))
    density = e.op("mul", e.op("exp", square), e.constant(1 / math.sqrt(2 * math.pi), t))
    return e.op("mul", grad.value, e.op("add", cdf, e.op("mul", x.value, density)))


@rule("aten.silu_backward.default")
def silu_backward(e: Emit, grad: Arg, x: Arg) -> Any:
    t = x.dtype
    one, s = e.constant(1, t), e.op("sigmoid", x.value)
    inner = e.op("add", one, e.op("mul", x.value, e.op("sub", one, s)))
    return e.op("mul", grad.value, e.op("mul", s, inner))
