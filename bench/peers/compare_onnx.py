"""Compares hone with ONNX Runtime on an ONNX file, over seeded inputs: the largest difference of each output.

    build/venv/bin/python bench/peers/compare_onnx.py build/release/hone model.onnx --shape x=1,3,48,320

Exits with 1 when an output differs by more than --tolerance (relative to the largest magnitude of the output, or to 1 when all are smaller).
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

NUMPY = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_, "tensor(uint8)": np.uint8}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("model")
    parser.add_argument("--shape", action="append", default=[], help="NAME=1,3,48,320: shape of an input")
    parser.add_argument("--inputs", type=int, default=3, help="how many seeded inputs")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--flags", default="", help="further flags of `hone run`, as --flags='-O0 --threads 2'")
    return parser.parse_args()


def made_up(description, shapes, rng):
    shape = shapes.get(description.name) or [d if isinstance(d, int) and d > 0 else 1 for d in description.shape]
    dtype = NUMPY[description.type]
    if np.issubdtype(dtype, np.floating):
        return rng.uniform(-1, 1, shape).astype(dtype)
    return np.ones(shape, dtype)


def run_hone(hone, model, inputs, flags, folder):
    command = [hone, "run", model, "--output-dir", folder, *flags, "--input"]
    for name, value in inputs.items():
        np.save(os.path.join(folder, f"in_{name}.npy"), value)
        command.append(f"{name}={folder}/in_{name}.npy")
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main():
    options = arguments()
    shapes = {}
    for item in options.shape:
        name, sizes = item.split("=")
        shapes[name] = [int(size) for size in sizes.split(",")]
    session = onnxruntime.InferenceSession(options.model, providers=["CPUExecutionProvider"])
    worst = 0.0
    for seed in range(options.inputs):
        rng = np.random.default_rng(seed)
        inputs = {i.name: made_up(i, shapes, rng) for i in session.get_inputs()}
        expected = session.run(None, inputs)
        with tempfile.TemporaryDirectory() as folder:
            run_hone(options.hone, options.model, inputs, options.flags.split(), folder)
            for output, want in zip(session.get_outputs(), expected):
                got = np.load(os.path.join(folder, output.name.replace("/", "_") + ".npy"))
                scale = max(float(np.max(np.abs(want))), 1.0)  # probabilities near 0 count by their distance
                difference = float(np.max(np.abs(got.astype(np.float64) - want))) / scale
                worst = max(worst, difference)
                print(f"input {seed}: {output.name} {list(want.shape)}: largest difference {difference:.2e} of {scale:.4g}")
    print(f"{os.path.basename(options.model)}: worst {worst:.2e}, tolerance {options.tolerance:g}")
    return 1 if worst > options.tolerance else 0


if __name__ == "__main__":
    sys.exit(main())
