"""Golden vectors for scales stored as fp16 or bf16 (option s=, docs/FORMATS.md, section 4.1): writes the file that is given.

Independent of hone: values come from NumPy's own float16, bfloat16 by rounding bits, and searches over all codes of an
element type; codes are packed as decimal integers. Run: python golden_scale_type.py ../../tests/data/formats/scale_type.json
"""
import json
import math
import sys

import numpy as np

F32 = np.float32
NAN_BITS = {"fp16": 0x7E00, "bf16": 0x7FC0}
SMALLEST_NORMAL = {"fp16": F32(2.0**-14), "bf16": F32(2.0**-126)}


def bits_of(x):
    return int(np.array(x, F32).view(np.uint32))


def from_bits(b):
    return np.array(b, np.uint32).view(F32)[()]


def store(s, kind):
    """The bit pattern of f32 s in fp16 or bf16, nearest even, at most the largest finite number."""
    s = F32(s)
    if kind == "fp16":
        h = np.float16(min(float(s), 65504.0))  # from 65504 up everything becomes the largest
        return int(h.view(np.uint16))
    b = bits_of(s)
    rounded = (b + 0x7FFF + ((b >> 16) & 1)) >> 16
    return min(rounded, 0x7F7F)


def stored_value(code, kind):
    return F32(np.array(code, np.uint16).view(np.float16)[()]) if kind == "fp16" else from_bits(code << 16)


def fp8_table(name):
    """Values of codes 0..127; None where a code is no finite number."""
    e_bits, m_bits = (4, 3) if name == "fp8_e4m3" else (5, 2)
    bias = 2 ** (e_bits - 1) - 1
    table = []
    for code in range(128):
        e, f = code >> m_bits, code & (2**m_bits - 1)
        special = code == 127 if name == "fp8_e4m3" else e == 31
        value = math.ldexp(f, 1 - bias - m_bits) if e == 0 else math.ldexp(1 + f / 2**m_bits, e - bias)
        table.append(None if special else value)
    return table


def nearest_code(table, t):
    finite = [c for c, v in enumerate(table) if v is not None]
    magnitude = min(abs(t), table[finite[-1]])
    best = min(finite, key=lambda c: (abs(table[c] - magnitude), c & 1))
    return best | (0x80 if math.copysign(1, t) < 0 else 0)


class Max:
    """int, uint, fp8: the largest magnitude lands on the largest code."""

    def __init__(self, head):
        self.head = head
        self.unsigned = head.startswith("uint")
        self.bits = 8 if head.startswith("fp8") else int(head.lstrip("uint"))
        self.table = fp8_table(head) if head.startswith("fp8") else None
        if self.table:
            self.top = max(v for v in self.table if v is not None)
        else:
            self.top = 2**self.bits - 1 if self.unsigned else 2 ** (self.bits - 1) - 1

    def encode(self, x, kind):
        m = max(float(max(v, 0)) if self.unsigned else abs(float(v)) for v in x)
        s = F32(1) if m == 0 else max(F32(F32(min(m, 2.0**127)) / F32(self.top)), SMALLEST_NORMAL[kind])
        scale = store(s, kind)
        return [self.code(F32(v / stored_value(scale, kind))) for v in x], [scale], None

    def code(self, t):
        if self.table:
            return nearest_code(self.table, float(t))
        q = int(np.clip(np.rint(t), 0 if self.unsigned else -self.top, self.top))
        return q & (2**self.bits - 1)

    def decode(self, code, scales, kind, _):
        s = stored_value(scales[0], kind)
        if self.table:
            v = self.table[code & 127]
            return F32(F32(-v if code & 128 else v) * s)
        signed = code - 2**self.bits if not self.unsigned and code >= 2 ** (self.bits - 1) else code
        return F32(signed * float(s))


class Range:
    """uint.asym"""

    def __init__(self, head):
        self.bits = int(head.lstrip("uint"))
        self.top = 2**self.bits - 1

    def encode(self, x, kind):
        lo = max(min(0.0, *map(float, x)), -(2.0**127))
        hi = min(max(0.0, *map(float, x)), 2.0**127)
        s = F32(1) if hi == lo else max(F32((hi - lo) / self.top), SMALLEST_NORMAL[kind])
        scale = store(s, kind)
        s = stored_value(scale, kind)
        z = int(np.clip(np.rint(F32(F32(-lo) / s)), 0, self.top))
        return [int(np.clip(float(np.rint(F32(v / s))) + z, 0, self.top)) for v in x], [scale], z

    def decode(self, code, scales, kind, z):
        return F32((code - z) * float(stored_value(scales[0], kind)))


class Signs:
    """binary and rsign<r>"""

    def __init__(self, levels):
        self.bits = self.levels = levels

    def encode(self, x, kind):
        residual, codes, scales = [F32(v) for v in x], [0] * len(x), []
        for level in range(self.levels):
            scales.append(store(F32(math.fsum(abs(float(v)) for v in residual) / len(x)), kind))
            s = stored_value(scales[-1], kind)
            for i, v in enumerate(residual):
                codes[i] |= int(v < 0) << level
                residual[i] = F32(v + s) if v < 0 else F32(v - s)
        return codes, scales, None

    def decode(self, code, scales, kind, _):
        terms = [F32(-1 if code >> l & 1 else 1) * stored_value(s, kind) for l, s in enumerate(scales)]
        total = terms[0]
        for term in terms[1:]:
            total = F32(total + term)
        return total


