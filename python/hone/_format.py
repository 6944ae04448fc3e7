"""Number formats."""

from collections.abc import Sequence
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

    def unpack(
        self,
        codes: Tensor | ArrayLike,
        scales: ArrayLike | None = None,
        group_size: int | None = None,
        *,
        zero_points: ArrayLike | None = None,
        global_: ArrayLike | None = None,
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
    ) -> Any:
        """The values of a packed tensor, or of the planes that `planes` gives, as an array of the library of `codes`.

        A plane is an array of bytes. `shape` is needed where an element is no byte. `group_size` is that of this format,
        where its text names none. `dtype` is f32, and bf16 of `compat=mase-cuda`: values and arguments are those of
        mase_cuda's dequantize1d(codes, scales, group_size).
        """
        if isinstance(codes, Tensor) and (codes.is_packed or self._info.is_plain):
            packed = codes
        else:
            text = self.text if group_size is None else _with_group(self.text, group_size)
            packed = _hone._packed_of_planes(text, list(shape or _shape(codes)), codes, scales, zero_points, global_)
        values = _hone._unpack(packed)
        dtype = dtype or ("bf16" if "compat=mase-cuda" in packed.format else "f32")
        return _hone._array_like(values if dtype == "f32" else values.to(dtype), codes)

    def planes(self, packed: Tensor) -> dict[str, Tensor]:
        """The bytes of a packed tensor: "codes", "scales", "zero_points" and "global". They share its memory."""
        return _hone._planes(packed)

    def round(self, x: ArrayLike) -> Any:
        """The values that packing and unpacking leave, f32 of the same shape and of the same library. NaN stays."""
        return _hone._round(x, self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"hone.Format({self.text!r})"



def _shape(codes: Any) -> Sequence[int]:
    """Of an array of codes that are a byte each."""
    shape: Sequence[int] = codes.shape
    return shape


def _with_group(text: str, size: int) -> str:
    """The format with groups of that size."""
    parts = [part for part in text.split(".") if not (part[0] == "g" and part[1:].isdigit())]
    return ".".join([parts[0], f"g{size}", *parts[1:]])
