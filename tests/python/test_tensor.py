import copy
import gc
import pickle
import unittest
import weakref

import hone
import numpy as np

DTYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64]


class Arrays(unittest.TestCase):
    def test_every_type_goes_there_and_back_without_a_copy(self):
        for dtype in DTYPES:
            for array in (np.arange(6).astype(dtype).reshape(2, 3), np.array(1, dtype), np.zeros((0, 3), dtype)):
                with self.subTest(dtype=dtype, shape=array.shape):
                    tensor = hone.Tensor(array)
                    self.assertEqual(tensor.shape, array.shape)
                    for back in (np.asarray(tensor), np.from_dlpack(tensor)):
                        np.testing.assert_array_equal(back, array)
                        self.assertEqual(back.dtype, array.dtype)
                        self.assertEqual(np.shares_memory(back, array), array.size > 0)

    def test_strides_are_kept(self):
        base = np.arange(24, dtype=np.float32).reshape(4, 6)
        views = {"transposed": base.T, "steps": base[::2, 1::2], "reversed": base[::-1], "expanded": np.broadcast_to(base[0], (3, 6))}
        for name, view in views.items():
            with self.subTest(name):
                tensor = hone.Tensor(view)
                self.assertEqual(tensor.strides, tuple(s // 4 for s in view.strides))
                np.testing.assert_array_equal(np.asarray(tensor), view)
                np.testing.assert_array_equal(np.asarray(tensor.contiguous()), view)
                self.assertEqual(tensor.tolist(), view.tolist())

    def test_read_only_stays_read_only(self):
        array = np.ones(3, np.float32)
        array.flags.writeable = False
        self.assertTrue(hone.Tensor(array).is_read_only)
        self.assertFalse(np.asarray(hone.Tensor(array)).flags.writeable)
        self.assertTrue(hone.Tensor(b"abc").is_read_only)

    def test_what_hone_does_not_have_is_refused_by_name(self):
        record = np.zeros(3, dtype=[("a", "f4"), ("b", "i1")])
        for array, words in (
            (np.zeros(3, np.complex64), "complex|Zf"),
            (np.zeros(3, ">f4"), "newbyteorder"),
            (record["a"], "bytes"),
            (np.zeros(3, "datetime64[s]"), ""),
        ):
            with self.subTest(array.dtype), self.assertRaisesRegex((hone.Error, ValueError), words):
                hone.Tensor(array)

    def test_numbers_and_texts_in_lists(self):
        self.assertEqual(hone.Tensor([[1, 2], [3, 4]]).type, "i64[2,2]")
        self.assertEqual(hone.Tensor([1, 2.5]).type, "f32[2]")
        self.assertEqual(hone.Tensor([True, False]).type, "bool[2]")
        self.assertEqual(hone.Tensor(["a", "é"]).tolist(), ["a", "é"])
        self.assertEqual(hone.Tensor(3).shape, ())
        self.assertEqual(hone.Tensor([1.0], dtype="f16").dtype, "f16")
        for bad in ([[1, 2], [3]], [1, [2]], [[1], 2], [None], {}, object()):
            with self.subTest(bad), self.assertRaises(hone.Error):
                hone.Tensor(bad)
        with self.assertRaisesRegex(hone.Error, "bf16"):
            hone.Tensor([1.0], dtype="float")

    def test_texts_of_numpy(self):
        array = np.array([["a", "bc"]], dtype=object)
        np.testing.assert_array_equal(hone.Tensor(array).numpy(), array)
        self.assertEqual(hone.Tensor(np.array(["x", "yz"])).tolist(), ["x", "yz"])

    def test_types_that_numpy_lacks_stay_tensors(self):
        half = hone.Tensor([1.0, 2.0], dtype="bf16")
        try:
            import ml_dtypes
        except ModuleNotFoundError:
            self.assertIsInstance(half.numpy(), hone.Tensor)
        else:
            self.assertEqual(half.numpy().dtype, ml_dtypes.bfloat16)
            self.assertEqual(hone.Tensor(half.numpy()).type, "bf16[2]")
        np.testing.assert_array_equal(half.to("f32").numpy(), [1, 2])

    def test_memory_lives_as_long_as_its_last_reader(self):
        array = np.arange(1000, dtype=np.float32)
        tensor = hone.Tensor(array)
        freed = weakref.ref(array)
        del array
        gc.collect()
        self.assertIsNotNone(freed())
        view = np.asarray(tensor)
        del tensor
        gc.collect()
        self.assertEqual(view.sum(), 499500)
        del view
        gc.collect()
        self.assertIsNone(freed())

    def test_copies_are_of_their_own(self):
        array = np.ones(3, np.float32)
        for own in (copy.deepcopy(hone.Tensor(array)), pickle.loads(pickle.dumps(hone.Tensor(array)))):
            array[:] = 5
            self.assertEqual(own.tolist(), [1, 1, 1])
            array[:] = 1
        packed = hone.Format("mxint8").pack(np.ones((2, 32), np.float32))
        again = pickle.loads(pickle.dumps(packed))
        self.assertEqual((again.type, again.to("f32").tolist()), (packed.type, packed.to("f32").tolist()))
        self.assertEqual(pickle.loads(pickle.dumps(hone.Tensor(["a"]))).tolist(), ["a"])

    def test_consumers_of_dlpack_are_told_what_they_cannot_have(self):
        tensor = hone.Tensor([1.0])
        with self.assertRaises(BufferError):
            tensor.__dlpack__()
        with self.assertRaises(BufferError):
            tensor.__dlpack__(max_version=(1, 0), dl_device=(2, 0))
        with self.assertRaises(BufferError):
            memoryview(hone.Tensor(["a"]))
        tensor.__dlpack__(max_version=(1, 0))  # nobody takes it over


if __name__ == "__main__":
    unittest.main()
