import os
import signal
import tempfile
import threading
import unittest

import hone
import numpy as np
from networks import two_layers


class Quantizing(unittest.TestCase):
    def test_a_model_and_what_became_of_each_tensor(self):
        model = hone.Model(two_layers())
        result = hone.quantize(model, "mxint8", rule="head=keep")
        after = {tensor.name: tensor.after for tensor in result.tensors}
        self.assertEqual(after, {"hidden.weight": "mxint8", "head.weight": "fp32"})
        self.assertLess(result.weight_bytes_after, result.weight_bytes_before)
        x = np.ones((2, 64), np.float32)
        np.testing.assert_allclose(result.model(x).y, model(x).y, rtol=0.1, atol=1)
        self.assertEqual(model.graph.constants[0].type, "f32[64,64]")

    def test_results_are_texts_tables_and_dicts(self):
        result = hone.quantize(hone.Model(two_layers()), "int4.g32")
        self.assertRegex(repr(result), r"hone.QuantizeResult\(model=<hone.Model .*tensors=\[hone.QuantizedTensor")
        html = result._repr_html_()
        self.assertIn("<th>sqnr_db</th>", html)
        self.assertIn("hidden.weight", html)
        plain = result.to_dict()
        self.assertEqual(plain["tensors"][0]["after"], "int4.g32")
        self.assertIs(plain["tensors"][0]["name"].__class__, str)

    def test_calibration_data_are_arrays_by_the_names_of_inputs(self):
        model = hone.Model(two_layers())
        x = np.random.default_rng(1).standard_normal((32, 64), dtype=np.float32)
        asked = {"method": "gptq"}
        with self.assertRaisesRegex(hone.Error, "calib"):
            hone.quantize(model, "int4.g32", **asked)
        better = hone.quantize(model, "int4.g32", calib={"x": x}, **asked).model
        plain = hone.quantize(model, "int4.g32").model
        errors = [float(np.abs(m(x).y - model(x).y).mean()) for m in (better, plain)]
        self.assertLess(errors[0], errors[1])
        with self.assertRaises(hone.Error):
            hone.quantize(model, "int4.g32", calib={"z": x}, **asked)

    def test_progress_and_warnings_are_told(self):
        said = []
        hone.quantize(hone.Model(two_layers()), "mxint8", progress=said.append)
        self.assertEqual(said[0], "quantizing")

    def test_what_a_callback_raises_passes_through(self):
        class Own(Exception):
            pass

        def fail(_):
            raise Own("mine")

        with self.assertRaisesRegex(Own, "mine"):
            hone.quantize(hone.Model(two_layers()), "mxint8", progress=fail)
        hone.quantize(hone.Model(two_layers()), "mxint8")

    def test_control_c_in_a_task(self):
        def interrupt(_):
            os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            hone.quantize(hone.Model(two_layers()), "mxint8", progress=interrupt)

    def test_mistakes_name_the_option(self):
        model = hone.Model(two_layers())
        with self.assertRaisesRegex(hone.Error, "nothing"):
            hone.quantize(model, "mxint8", rule="nothing=keep")
        with self.assertRaisesRegex(TypeError, "damping.*a number"):
            hone.quantize(model, "mxint8", damping="much")
        with self.assertRaisesRegex(TypeError, "calib_batch.*whole number.*True"):
            hone.quantize(model, "mxint8", calib_batch=True)
        with self.assertRaises(TypeError):
            hone.quantize(model, "mxint8", no_such=1)
        with self.assertRaisesRegex(TypeError, "hone.Model"):
            hone.quantize("model", "mxint8")

    def test_tasks_run_in_threads(self):
        model, results = hone.Model(two_layers()), []
        threads = [threading.Thread(target=lambda: results.append(hone.quantize(model, "mxint8"))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([r.weight_bytes_after for r in results], [results[0].weight_bytes_after] * 3)


class Measuring(unittest.TestCase):
    def test_models_are_timed_beside_each_other(self):
        model = hone.Model(two_layers())
        small = hone.quantize(model, "mxint8").model
        result = hone.bench([model, small], seconds=0.2)
        self.assertEqual(len(result.models), 2)
        self.assertGreater(result.models[0].median_ns, 0)
        self.assertGreater(result.models[1].comparison.ratio, 0)
        self.assertEqual(len(hone.bench(model, seconds=0.1).models), 1)
        with self.assertRaises(TypeError):
            hone.bench([model, "other"])

    def test_one_run(self):
        graph, x = two_layers(), np.ones((2, 64), np.float32)
        np.testing.assert_array_equal(hone.run(graph, {"x": x}, threads=2).y, hone.compile(graph)(x).y)

    def test_what_a_model_holds(self):
        info = hone.info(hone.Model(two_layers()), {"B": 2})
        self.assertEqual(info.parameters, 64 * 64 + 3 * 64)
        self.assertEqual(info.ops, {"linear": 2, "relu": 1})
        self.assertEqual(info.sizes, {"B": 2})


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rng = np.random.default_rng(5)
        x = rng.standard_normal((120, 64), dtype=np.float32)
        cls.data = {"x": x, "label": (x[:, 0] > 0).astype(np.int64)}

    def test_a_model_learns_arrays_and_is_judged_on_them(self):
        model = hone.Model(two_layers())
        before = hone.evaluate(model, self.data, metric="accuracy").models[0].figures[0]
        with tempfile.TemporaryDirectory() as folder:
            result = hone.train(model, self.data, epochs=8, folder=folder, head="replace", rate=0.01)
        self.assertGreater(result.steps, 8)
        self.assertTrue(all(entry.values for entry in result.history))
        after = hone.evaluate([model, result.model], self.data, metric="accuracy").models[1].figures[0]
        self.assertEqual((after.name, after.samples), ("accuracy", 120))
        self.assertGreater(after.value, max(before.value, 0.8))

    def test_what_is_missing_is_said(self):
        model = hone.Model(two_layers())
        with self.assertRaises(hone.Error):
            hone.train(model, {"x": self.data["x"]})
        with self.assertRaisesRegex(hone.Error, "nowhere"):
            hone.evaluate(model, "nowhere.csv")
        with self.assertRaisesRegex(hone.Error, "data"):
            hone.evaluate(model)


if __name__ == "__main__":
    unittest.main()
