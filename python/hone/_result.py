"""What all classes of results have: their texts, their tables, and their values as a dict."""

from typing import Any


def escape(text: str) -> str:
    """For HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def to_dict(result: Any) -> dict[str, Any]:
    """The attributes by name; those that are results are dicts, too. Models stay models."""
    return {name: _plain(getattr(result, name)) for name in result.__match_args__}


def text(result: Any) -> str:
    parts = (f"{name}={_short(getattr(result, name))}" for name in result.__match_args__)
    return f"hone.{type(result).__name__}({', '.join(parts)})"


def html(result: Any) -> str:
    single, tables = [], []
    for name in result.__match_args__:
        value = getattr(result, name)
        if isinstance(value, list) and value and hasattr(value[0], "__match_args__"):
            tables.append(_table(name, value))
        else:
            single.append(f"<tr><th>{escape(name)}</th><td>{_cell(value)}</td></tr>")
    return f"<table>{''.join(single)}</table>{''.join(tables)}"


def _table(title: str, rows: list[Any]) -> str:
    names = rows[0].__match_args__
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_cell(getattr(row, name))}</td>" for name in names) + "</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{escape(str(key))}: {_cell(part)}" for key, part in value.items())
    return escape(value if isinstance(value, str) else _short(value))


def _plain(value: Any) -> Any:
    if hasattr(value, "__match_args__"):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return value


def _short(value: Any, most: int = 3) -> str:
    """A list by its first elements."""
    if not isinstance(value, list) or len(value) <= most:
        return repr(value)
    return f"[{', '.join(repr(part) for part in value[:most])}, … {len(value)} in all]"