class Ternary:
    bits = 2

    def encode(self, x, kind):
        threshold = F32(F32(math.fsum(abs(float(v)) for v in x) / len(x)) * F32(0.75))
        large = [abs(float(v)) for v in x if abs(v) > threshold]
        scale = store(F32(math.fsum(large) / len(large)) if large else F32(0), kind)
        return [0 if not abs(v) > threshold else 3 if v < 0 else 1 for v in x], [scale], None

    def decode(self, code, scales, kind, _):
        return F32({0: 0, 1: 1, 3: -1}[code] * stored_value(scales[0], kind))


def parse(text):
    parts = text.split(".")
    head, kind = parts[0], next(p[2:] for p in parts if p.startswith("s="))
    geometry = next((p for p in parts[1:] if p[0] == "g" or p in ("tensor", "channel")), None)
    if "asym" in parts:
        codec = Range(head)
    elif head == "ternary":
        codec = Ternary()
    elif head == "binary" or head.startswith("rsign"):
        codec = Signs(1 if head == "binary" else int(head[5:]))
    else:
        codec = Max(head)
    return codec, kind, geometry or ("channel" if head.startswith("rsign") else "tensor")


def stream(codes, width):
    number = sum(code << (i * width) for i, code in enumerate(codes))
    return number.to_bytes((len(codes) * width + 7) // 8, "little")


def quantize(text, x):
    codec, kind, geometry = parse(text)
    if geometry == "tensor":
        lines, group = x.reshape(1, -1), x.size
    elif geometry == "channel":
        lines, group = x.reshape(x.shape[0], -1), x.size // x.shape[0]
    else:
        lines, group = x.reshape(-1, x.shape[-1]), int(geometry[1:])
    codes, scales, zeros, decoded, stored_lines = [], [], [], [], []
    for line in lines:
        stored = []
        for begin in range(0, len(line), group):
            part = line[begin : begin + group]
            finite = bool(np.isfinite(part).all())
            c, s, z = codec.encode(part if finite else np.zeros(len(part), F32), kind)
            if not finite:
                c, s, z = [0] * len(part), [NAN_BITS[kind]] * len(s), None if z is None else 0
            codes += c
            scales += s
            zeros += [] if z is None else [z]
            decoded += [codec.decode(v, s, kind, z) if finite else F32("nan") for v in c]
            stored += c + [z or 0] * (group - len(part))
        stored_lines.append(stored)
    if isinstance(codec, Signs):
        packed = b"".join(stream([c >> l & 1 for c in line], 1) for l in range(codec.levels) for line in stored_lines)
    else:
        packed = b"".join(stream(line, codec.bits) for line in stored_lines)
    result = {
        "codes": codes,
        "scales": scales,
        "decoded": "".join(f"{bits_of(v):08x}" for v in decoded),
        "packed": packed.hex(),
        "packed_scales": b"".join(s.to_bytes(2, "little") for s in scales).hex(),
    }
    if zeros:
        result["zero_points"] = zeros
    return codec.bits, result


def cases():
    rng = np.random.default_rng(1)
    extremes = [3.4028235e38, -3.4e38, 1e30, 7e4, 65504.0 * 7, 65520.0 * 127, 2.0**-14, 2.0**-20, 1e-40, 1e-45]
    rows = np.array([[v, -v / 3, v / 8, 0] for v in extremes])
    nonfinite = rng.normal(size=(4, 40))
    nonfinite[0, 3], nonfinite[1, 39], nonfinite[3, 0] = np.nan, np.inf, -np.inf
    powers = np.array([[2.0**j, -(2.0**j) / 5, 1.3 * 2.0**j, 2.0 ** (j - 7)] for j in (-10, -1, 0, 3, 12)])
    yield "normal", rng.normal(size=(2, 64))
    yield "small", 0.04 * rng.normal(size=(2, 64))
    yield "lognormal", rng.normal(size=(2, 32)) * np.exp2(3 * rng.normal(size=(2, 32)))
    yield "tail", rng.normal(size=(3, 37))
    yield "rank1_short", rng.normal(size=5)
    yield "rank3", rng.normal(size=(2, 3, 7))
    yield "zeros", np.array([[0.0, -0.0] * 8, [0.0] * 15 + [1.0]])
    yield "extreme", rows
    yield "powers", powers
    yield "nonfinite", nonfinite


FORMATS = """int8.s=bf16 int8.channel.s=fp16 int4.g32.s=bf16 int3.g16.s=fp16 uint8.s=fp16 uint8.channel.s=fp16.asym
uint4.g32.s=bf16.asym fp8_e4m3.channel.s=bf16 fp8_e5m2.g32.s=fp16 binary.g16.s=fp16 binary.tensor.s=bf16
ternary.g32.s=bf16 ternary.channel.s=fp16 rsign2.g16.s=fp16 rsign3.s=bf16""".split()


def main():
    np.seterr(all="ignore")
    formats = []
    for text in FORMATS:
        entries = []
        for name, values in cases():
            x = values.astype(F32)
            bits, result = quantize(text, x)
            hex_x = "".join(f"{bits_of(v):08x}" for v in x.reshape(-1))
            entries.append({"name": name, "shape": list(x.shape), "x": hex_x, **result})
        formats.append({"format": text, "width": bits, "cases": entries})
    with open(sys.argv[1], "w") as f:
        json.dump({"schema": "hone-golden-1", "seed": 1, "formats": formats}, f)
        f.write("\n")


if __name__ == "__main__":
    main()
