"""What docs/python.md and examples/python show works."""

import contextlib
import io
import os
import re
import runpy
import tempfile
import unittest
from pathlib import Path

import hone
from networks import two_layers

SOURCES = Path(__file__).parents[2]


class Docs(unittest.TestCase):
    def setUp(self):
        self.enterContext(contextlib.chdir(self.enterContext(tempfile.TemporaryDirectory())))
        self.output = self.enterContext(contextlib.redirect_stdout(io.StringIO()))

    def test_the_page_runs_from_top_to_bottom(self):
        page = (SOURCES / "docs/python.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
        self.assertGreater(len(blocks), 4)
        names: dict[str, object] = {}
        for block in blocks:
            exec(compile(block, "docs/python.md", "exec"), names)
        self.assertIn("hidden.weight", self.output.getvalue())
        self.assertTrue(os.path.exists("small.safetensors"))

    def test_functions_that_the_page_names_are_there(self):
        page = (SOURCES / "docs/python.md").read_text()
        for name in set(re.findall(r"\bhone\.([A-Za-z_]\w*)", page)):
            with self.subTest(name):
                self.assertTrue(hasattr(hone, name))

    def test_examples_run(self):
        threads = runpy.run_path(str(SOURCES / "examples/python/threads.py"))
        threads["main"]()
        self.assertIn("32 answers", self.output.getvalue())
        hone.save(two_layers(), "model.onnx")
        runpy.run_path(str(SOURCES / "examples/python/compress.py"))["main"]("model.onnx", "small.safetensors", "mxint8")
        self.assertIn("cosine 0.99", self.output.getvalue())


if __name__ == "__main__":
    unittest.main()
