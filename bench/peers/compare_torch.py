"""Builds networks with hone, runs them on seeded images in hone and in PyTorch with the very weights hone wrote, and compares
both with PyTorch in float64; PyTorch's own distance in float32 shows how far rounding alone leads.

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
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--flags", default="", help="further flags of `hone run`, as --flags='-O0 --threads 2'")
    return parser.parse_args()


def hone(program, *command):
    subprocess.run([program, *command], check=True, stdout=subprocess.DEVNULL)


def differences(options, name, folder):
    """Largest difference of a logit to float64, relative to the largest logit, for each way to compute in float32."""
    preset, *changes = name.split(":")
    path = os.path.join(folder, "model.safetensors")
    hone(options.hone, "build", preset, "-o", path, *[word for change in changes for word in ("--set", change)])
    model = vision.load(path)
    channels = next(model.parameters()).shape[1]
    images = np.random.default_rng(1).standard_normal((options.batch, channels, options.size, options.size), np.float32)
    np.save(os.path.join(folder, "images.npy"), images)
    logits = {}
    for way, flags in (("hone", []), ("hone --no-winograd", ["--no-winograd"])):
        hone(options.hone, "run", path, "--output-dir", folder, *flags, *options.flags.split(), "--input", f"pixel_values={folder}/images.npy")
        logits[way] = np.load(os.path.join(folder, "logits.npy"))
    with torch.inference_mode():
        logits["PyTorch"] = model(torch.from_numpy(images)).numpy()
        truth = model.double()(torch.from_numpy(images).double()).numpy()
    return {way: float(np.abs(values - truth).max() / np.abs(truth).max()) for way, values in logits.items()}


def main():
    options = arguments()
    worst = 0.0
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            relative = differences(options, name, folder)
        worst = max(worst, relative["hone"], relative["hone --no-winograd"])
        print(f"{name} [{options.batch},{options.size},{options.size}]: " + ", ".join(f"{way} {value:.1e}" for way, value in relative.items()))
    return 1 if worst > options.tolerance else 0


if __name__ == "__main__":
    sys.exit(main())
