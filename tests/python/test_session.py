import copy
import os
import pickle
import signal
import sys
import tempfile
import threading
import unittest

import hone
import numpy as np
from networks import long_run, python, two_layers, two_layers_in_numpy


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.graph = two_layers()
        cls.session = hone.compile(cls.graph)

    def test_arrays_in_arrays_out_by_order_and_by_name(self):
        x = np.random.default_rng(2).standard_normal((5, 64), dtype=np.float32)
        expected = two_layers_in_numpy(self.graph, x)
        for y in (self.session(x), self.session(x=x), self.session.run({"x": x})):
            self.assertIsInstance(y.y, np.ndarray)
            np.testing.assert_allclose(y.y, expected, rtol=1e-4, atol=1e-3)
            self.assertTrue(y.y.flags.writeable)
        self.assertIsInstance(self.session(hone.Tensor(x)).y, hone.Tensor)
        np.testing.assert_allclose(self.session(x.tolist()).y, expected, rtol=1e-4, atol=1e-3)
        with self.assertRaisesRegex(AttributeError, "y"):
            self.session(x).logits

    def test_inputs_are_read_with_their_strides(self):
        x = np.random.default_rng(3).standard_normal((64, 5), dtype=np.float32)
        np.testing.assert_array_equal(self.session(x.T).y, self.session(np.ascontiguousarray(x.T)).y)
        np.testing.assert_array_equal(self.session(x.T[::2]).y, self.session(np.ascontiguousarray(x.T[::2])).y)

    def test_outputs_are_written_where_the_caller_wants_them(self):
        x, out = np.ones((2, 64), np.float32), np.zeros((3, 2), np.float32).T
        y = self.session.run({"x": x}, outputs={"y": out})
        self.assertIs(y.y, out)
        np.testing.assert_array_equal(out, self.session(x).y)
        out.flags.writeable = False
        with self.assertRaisesRegex(hone.Error, "y"):
            self.session.run({"x": x}, outputs={"y": out})

    def test_what_does_not_fit_names_the_input(self):
        good = np.ones((2, 64), np.float32)
        for call, words in (
            (lambda: self.session(good.astype(np.float64)), '"x".*f64'),
            (lambda: self.session(good[:, :3]), '"x".*3'),
            (lambda: self.session(), '"x"'),
            (lambda: self.session(z=good), '"z"'),
            (lambda: self.session([[1.0], [1.0, 2.0]]), "input x"),
            (lambda: self.session(object()), "input x"),
        ):
            with self.assertRaisesRegex(hone.Error, words):
                call()
        for call, words in (
            (lambda: self.session(good, good), "takes 1 inputs"),
            (lambda: self.session(good, x=good), "given twice"),
        ):
            with self.assertRaisesRegex(TypeError, words):
                call()

    def test_options_have_names_types_and_values(self):
        with self.assertRaisesRegex(TypeError, "no_such"):
            hone.compile(self.graph, no_such=1)
        with self.assertRaisesRegex(TypeError, "threads.*whole number"):
            hone.compile(self.graph, threads="two")
        with self.assertRaises(hone.Error):
            hone.compile(self.graph, device="abacus")
        with self.assertRaisesRegex(TypeError, "hone.load"):
            hone.compile("model.onnx")

    def test_any_number_of_threads_use_one_session(self):
        x = np.random.default_rng(4).standard_normal((4, 64), dtype=np.float32)
        expected, failures = self.session(x).y, []

        def work():
            for _ in range(50):
                if not np.array_equal(self.session(x).y, expected):
                    failures.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_what_cannot_be_copied_says_so(self):
        for change in (copy.deepcopy, pickle.dumps):
            with self.assertRaises(TypeError):
                change(self.session)

    def test_reprs_say_what_one_has(self):
        self.assertEqual(repr(self.session), "<hone.Session x: f32[B,64] → y: f32[B,3]>")
        self.assertEqual(repr(self.session(np.ones((2, 64), np.float32))), "hone.Outputs(y=float32[2, 3])")
        self.assertIn("<th>parameters</th><td>4288</td>", hone.Model(self.graph)._repr_html_())
        self.assertRegex(self.graph._repr_html_(), "<pre>graph two_layers(.|\n)*const &quot;hidden.weight&quot;(.|\n)*</pre>")
        self.assertGreater(self.session.statistics.prepacked_bytes + self.session.statistics.direct_weight_bytes, 0)


class Ends(unittest.TestCase):
    def test_another_thread_cancels_a_run(self):
        session, inputs = long_run()
        context = hone.Context()
        threading.Timer(0.3, context.cancel).start()
        with self.assertRaises(hone.Cancelled):
            session.run(inputs, context)

    def test_closing_ends_runs_and_refuses_new_ones(self):
        session, inputs = long_run()
        threading.Timer(0.3, session.close).start()
        with self.assertRaises(hone.Cancelled):
            session.run(inputs)
        with self.assertRaises(hone.Error):
            session.run(inputs)

    def test_control_c_in_the_middle_of_a_run(self):
        session, inputs = long_run()
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            session.run(inputs)
        graph = two_layers()
        hone.compile(graph)(np.ones((1, 64), np.float32))  # and all goes on

    def test_other_handlers_of_control_c_are_called(self):
        calls = []
        before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
        try:
            session, inputs = long_run()
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(hone.Cancelled):
                session.run(inputs)
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(calls, [1])

    def test_the_interpreter_ends_with_runs_under_way(self):
        program = """
import threading, time
from networks import long_run
session, inputs = long_run()
threading.Thread(target=session.run, args=(inputs,), daemon=True).start()
time.sleep(0.3)
"""
        ended = python(program)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertNotIn("leaked", ended.stderr)

    def test_children_of_fork_run(self):
        program = """
import os, sys, threading, time, hone, numpy as np
from networks import long_run, two_layers
other, inputs = long_run()
context = hone.Context()
def run():
    try:
        other.run(inputs, context)
    except hone.Cancelled:
        pass
under_way = threading.Thread(target=run)
under_way.start()
session = hone.compile(two_layers(256), threads=2)
x = np.ones((64, 256), np.float32)
expected = session(x).y
child = os.fork()
if child == 0:
    sys.exit(0 if np.array_equal(session(x).y, expected) else 1)  # and waits for no run of the parent's
assert os.waitpid(child, 0)[1] == 0
context.cancel()
under_way.join()
"""
        ended = python(program)
        self.assertEqual(ended.returncode, 0, ended.stderr)


class Files(unittest.TestCase):
    def test_saved_and_loaded(self):
        graph = two_layers()
        x = np.ones((2, 64), np.float32)
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("safetensors", "onnx"):
                path = os.path.join(folder, f"m.{ending}")
                saved = hone.save(graph, path)
                self.assertEqual(saved.files, [path])
                self.assertEqual(saved.bytes, os.path.getsize(path))
                model = hone.load(path)
                self.assertEqual(model.path, path)
                np.testing.assert_allclose(model(x).y, hone.compile(graph)(x).y, rtol=1e-5, atol=1e-4)
            with self.assertRaisesRegex(hone.Error, "nothing.onnx"):
                hone.load(os.path.join(folder, "nothing.onnx"))
            with self.assertRaises(hone.Error):
                hone.save(graph, os.path.join(folder, "m.txt"))

    def test_models_are_copied_and_pickled(self):
        model = hone.Model(two_layers())
        x = np.ones((2, 64), np.float32)
        for other in (copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(other(x).y, model(x).y)
            self.assertEqual(str(other), str(model))


if __name__ == "__main__":
    unittest.main()
