import copy
import unittest

import hone
import numpy as np
from networks import two_layers, two_layers_in_numpy


class Building(unittest.TestCase):
    def test_values_know_their_types_users_and_nodes(self):
        graph = hone.Graph("g")
        x = graph.add_input("x", "f32[B,4]")
        (y,) = graph.add_node("relu", [x], name="positive")
        self.assertEqual((y.name, y.type, y.dtype, y.shape, y.kind), ("positive", "f32[B,4]", "f32", ["B", "4"], "result"))
        self.assertEqual(x.kind, "input")
        self.assertEqual(x.users, [(y.node, 0)])
        self.assertEqual(y.node.operands, (x,))
        self.assertEqual(y.node.results, (y,))
        self.assertIsNone(x.node)
        self.assertEqual(graph.symbols, ["B"])

    def test_every_operation_says_what_it_takes(self):
        ops = {op.name: op for op in hone.list_ops()}
        self.assertGreater(len(ops), 200)
        self.assertEqual([o.name for o in ops["linear"].operands], [o.name for o in hone.op_info("linear").operands])
        with self.assertRaisesRegex(hone.Error, "linear"):
            hone.op_info("linaer")

    def test_attributes_come_back_as_they_were_given(self):
        graph = hone.Graph("g")
        x = graph.add_input("x", "f32[2,3]")
        y = graph.op("transpose", x, perm=(1, 0))
        self.assertEqual(y.type, "f32[3,2]")
        self.assertEqual(y.node.attributes["perm"], [1, 0])
        y.node.set_attribute("perm", [0, 1])
        self.assertEqual(y.type, "f32[2,3]")
        with self.assertRaises(hone.Error):
            y.node.set_attribute("no_such", 1)
        self.assertEqual(y.type, "f32[2,3]")

    def test_absent_operands_are_none(self):
        graph = two_layers()
        linear = graph.nodes[0]
        x, weight = linear.operands[:2]
        y = graph.add_node("linear", [x, weight, None])[0]
        self.assertIn(y.node.operands, ((x, weight), (x, weight, None)))

    def test_several_results_are_a_tuple(self):
        graph = hone.Graph("g")
        x = graph.add_input("x", "f32[4,6]")
        values, indices = graph.op("top_k", x, graph.add_constant(np.int64(2)))
        self.assertEqual((values.dtype, indices.dtype), ("f32", "i64"))

    def test_what_does_not_fit_names_the_types(self):
        graph = hone.Graph("g")
        x = graph.add_input("x", "f32[2,3]")
        with self.assertRaisesRegex(hone.Error, r"matmul.*f32\[2,3\]"):
            graph.op("matmul", x, x)
        with self.assertRaisesRegex(TypeError, "add_constant"):
            graph.op("relu", np.zeros(3))
        with self.assertRaisesRegex(hone.Error, "another graph"):
            hone.Graph("h").op("relu", x)
        self.assertEqual(graph.nodes, [])

    def test_state_and_parameters(self):
        graph = hone.Graph("counter")
        x = graph.add_input("x", "f32[2]")
        total = graph.add_state("total", np.zeros(2, np.float32))
        scale = graph.add_parameter("scale", np.full(2, 3, np.float32))
        after = graph.op("add", total, graph.op("mul", x, scale))
        graph.add_update(total, after)
        graph.add_output(after, "sum")
        self.assertEqual([v.kind for v in graph.inputs], ["input", "state", "parameter"])
        self.assertEqual(graph.updates, [(total, after)])
        session, context = hone.compile(graph), hone.Context()
        for expected in (3, 6):
            y = session.run({"x": np.ones(2, np.float32)}, context)
            np.testing.assert_array_equal(y["sum"], np.full(2, expected, np.float32))
        np.testing.assert_array_equal(np.asarray(context.state("total")), np.full(2, 6, np.float32))
        session.set_parameters({"scale": np.full(2, 1, np.float32)})
        self.assertEqual(session.run({"x": np.ones(2, np.float32)}, context)["sum"][0], 7)


