"""Windows on images: pools and resizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hone.torch._emit import FLOATS, Arg, Emit
from hone.torch._rules import rule
from hone.torch._sizes import Unsupported, is_known, shape_text

def per_axis(values: Any, spatial: int, otherwise: Sequence[int] | None = None) -> list[int]:
    found = list(values) if isinstance(values, (list, tuple)) else [values]
    if not found and otherwise is not None:
        return list(otherwise)
    return found * spatial if len(found) == 1 else found


def check(x: Arg, spatial: int) -> None:
    if x.dtype not in FLOATS or x.rank != spatial + 2:
        raise Unsupported(f"windows on a tensor of {x.rank} dimensions, {x.dtype}")


@rule("aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default", "aten.max_pool2d.default")
def max_pool(e: Emit, x: Arg, kernel: Any, strides: Any = (), pads: Any = 0, dilations: Any = 1, ceil_mode: bool = False) -> Any:
    spatial = 3 if "3d" in e.name else 2
    check(x, spatial)
    size = per_axis(kernel, spatial)
    window = {"kernel_shape": size, "strides": per_axis(strides, spatial, size), "pads": per_axis(pads, spatial) * 2,
              "dilations": per_axis(dilations, spatial), "ceil_mode": int(ceil_mode)}
    y = e.op("max_pool", x.value, **window)

    def places() -> Any:  # torch counts within a channel
        plane = 1
        for length in x.shape[2:]:
            if not is_known(length):
                raise Unsupported("places in an image of an open size")
            plane *= int(length)
        return e.op("mod", e.op("max_pool_indices", x.value, **window), e.constant(plane, torch.int64))

    return [y, places] if "indices" in e.name else y


@rule("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def avg_pool(e: Emit, x: Arg, kernel: Any, strides: Any = (), pads: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
             divisor: int | None = None) -> Any:
    spatial = int(e.name[-2])
    check(x, spatial)
    if divisor is not None:
        raise Unsupported("averages with a divisor of their own")
    if ceil_mode:
        raise Unsupported("averages with a last window beyond the image")
    size = per_axis(kernel, spatial)
    return e.op("avg_pool", x.value, kernel_shape=size, strides=per_axis(strides, spatial, size), pads=per_axis(pads, spatial) * 2,
                count_include_pad=int(count_include_pad))


@rule("aten._adaptive_avg_pool2d.default", "aten.adaptive_avg_pool2d.default", "aten.adaptive_avg_pool1d.default")
def adaptive_avg_pool(e: Emit, x: Arg, _: Any) -> Any:
    spatial = 1 if "1d" in e.name else 2
    check(x, spatial)
    given, wanted = list(x.shape[2:]), list(e.out.shape[2:])
    if all(is_known(size) and int(size) == 1 for size in wanted):
        return e.op("reduce_mean", x.value, axes=list(range(2, 2 + spatial)), keepdims=1)
    if not all(is_known(size) for size in given + wanted):
        raise Unsupported("an adaptive pool of open sizes")
    kernel = [int(a) // int(b) for a, b in zip(given, wanted)]
    if any(int(b) * k != int(a) for a, b, k in zip(given, wanted, kernel)):
        raise Unsupported("an adaptive pool whose windows differ in size")
    return e.op("avg_pool", x.value, kernel_shape=kernel, strides=kernel)


@rule("aten.upsample_nearest2d.vec", "aten.upsample_nearest2d.default", "aten.upsample_bilinear2d.vec", "aten.upsample_bilinear2d.default")
def upsample(e: Emit, x: Arg, *args: Any) -> Any:
    check(x, 2)
    is_linear = "bilinear" in e.name
    align_corners = bool(args[1]) if is_linear else False
    scales = args[-1]
    given, wanted = x.shape[2:], e.out.shape[2:]
    if not all(is_known(size) for size in [*given, *wanted]):
        raise Unsupported("an image resized to an open size")
    if isinstance(scales, (list, tuple)) and scales and any(int(a) * s != int(b) for a, b, s in zip(given, wanted, scales)):
        raise Unsupported("a scale that gives no whole size")
    coordinates = "align_corners" if align_corners else "half_pixel" if is_linear else "asymmetric"
    return e.op("resize", x.value, sizes=shape_text(e.out.shape), mode="linear" if is_linear else "nearest", coordinates=coordinates,
                nearest_mode="floor")


