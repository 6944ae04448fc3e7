"""parquet.py IN.parquet... OUT.tsv|OUT.jsonl: rows of Parquet files as what hone reads; Debian has no library for Parquet.

Columns keep their names. Integers that stand for names of classes (Hugging Face writes those into the file) become the names. A TSV
has no quoting, so texts that hold tabs or line ends are refused there: write .jsonl, which also keeps lists. Needs pyarrow.
"""
import json
import sys

import pyarrow.parquet


def class_names(schema):
    """Of each column: what its numbers stand for, or None."""
    described = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    features = described.get("info", {}).get("features", {})

    def names(feature):
        if isinstance(feature, list):
            feature = feature[0]
        return feature.get("names") or (names(feature["feature"]) if "feature" in feature else None)

    return {column: names(feature) for column, feature in features.items()}


def named(value, names):
    if names is None or value is None:
        return value
    if isinstance(value, list):
        return [named(each, names) for each in value]
    return names[value] if value >= 0 else None


def rows(paths):
    for path in paths:
        file = pyarrow.parquet.ParquetFile(path)
        names = class_names(file.schema_arrow)
        for batch in file.iter_batches():
            for row in batch.to_pylist():
                yield {column: named(value, names.get(column)) for column, value in row.items()}


def tsv_cell(column, value):
    if isinstance(value, (list, dict)):
        sys.exit(f"column {column} holds lists; write .jsonl")
    text = "" if value is None else str(value)
    if any(c in text for c in "\t\n\r"):
        sys.exit(f"column {column}: {text[:60]!r} holds a tab or a line end, which TSV can't; write .jsonl")
    return text


def main():
    *paths, out = sys.argv[1:]
    if not paths or not out.endswith((".tsv", ".jsonl")):
        sys.exit(__doc__)
    with open(out, "w", encoding="utf-8", newline="\n") as file:
        columns = None
        for row in rows(paths):
            if out.endswith(".jsonl"):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                continue
            if columns is None:
                columns = list(row)
                file.write("\t".join(columns) + "\n")
            file.write("\t".join(tsv_cell(column, row[column]) for column in columns) + "\n")


main()
