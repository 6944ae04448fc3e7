"""What type checkers see is what the module has."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import hone

PACKAGE = Path(hone.__file__).parent
SOURCES = Path(__file__).parents[2]


class Stubs(unittest.TestCase):
    def test_the_stub_is_what_the_module_has(self):
        with tempfile.TemporaryDirectory() as folder:
            stub = Path(folder) / "_hone.pyi"
            command = ["nanobind.stubgen", "-q", "-m", "hone._hone", "-P", "-p", SOURCES / "python/stubs.pattern", "-o", stub]
            subprocess.run([sys.executable, "-m", *map(str, command)], check=True, cwd=folder)
            self.assertEqual(
                stub.read_text(), (PACKAGE / "_hone.pyi").read_text(), "python/stubs.sh writes python/hone/_hone.pyi anew"
            )

    def test_the_package_and_its_examples_have_strict_types(self):
        for checked in (PACKAGE, *sorted((SOURCES / "examples/python").glob("*.py"))):
            with self.subTest(checked.name), tempfile.TemporaryDirectory() as folder:
                cache = os.environ.get("HONE_MYPY_CACHE", folder)
                environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
                without_torch = ["--exclude", "/hone/torch/"]  # where torch need not be
                command = [sys.executable, "-m", "mypy", "--strict", *without_torch, f"--cache-dir={cache}", str(checked)]
                done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
