"""torch.compile(backend="hone") beside eager PyTorch."""

import copy
import os
import unittest

import hone
import hone.torch
import torch
from networks import networks
from torch import nn
from torch.utils import _pytree as pytree


def tensors(tree):
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


class Backend(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.set_num_threads(1)

    def same(self, expected, found, bound=1e-5):
        self.assertEqual(len(expected), len(found))
        for a, b in zip(expected, found):
            self.assertEqual((a.dtype, a.shape, a.stride()), (b.dtype, b.shape, b.stride()))
            torch.testing.assert_close(b, a, rtol=bound, atol=bound)


class Inference(Backend):
    def test_whole_networks_run_in_hone(self):
        for name, (module, inputs) in networks().items():
            with self.subTest(name), torch.no_grad():
                module.eval()
                backend = hone.torch.Backend(fallback="error")
                self.same(tensors(module(*inputs)), tensors(torch.compile(module, backend=backend)(*inputs)))
                self.assertTrue(backend.graphs)
                self.assertFalse(any(graph.in_torch for graph in backend.graphs))

    def test_sizes_stay_open(self):
        module = nn.Sequential(nn.Linear(8, 4), nn.Softmax(-1)).eval()
        compiled = torch.compile(module, backend=hone.torch.backend)
        with torch.no_grad():
            for rows in (3, 5, 7, 1, 9):
                x = torch.randn(rows, 8)
                self.same([module(x)], [compiled(x)])

    def test_strides_aliases_mutations_and_odd_inputs_are_torchs(self):
        cases = {
            "channels last": (lambda x: torch.relu(x) + 1, torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)),
            "transposed": (lambda x: torch.relu(x) * 2, torch.randn(4, 5).t()),
            "expanded": (lambda x: torch.exp(x) + x, torch.randn(1, 5).expand(4, 5)),
            "no elements": (lambda x: torch.relu(x).sum(), torch.randn(0, 5)),
            "one number": (lambda x: torch.exp(x) - 1, torch.tensor(0.5)),
            "a view of an input": (lambda x: (x.view(-1), torch.relu(x) + 1), torch.randn(3, 4)),
            "a view of a result": (lambda x: (lambda y: (y, y.view(-1)))(torch.relu(x) + 1), torch.randn(3, 4)),
            "transposed result": (lambda x: (torch.relu(x) + 1).t(), torch.randn(3, 4)),
            "bf16": (lambda x: torch.softmax(x * 2, 1), torch.randn(3, 4, dtype=torch.bfloat16)),
            "integers": (lambda x: (x * 3 + 1).sum(0), torch.arange(12).reshape(3, 4)),
        }
        for name, (function, x) in cases.items():
            with self.subTest(name):
                torch._dynamo.reset()
                expected, found = function(x), torch.compile(function, backend=hone.torch.backend)(x)
                self.same(tensors(expected), tensors(found), 2e-2 if x.dtype == torch.bfloat16 else 1e-5)

    def test_an_input_that_is_written_has_the_new_elements(self):
        def function(x):
            x.mul_(2)
            return torch.relu(x) + 1

        mine, theirs = torch.randn(3, 4), None
        theirs = mine.clone()
        self.same([function(theirs)], [torch.compile(function, backend=hone.torch.backend)(mine)])
        self.same([theirs], [mine])

    def test_what_hone_does_not_take_stays_in_torch_and_is_said(self):
        function = lambda x: torch.linalg.inv(torch.softmax(x @ x, 1)) @ x
        x = torch.randn(4, 4)
        report = hone.torch.explain(function, x)
        self.assertIn("linalg", str(report))
        self.assertGreater(report.in_hone, 0)
        self.assertGreater(report.in_torch, 0)
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, "linalg"):
            torch.compile(function, backend=hone.torch.backend, options={"fallback": "error"})(x)

    def test_options_are_held_to_what_there_is(self):
        for options in ({"thread": 1}, {"fallback": "never"}):
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, "thread|never"):
                torch.compile(lambda x: x + 1, backend=hone.torch.backend, options=options)(torch.ones(2))


class Weights(Backend):
    def test_changes_are_seen(self):
        module = nn.Linear(8, 4).eval()
        compiled = torch.compile(module, backend=hone.torch.backend)
        x = torch.randn(3, 8)
        optimizer = torch.optim.AdamW(module.parameters(), lr=0.1, fused=True)

        def step():
            module(x).sum().backward()
            optimizer.step()

        changes = {
            "in place": lambda: (module.weight.data.copy_(torch.randn(4, 8)), hone.torch.refresh(module)),
            "by version": lambda: module.weight.add_(1),
            "loaded": lambda: module.load_state_dict(nn.Linear(8, 4).state_dict()),
            "other memory": lambda: setattr(module.weight, "data", torch.randn(4, 8)),
        }
        with torch.no_grad():
            self.same([module(x)], [compiled(x)])
            for name, change in changes.items():
                with self.subTest(name):
                    change()
                    self.same([module(x)], [compiled(x)])
        step()
        with torch.no_grad():
            self.same([module(x)], [compiled(x)])

    def test_silent_changes_are_found_where_asked_for(self):
        module = nn.Linear(8, 4).eval()
        x = torch.randn(3, 8)
        os.environ["HONE_CHECK_WEIGHTS"] = "1"
        try:
            compiled = torch.compile(module, backend=hone.torch.backend)
            with torch.no_grad():
                compiled(x)
                module.weight.data.numpy()[...] = 0
                with self.assertRaisesRegex(hone.Error, "refresh"):
                    compiled(x)
        finally:
            del os.environ["HONE_CHECK_WEIGHTS"]


class Training(Backend):
    def test_losses_are_those_of_eager_training(self):
        for name, (module, inputs) in networks().items():
            with self.subTest(name):
                torch._dynamo.reset()
                mine, theirs = copy.deepcopy(module).train(), copy.deepcopy(module).train()
                losses = [self.losses(mine, torch.compile(mine, backend=hone.torch.backend), inputs), self.losses(theirs, theirs, inputs)]
                torch.testing.assert_close(torch.tensor(losses[0]), torch.tensor(losses[1]), rtol=1e-4, atol=1e-5)

    def losses(self, module, call, inputs):
        optimizer, losses = torch.optim.AdamW(module.parameters(), lr=1e-2), []
        for _ in range(8):
            optimizer.zero_grad()
            found = tensors(call(*inputs))
            loss = found[0] if found[0].dim() == 0 else sum((x**2).mean() for x in found)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses


class Export(Backend):
    def test_a_module_becomes_a_graph_with_the_names_of_its_weights(self):
        module, inputs = networks()["convolutional"]
        graph = hone.torch.from_torch(module.eval(), *inputs)
        self.assertIn("first.weight", [value.label for value in graph.constants])
        with torch.no_grad():
            self.same([module(*inputs)], [hone.compile(graph)(*inputs).y0])

    def test_open_sizes_come_from_the_program(self):
        batch = torch.export.Dim("B", min=2, max=64)
        module = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
        program = torch.export.export(module, (torch.randn(3, 5, 16),), dynamic_shapes=({0: batch},))
        session = hone.compile(hone.torch.from_torch(program))
        with torch.no_grad():
            for rows in (2, 7):
                x = torch.randn(rows, 5, 16)
                self.same([module(x)], [session(x).y0])

    def test_what_is_not_known_is_named(self):
        with self.assertRaisesRegex(hone.Error, "linalg"):
            hone.torch.from_torch(Inverse(), torch.eye(3))


class Inverse(nn.Module):
    def forward(self, x):
        return torch.linalg.inv(x)


if __name__ == "__main__":
    unittest.main()