class Changing(unittest.TestCase):
    def test_what_has_users_is_not_erased_and_they_are_named(self):
        graph = two_layers()
        first = graph.nodes[0]
        with self.assertRaisesRegex(hone.Error, "relu"):
            first.erase()
        with self.assertRaisesRegex(hone.Error, "linear"):
            graph.inputs[0].erase()
        self.assertEqual(len(graph.nodes), 3)

    def test_a_node_is_taken_out(self):
        graph = two_layers()
        relu = next(node for node in graph.nodes if node.op == "relu")
        relu.results[0].replace_by(relu.operands[0])
        relu.erase()
        self.assertEqual([node.op for node in graph.nodes], ["linear", "linear"])
        with self.assertRaisesRegex(hone.Error, "no node"):
            relu.op
        graph.verify()
        x = np.ones((2, 64), np.float32)
        hidden, head = (np.asarray(c.tensor) for c in graph.constants)
        np.testing.assert_allclose(hone.compile(graph)(x).y, x @ hidden.T @ head.T, rtol=1e-4, atol=1e-3)

    def test_nodes_are_put_before_another(self):
        graph = two_layers()
        relu = graph.nodes[1]
        graph.set_insertion_point(relu)
        relu.set_operand(0, graph.op("neg", relu.operands[0]))
        graph.set_insertion_point(None)
        self.assertEqual([node.op for node in graph.nodes], ["linear", "neg", "relu", "linear"])
        with self.assertRaisesRegex(hone.Error, "another graph"):
            graph.set_insertion_point(two_layers().nodes[0])

    def test_outputs_keep_their_order(self):
        graph = two_layers()
        y, x = graph.outputs["y"], graph.inputs[0]
        graph.set_outputs({"second": y, "first": x})
        self.assertEqual(list(graph.outputs), ["second", "first"])

    def test_copies_do_not_see_changes(self):
        graph = two_layers()
        other = copy.deepcopy(graph)
        other.set_outputs({"renamed": other.outputs["y"]})
        self.assertEqual(list(graph.outputs), ["y"])

    def test_text_is_parsed_again(self):
        graph = two_layers()
        constants = {c.label: c.tensor for c in graph.constants}
        again = hone.Graph.parse(graph.text(), constants)
        self.assertEqual(str(again), str(graph))
        with self.assertRaisesRegex(hone.Error, "2:8.*no_such"):
            hone.Graph.parse("graph g {\n  %y = no_such %x\n}")

    def test_passes_give_a_new_graph(self):
        graph = two_layers()
        names = [p.name for p in hone.list_passes()]
        self.assertIn("fold_constants", names)
        changed = graph.after_passes(["fold_constants"])
        self.assertEqual(len(changed.nodes), len(graph.nodes))
        with self.assertRaises(hone.Error):
            graph.after_passes(["fold_constant"])

    def test_passes_of_ones_own(self):
        graph, seen = two_layers(), []

        def without_relu(changed):
            for node in changed.nodes:
                if node.op == "relu":
                    node.results[0].replace_by(node.operands[0])
                    node.erase()
            return changed

        made = hone.run_passes(
            graph, ["fold_constants", without_relu], after=lambda name, g: seen.append((name, len(g.nodes)))
        )
        self.assertEqual(seen, [("fold_constants", 3), ("without_relu", 2)])
        self.assertEqual((len(made.nodes), len(graph.nodes)), (2, 3))
        for bad, words in ((lambda g: None, "NoneType"), (lambda g: g.nodes[0].erase(), "used by")):
            with self.assertRaisesRegex((TypeError, hone.Error), words) as caught:
                hone.run_passes(graph, [bad])
            self.assertEqual(caught.exception.__notes__, ["in the pass <lambda>"])
        with self.assertRaises(hone.Error):
            hone.run_passes(graph, ["no_such_pass"])

    def test_sizes_in_place_of_symbols(self):
        graph = two_layers().with_sizes({"B": 5})
        self.assertEqual(graph.inputs[0].type, "f32[5,64]")
        self.assertEqual(two_layers_in_numpy(graph, np.ones((5, 64), np.float32)).shape, (5, 3))


if __name__ == "__main__":
    unittest.main()
