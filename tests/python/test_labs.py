"""Figures in docs/labs stand in the tables of the runs that they are from, docs/labs/results."""

import csv
import re
import unittest
from pathlib import Path

LABS = Path(__file__).parents[2] / "docs/labs"


def numbers_of(folder: Path) -> list[float]:
    """All numbers in the tables of a run."""
    found = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as file:
            for row in csv.reader(file):
                for cell in row:
                    try:
                        found.append(float(cell))
                    except ValueError:
                        pass
    return found


def figures_of(page: str) -> list[str]:
    """Numbers with decimals in the section of the run, with their unit where it scales them."""
    section = page.partition("\n## A run\n")[2].partition("\n## ")[0]
    return re.findall(r"(?<![\w.])\d+\.\d+(?: %| MB)?", section)


def stands_in(figure: str, numbers: list[float]) -> bool:
    text, _, unit = figure.partition(" ")
    scale, decimals = {"%": 1e2, "MB": 1e-6}.get(unit, 1), len(text.partition(".")[2])
    return any(f"{abs(number) * scale:.{decimals}f}" == text for number in numbers)


class Pages(unittest.TestCase):
    def test_figures_of_runs_stand_in_their_tables(self):
        with_runs = sorted(path.name for path in (LABS / "results").iterdir())
        self.assertIn("lab3", with_runs)
        for name in with_runs:
            numbers = numbers_of(LABS / "results" / name)
            figures = figures_of((LABS / f"{name}.md").read_text())
            self.assertGreater(len(figures), 5)
            for figure in figures:
                with self.subTest(page=name, figure=figure):
                    self.assertTrue(stands_in(figure, numbers))

    def test_figures_without_a_run_are_none(self):
        for page in LABS.glob("lab*.md"):
            if not (LABS / "results" / page.stem).exists():
                self.assertEqual(figures_of(page.read_text()), [], page.name)

    def test_pictures_that_pages_show_are_there(self):
        for page in LABS.glob("*.md"):
            for path in re.findall(r"\]\((results/[^)]*)\)", page.read_text()):
                self.assertTrue((LABS / path).exists(), f"{page.name}: {path}")

    def test_another_figure_is_found(self):
        numbers = numbers_of(LABS / "results/lab3")
        self.assertTrue(stands_in("85.00 %", numbers))
        self.assertFalse(stands_in("85.01 %", numbers))
        self.assertTrue(stands_in("33.6 MB", [33554432.0]))
        self.assertEqual(figures_of("\n## A run\nIt has 85.01 % of int8.f4, 1.25 bits.\n## More\n2.5"), ["85.01 %", "1.25"])


if __name__ == "__main__":
    unittest.main()
