"""What a run gives."""

from typing import Any


class Outputs(dict[str, Any]):
    """Arrays by the names of outputs, in the model's order; names are attributes, too: `y.logits`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no output {name}; there are {', '.join(self)}") from None

    def __repr__(self) -> str:
        return f"hone.Outputs({', '.join(f'{k}={_short(v)}' for k, v in self.items())})"


def _short(array: Any) -> str:
    """Type and sizes of an array."""
    return f"{array.dtype}{list(array.shape)}".replace("torch.", "")
