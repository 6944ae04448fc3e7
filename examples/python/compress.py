"""Makes a small version of a model, and says what became of its weights and how near its answers are.

python examples/python/compress.py build/models/all-MiniLM-L6-v2 small.safetensors mxint8
"""

import sys

import hone
import numpy as np


def wave(port: hone.Port) -> hone.Tensor:
    """Numbers for an input; open sizes are 1."""
    shape = [int(size) if size.isdigit() else 1 for size in port.shape]
    numbers = np.sin(0.1 * np.arange(np.prod(shape, dtype=int), dtype=np.float32)).reshape(shape)
    return hone.Tensor(numbers, dtype=port.dtype)


def main(source: str, target: str, form: str) -> None:
    model = hone.load(source)
    result = hone.quantize(model, form)
    for tensor in result.tensors:
        if tensor.sqnr_db is not None:
            print(f"{tensor.name:50} {tensor.after:10} {tensor.sqnr_db:6.1f} dB")
    hone.save(result.model, target)

    session, written = hone.compile(model), hone.compile(hone.load(target))
    texts = ["A plane is taking off."]
    inputs = model.text_inputs(texts) if model.has_tokenizer else {port.name: wave(port) for port in session.inputs}
    for name, expected in session.run(inputs).items():
        a, b = (np.ravel(y[name].to("f32").numpy()) for y in (session.run(inputs), written.run(inputs)))
        print(f"{name}: {expected.type}, cosine {a @ b / np.sqrt((a @ a) * (b @ b)):.4f}")
    print(f"{target}: weights of {result.weight_bytes_before:,} bytes are {result.weight_bytes_after:,}")


if __name__ == "__main__":
    main(*sys.argv[1:])
