"""The table of ATen's operators: what each overload becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def rule(*overloads: str) -> Callable[[Rule], Rule]:
    """Of `aten.NAME.OVERLOAD`: a function of an Emit and the node's arguments, tensors as Arg, that gives a value or several."""

    def add(function: Rule) -> Rule:
        for overload in overloads:
            if overload in RULES:
                raise ValueError(f"two rules of {overload}")
            RULES[overload] = function
        return function

    return add
