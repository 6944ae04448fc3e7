"""bench/results.md: sections that different programs write, each replacing its own."""
import pathlib
import re

PATH = pathlib.Path("bench/results.md")
HEAD = "# What hone reaches, measured\n\nWritten by `make bench-peers`, `make bench-ptq`, `make bench-ocr`, `make bench-exports`, `make bench-families`, `make bench-train`, `make bench-train-parity`, `make bench-attention`, `make bench-decoders`, `make bench-precisions`, `make bench-search`, `make bench-questions`, `make bench-ship` and `make train`; a section says what it ran on.\n"


def table(columns, rows):
    lines = ["| " + " | ".join(map(str, cells)) + " |" for cells in [columns, ["---"] * len(columns), *rows]]
    return "\n".join(lines) + "\n"


def write_section(title, text):
    """Puts the section in place of the one of the same title, or at the end."""
    content = PATH.read_text() if PATH.exists() else HEAD
    section = f"\n## {title}\n\n{text}"
    old = re.compile(rf"\n## {re.escape(title)}\n.*?(?=\n## |\Z)", re.S)
    content = old.sub(lambda _: section, content) if old.search(content) else content + section
    PATH.write_text(content)
