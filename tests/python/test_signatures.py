"""Keywords of functions are what the program's verbs take, with their defaults and texts."""

import inspect
import os
import re
import subprocess
import unittest

import hone

# Of the program alone: how models are opened, where results go, how long it may take.
OF_THE_PROGRAM = {
    "quantize": {"inputs", "format", "config", "output", "json", "mase_config", "mase_exact"},
    "bench": {
        "inputs", "format", "json", "html", "print_after", "output_dir", "samples", "type",
        *("op", "shape", "causal", "queries", "kv_heads", "kv_format", "page_rows", "on_demand", "rows", "weight_format", "calls"),  # of one operation
    },
    "evaluate": {"inputs", "model_format", "json", "print_after", "report"},
    "train": {"inputs", "model_format", "config", "output", "json", "print_after", "report"},
}  # fmt: skip
VERBS = {"quantize": "quantize", "bench": "bench", "evaluate": "evaluate", "train": "train", "compile": "run", "run": "run"} | {
    name: name for name in ("prune", "sweep", "allocate")
}
OF_A_SESSION = {"memory_limit"}


def flags(verb: str) -> dict[str, str]:
    """What the help says of each flag, by the option's name; flags that turn something off are the option turned off."""
    text = subprocess.run(
        [os.environ["HONE_PROGRAM"], verb, "--help"], capture_output=True, text=True, check=True
    ).stdout.split("\nLimits:")[0]
    parts = re.split(r"^  (?:-\w,)?--([\w-]+)", text, flags=re.M)
    found = {}
    for name, said in zip(parts[1::2], parts[2::2]):
        said = " ".join(said.split())
        option = name.removeprefix("no-") if "turn off that " in said else name
        found[option.replace("-", "_")] = said
    return found


def texts(function) -> dict[str, str]:
    """What a docstring says of each keyword."""
    lines = inspect.getdoc(function).split("Options:\n")[1]
    parts = re.split(r"^    (\w+): ", lines, flags=re.M)
    return {name.rstrip("_"): " ".join(text.split()) for name, text in zip(parts[1::2], parts[2::2])}


@unittest.skipUnless("HONE_PROGRAM" in os.environ, "needs the program of the same build: HONE_PROGRAM")
class Signatures(unittest.TestCase):
    def test_every_task_is_compared(self):
        self.assertEqual(set(hone._tasks.__all__), set(VERBS))

    def test_keywords_are_the_flags(self):
        for name, verb in VERBS.items():
            function, known = getattr(hone, name), flags(verb)
            parameters = {
                key.rstrip("_"): p for key, p in inspect.signature(function).parameters.items()
                if key not in ("model", "models", "inputs", "progress", "warning", *OF_A_SESSION)
            }  # fmt: skip; words of Python's own end in _
            with self.subTest(name):
                self.assertEqual(set(parameters) - set(known), set())
                if name in OF_THE_PROGRAM:  # the flags of `hone run` also say what runs
                    self.assertLessEqual(set(known) - set(parameters) - {"help"}, OF_THE_PROGRAM[name])
            for key, parameter in parameters.items():
                with self.subTest(name, option=key):
                    default = parameter.default
                    if default is True:
                        self.assertIn("turn off that ", known[key])
                    elif default not in (None, (), False):
                        self.assertIn(f"={default}".strip(), known[key])
                    self.assertIn(texts(function)[key][:40], known[key])


if __name__ == "__main__":
    unittest.main()
