"""Builds networks with hone, runs them on seeded images in hone and in PyTorch with the very weights hone wrote, and compares.

    build/venv/bin/python bench/peers/compare_torch.py build/release/hone resnet18 resnet50 mobilenet_v3_small --size 224

Exits with 1 when logits differ by more than --tolerance, relative to the largest logit.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import vision


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("models", nargs="+", help="names of `hone build`; NAME:key=value changes the configuration")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--tolerance", type=float, default=2e-5)
    parser.add_argument("--flags", default="", help="further flags of `hone run`, as --flags='-O0 --threads 2'")
    return parser.parse_args()


def hone(program, *command):
    subprocess.run([program, *command], check=True, stdout=subprocess.DEVNULL)


def difference(options, name, folder):
    """The largest difference of a logit, relative to the largest logit."""
    preset, *changes = name.split(":")
    path = os.path.join(folder, "model.safetensors")
    hone(options.hone, "build", preset, "-o", path, *[word for change in changes for word in ("--set", change)])
    model = vision.load(path)
    channels = next(model.parameters()).shape[1]
    images = np.random.default_rng(1).standard_normal((options.batch, channels, options.size, options.size), np.float32)
    np.save(os.path.join(folder, "images.npy"), images)
    hone(options.hone, "run", path, "--output-dir", folder, *options.flags.split(), "--input", f"pixel_values={folder}/images.npy")
    with torch.inference_mode():
        expected = model.double()(torch.from_numpy(images).double()).numpy()
    largest = float(np.abs(expected).max())
    return float(np.abs(np.load(os.path.join(folder, "logits.npy")) - expected).max()) / largest, largest


def main():
    options = arguments()
    worst = 0.0
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            relative, largest = difference(options, name, folder)
        worst = max(worst, relative)
        print(f"{name} [{options.batch},{options.size},{options.size}]: {relative:.2e} of the largest logit, {largest:.4g}")
    return 1 if worst > options.tolerance else 0


if __name__ == "__main__":
    sys.exit(main())
