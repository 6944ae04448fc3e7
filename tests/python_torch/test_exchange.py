"""Tensors of torch in and out, without copies."""

import unittest

import hone
import torch

SAME = [
    torch.bool, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2,
]  # fmt: skip


def relu(dtype: str) -> hone.Session:
    graph = hone.Graph("relu")
    graph.add_output(graph.op("relu", graph.add_input("x", f"{dtype}[B,4]")), "y")
    return hone.compile(graph)


def bits(tensor: torch.Tensor) -> list[int]:
    return tensor.contiguous().reshape(-1).view(torch.uint8).tolist()


class Exchange(unittest.TestCase):
    def test_every_type_goes_there_and_back_without_a_copy(self):
        for dtype in SAME:
            with self.subTest(dtype):
                tensor = torch.arange(6).to(torch.float32).to(dtype).reshape(2, 3)
                back = torch.from_dlpack(hone.Tensor(tensor))
                self.assertEqual((back.dtype, back.shape, back.data_ptr()), (dtype, tensor.shape, tensor.data_ptr()))
                self.assertEqual(bits(back), bits(tensor))
                scalar = hone.Tensor(tensor[0, 1])
                self.assertEqual(scalar.shape, ())
                self.assertEqual(hone.Tensor(tensor[:0]).shape, (0, 3))

    def test_strides_are_kept(self):
        base = torch.arange(24.0).reshape(4, 6)
        for view in (base.t(), base[::2, 1::2], base[0].expand(3, 6), base.reshape(1, 4, 6, 1).contiguous()):
            tensor = hone.Tensor(view)
            self.assertEqual(tensor.strides, view.stride())
            self.assertEqual(tensor.tolist(), view.tolist())

    def test_sessions_give_tensors_of_torch_for_those(self):
        for dtype, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
            session, x = relu(name), torch.randn(3, 4).to(dtype)
            y = session(x).y
            self.assertTrue(torch.equal(y, x.relu()))
            self.assertTrue(torch.equal(session(x.t().contiguous().t()).y, x.relu()))
            out = torch.empty(3, 4, dtype=dtype)
            self.assertIs(session.run({"x": x}, outputs={"y": out}).y, out)
            self.assertTrue(torch.equal(out, x.relu()))
            y.zero_()  # it is the caller's own

    def test_gradients_are_no_part_of_an_exchange(self):
        x = torch.ones(1, 4, requires_grad=True)
        self.assertFalse(relu("f32")(x).y.requires_grad)

    def test_what_is_no_memory_of_this_process_is_refused(self):
        session = relu("f32")
        for x, words in (
            (torch.empty(2, 4, device="meta"), "meta"),
            (torch.ones(2, 4).to_sparse(), "input x"),
            (torch._neg_view(torch.ones(2, 4)), "resolve_neg"),
            (torch.ones(2, 4, dtype=torch.complex64), "input x"),
            (torch.ones(2, 4, dtype=torch.float64), '"x".*f64'),
            (torch.ones(2, 5), '"x".*5'),
        ):
            with self.subTest(words), self.assertRaisesRegex(hone.Error, words):
                session(x)

    def test_formats_round_and_unpack_tensors_of_torch(self):
        form, x = hone.Format("mxint8"), torch.randn(4, 64)
        self.assertTrue(torch.equal(form.round(x), torch.from_dlpack(form.unpack(form.pack(x)))))
        codes = torch.arange(256, dtype=torch.uint8).view(torch.int8)
        values = hone.Format("mxint8.compat=mase-cuda").unpack(codes, torch.full((16,), 130, dtype=torch.uint8), 16)
        self.assertEqual(values.dtype, torch.bfloat16)
        expected = codes.to(torch.float32) / 64 * 2.0 ** (130 - 127)
        expected[128] = 0  # -128 has no magnitude there
        self.assertTrue(torch.equal(values.float(), expected))

    def test_importing_hone_does_not_import_torch_and_both_orders_work(self):
        import subprocess
        import sys

        for program in ("import torch, hone", "import hone, torch"):
            program += "; print(hone.Format('mxint8').round(torch.ones(1, 32)).sum().item(), torch.ones(2).sum().item())"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "32.0 2.0\n", ""))


if __name__ == "__main__":
    unittest.main()
