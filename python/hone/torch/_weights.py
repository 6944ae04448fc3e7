"""Which weights changed since they were laid out. A version says it of most changes; fused optimizers and `.data` change bytes without one:
each step of an optimizer, and refresh(), begin a new epoch."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

_epoch = 0
_is_hooked = False


def refresh(_: Any = None) -> None:
    """Says that weights were written in a way that torch does not count: through `.data`, NumPy or DLPack."""
    global _epoch
    _epoch += 1


def count_optimizer_steps() -> None:
    global _is_hooked
    if not _is_hooked:
        register_optimizer_step_post_hook(lambda *_: refresh())
        _is_hooked = True


def is_checked() -> bool:
    """Whether HONE_CHECK_WEIGHTS asks that bytes be compared."""
    return os.environ.get("HONE_CHECK_WEIGHTS", "") not in ("", "0")


def stamp(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Differs where the tensor may have changed."""
    return (_epoch, tensor.data_ptr(), -1 if tensor.is_inference() else tensor._version)
