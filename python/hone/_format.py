"""Number formats."""

from typing import Any

from hone import _hone
from hone._hone import Tensor
from hone.typing import ArrayLike


class Format:
    """A number format by its text, such as "mxint8" or "int4.g128" (docs/FORMATS.md)."""

    def __init__(self, text: str) -> None:
        self._info = _hone.parse_format(text)

    @property
    def text(self) -> str:
        """Its canonical text."""
        return self._info.text

    @property
    def family(self) -> str:
        """The family that it is of."""
        return self._info.family

    @property
    def bits(self) -> float:
        """Bits of an element at large sizes, with its share of scales."""
        return self._info.bits

    def pack(self, x: ArrayLike) -> Tensor:
        """The values in this format. FormatError where it does not fit the shape, or has no codes."""
        return _hone._pack(x, self.text)

    def round(self, x: ArrayLike) -> Any:
        """The values that packing and unpacking leave, f32 of the same shape and of the same library. NaN stays."""
        return _hone._round(x, self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"hone.Format({self.text!r})"

