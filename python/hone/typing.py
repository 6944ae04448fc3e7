"""Types of arguments."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias


class SupportsDLPack(Protocol):
    """Arrays of NumPy, torch and others."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


Numbers: TypeAlias = bool | int | float | str | Sequence["Numbers"]
ArrayLike: TypeAlias = SupportsDLPack | bytes | bytearray | memoryview | Numbers
