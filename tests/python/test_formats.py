import unittest

import hone
import numpy as np


class Formats(unittest.TestCase):
    def test_packing_and_unpacking_round_as_rounding_does(self):
        x = np.random.default_rng(1).standard_normal((4, 64), dtype=np.float32)
        for text in ("mxint8", "int4.g32", "mxfp8_e4m3", "fp16", "bfp4"):
            with self.subTest(text):
                form = hone.Format(text)
                rounded = form.round(x)
                self.assertIsInstance(rounded, np.ndarray)
                np.testing.assert_array_equal(np.asarray(form.unpack(form.pack(x)).numpy()), rounded)
                self.assertLess(np.abs(rounded - x).max(), 1.0)
                self.assertFalse(np.array_equal(rounded, x))

    def test_planes_are_arrays_of_bytes_and_back(self):
        form = hone.Format("mxint8")
        packed = form.pack(np.linspace(-2, 2, 96, dtype=np.float32).reshape(3, 32))
        planes = form.planes(packed)
        codes, scales = np.asarray(planes["codes"]), np.asarray(planes["scales"])
        self.assertEqual((codes.size, scales.size), (96, 3))
        again = form.unpack(codes.reshape(3, 32), scales)
        np.testing.assert_array_equal(again, form.unpack(packed).numpy())
        with self.assertRaises(hone.Error):
            form.unpack(codes.reshape(3, 32), scales[:2])
        four = hone.Format("int4.g32").pack(np.ones((2, 32), np.float32))
        planes = hone.Format("int4.g32").planes(four)
        np.testing.assert_array_equal(
            hone.Format("int4.g32").unpack(np.asarray(planes["codes"]), planes["scales"], shape=(2, 32)), np.ones((2, 32))
        )

    def test_every_byte_and_scale_of_mase_cuda(self):
        """By the rule of docs/FORMATS.md, section 7: sign | scale << 7 | (|m| & 63) << 1, less sign | scale << 7 where bit 6 is 0."""
        bytes_ = np.tile(np.arange(256, dtype=np.uint8), 255)
        scales = np.repeat(np.arange(255, dtype=np.uint8), 256 // 16)
        form = hone.Format("mxint8.compat=mase-cuda")
        got = form.unpack(bytes_.view(np.int8), scales, 16, dtype="f32")
        m = bytes_.view(np.int8).astype(np.int32)
        sign, exponent, size = np.where(m < 0, 0x8000, 0), np.repeat(scales, 16).astype(np.int32) << 7, np.abs(m)

        def value(bits: np.ndarray) -> np.ndarray:
            return (bits.astype(np.uint32) << 16).view(np.float32)

        whole = value(sign | exponent | (size & 0x3F) << 1)
        expected = np.where(size & 0x40, whole, whole - value(sign | exponent))
        np.testing.assert_array_equal(got, expected)
        half = form.unpack(hone.Tensor(bytes_.view(np.int8)), scales, 16)
        self.assertEqual(half.dtype, "bf16")
        np.testing.assert_array_equal(half.to("f32").numpy(), expected)

    def test_what_one_knows_of_a_format(self):
        form = hone.Format("int4.g128")
        self.assertEqual((form.text, form.family), ("int4.g128", "int<W>"))
        self.assertGreater(form.bits, 4)
        self.assertEqual(form, hone.Format("int4.g128"))
        self.assertIn("mxint<W>", [family.name for family in hone.list_formats()])
        self.assertEqual(hone.expand_formats(["int{4..5}.g32"]), ["int4.g32", "int5.g32"])

    def test_what_is_no_format_says_where(self):
        with self.assertRaises(hone.FormatError) as caught:
            hone.Format("mxint9")
        self.assertIsInstance(caught.exception, (hone.Error, ValueError))
        self.assertTrue(caught.exception.code.startswith("E_"))
        self.assertGreaterEqual(caught.exception.position, 0)
        with self.assertRaises(hone.Error):
            hone.Format("mxint8").pack(np.ones((2, 32), np.int64))


if __name__ == "__main__":
    unittest.main()
