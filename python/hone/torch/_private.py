"""What hone uses of torch that torch does not promise to keep. Nothing else of the package touches such names."""

from __future__ import annotations

from torch._guards import TracingContext


def weight_places() -> list[int]:
    """Of a graph that is compiled now: which inputs are the same tensors in each call, as parameters and buffers are."""
    context = TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return []
    return list(context.fw_metadata.static_input_indices)
