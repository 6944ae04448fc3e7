"""What importing and using the package does to a process."""

import subprocess
import unittest

import hone._hone
from networks import python, two_layers


class Process(unittest.TestCase):
    def test_importing_loads_no_other_library(self):
        program = """
import sys
before = set(sys.modules)
import hone
loaded = {name.split('.')[0] for name in set(sys.modules) - before}
assert not loaded & {'numpy', 'torch', 'transformers', 'tqdm', 'pandas', 'optuna'}, loaded
tensor = hone.Tensor([[1.0, 2.0]])
session = hone.compile(hone.Graph.parse('graph g { %x: f32[N] = input "x"  %y: f32[N] = relu %x  return %y as "y" }'))
y = session(hone.Tensor([-1.0, 2.0])).y
assert y.tolist() == [0.0, 2.0]
assert 'numpy' not in sys.modules
"""
        done = python(program)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_the_module_shows_how_python_finds_it_and_nothing_else(self):
        symbols = subprocess.run(
            ["nm", "-D", "--defined-only", hone._hone.__file__], capture_output=True, text=True, check=True
        ).stdout.split("\n")
        shown = [line.split()[1:] for line in symbols if line]
        self.assertEqual([name for kind, name in shown if kind.isupper() and kind != "A"], ["PyInit__hone"])
        self.assertNotIn("u", [kind for kind, _ in shown])  # STB_GNU_UNIQUE: one for the whole process

    def test_leaks_are_reported(self):
        """nanobind reports objects that the end of the interpreter finds alive: no other test may print that."""
        leak = "import ctypes, hone; t = hone.Tensor([1.0]); ctypes.pythonapi.Py_IncRef(ctypes.py_object(t))"
        self.assertIn("leaked 1 instances", python(leak).stderr)
        used = "import copy, hone; t = hone.Tensor([1.0]); g = hone.Graph(); v = g.add_input('x', 'f32[1]'); n = g.op('relu', v).node"
        self.assertEqual(python(used).stderr, "")

    def test_messages_go_to_a_sink(self):
        said: list[tuple[bool, str]] = []
        hone.set_log_sink(lambda is_warning, text: said.append((is_warning, text)))
        try:
            hone.compile(two_layers(), device="auto")
            told = list(said)
        finally:
            hone.set_log_sink(None)
        self.assertEqual({is_warning for is_warning, _ in told}, {False})
        self.assertTrue(any("auto is cpu" in text for _, text in told), told)
        hone.compile(two_layers(), device="auto")
        self.assertEqual(said, told)

    def test_a_sink_that_raises_ends_nothing(self):
        program = """
import hone
from networks import two_layers
hone.set_log_sink(lambda is_warning, text: 1 / 0)
hone.compile(two_layers(), device="auto")
print("went on")
"""
        done = python(program)
        self.assertEqual((done.returncode, done.stdout), (0, "went on\n"))
        self.assertIn("ZeroDivisionError", done.stderr)
        self.assertNotIn("leaked", done.stderr)

    def test_errors_are_classes_of_the_package(self):
        self.assertTrue(issubclass(hone.Error, ValueError))
        self.assertTrue(issubclass(hone.MemoryError, MemoryError))
        self.assertFalse(issubclass(hone.Cancelled, hone.Error))
        for name in ("Error", "MemoryError", "FormatError", "Cancelled", "InternalError"):
            self.assertEqual(getattr(hone, name).__name__, name)


if __name__ == "__main__":
    unittest.main()
