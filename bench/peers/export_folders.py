"""What hone exports, opened and run by the libraries it is written for: folders of each layout by transformers with compressed-tensors or
torchao, .onnx files by ONNX Runtime. Their outputs are compared with `hone run` on the same packed weights.

usage: export_folders.py HONE [--model build/models/all-MiniLM-L6-v2] [--only TEXT]...

Exits with 1 when something does not open, misses weights, or differs by more than its bound.
"""
import argparse
import logging
import os
import pathlib
import shutil
import subprocess
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import onnxruntime
import torch
import transformers

WORK = pathlib.Path("build/exports/folders")
LAYOUTS = {
    "compressed-tensors": ["int8.channel", "int4.g32", "int4.g32.s=bf16", "uint4.g32.asym", "int3.g128", "int8.g32.s=fp16", "mxfp4", "nvfp4", "mixed"],
    "torchao": ["int8.channel", "int8.channel.s=bf16", "int4.g32", "int6.g64", "uint4.g32.asym", "uint8.channel.asym", "int8.g32", "mixed"],
}
MIXED = ["--rule", r"attention=int4.g32", "--rule", r"intermediate=int8.channel", "--rule", r"layer\.0\.output=keep"]
ONNX = ["int8.channel", "int8", "int4.g32", "uint4.g32.asym", "mxint8", "mxint4", "bf16", "fp16", "fp8_e4m3.channel"]
F32_BOUND = 1e-5  # of the largest magnitude: the same decoded weights, sums in another order


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command[1:]))}: {done.stderr.strip()[:300]}")


def encoder_folder(model):
    """The model without its sentence pooling: then hone's outputs are those of transformers."""
    folder = WORK / "encoder"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("modules.json", "1_Pooling", "*.bin", "*.onnx", "*.h5", "*.ot"))
    return folder


def inputs():
    rng = np.random.default_rng(1)
    mask = np.ones((2, 16), np.int64)
    mask[1, 11:] = 0
    return {"input_ids": rng.integers(1000, 20000, (2, 16)), "attention_mask": mask}


def hone_outputs(args, file):
    out = WORK / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    given = []
    for name, value in inputs().items():
        np.save(WORK / f"{name}.npy", value)
        given.append(f"{name}={WORK / name}.npy")
    run(args.hone, "run", file, "--output-dir", out, "--input", *given)
    return {path.stem: np.load(path) for path in out.glob("*.npy")}


def packed(args, model, form):
    """A file of hone's with the linear layers of `model` in that format."""
    file = WORK / "packed.safetensors"
    choice = ["--to", form] if form != "mixed" else ["--to", "int8.channel", *MIXED]
    run(args.hone, "quantize", model, *choice, "--rule", "op:gather=keep", "-o", file)
    return file


def bound(form):
    """Scales of 16 bits: the tools decode in that type, which rounds each weight once; three roundings' worth over the layers."""
    return 3 * 2.0**-9 if "=bf16" in form else 3 * 2.0**-11 if "=fp16" in form else F32_BOUND


def difference(got, expected):
    return float(np.abs(np.asarray(got, np.float64) - expected).max() / np.abs(expected).max())


def mean_of_tokens(hidden, mask):
    mask = mask[..., None].astype(np.float64)
    mean = (hidden * mask).sum(1) / mask.sum(1)
    return mean / np.linalg.norm(mean, axis=-1, keepdims=True)


def check_folder(args, model, layout, form):
    folder = WORK / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    run(args.hone, "export", model, "--packed", packed(args, model, form), "--layout", layout, "-o", folder)
    loaded, info = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    missing = {key: sorted(info[key])[:3] for key in ("missing_keys", "unexpected_keys", "mismatched_keys") if info[key]}
    if missing:
        raise RuntimeError(f"transformers: {missing}")
    quantized = sum(hasattr(parameter, "qdata") for parameter in loaded.parameters()) + sum("weight_packed" in name for name, _ in loaded.named_parameters())
    if not quantized:
        raise RuntimeError("no parameter is quantized after loading")
    tensors = {name: torch.from_numpy(value) for name, value in inputs().items()}
    with torch.no_grad():
        out = loaded.eval()(**tensors)
    own = hone_outputs(args, folder)
    got = {"last_hidden_state": out.last_hidden_state.float().numpy(), "pooler_output": out.pooler_output.float().numpy()}
    got["embedding"] = mean_of_tokens(got["last_hidden_state"], inputs()["attention_mask"])
    return max(difference(got[name], value) for name, value in own.items()), ", ".join(sorted(own))


def check_onnx(args, model, form):
    file = WORK / "model.onnx"
    source = packed(args, model, form)
    run(args.hone, "export", source, "-o", file)
    onnxruntime.set_default_logger_severity(4)
    try:
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    except Exception as error:
        return None, f"ONNX Runtime refuses it: {str(error).splitlines()[0][:160]}"
    names = [each.name for each in session.get_outputs()]
    got = dict(zip(names, session.run(None, {name: value for name, value in inputs().items()})))
    own = hone_outputs(args, source)
    return max(difference(got[name], value) for name, value in own.items()), ", ".join(sorted(own))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("--model", default="build/models/all-MiniLM-L6-v2", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[], help="checks whose name has this text")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    WORK.mkdir(parents=True, exist_ok=True)
    encoder = encoder_folder(args.model)
    checks = {f"{layout} {form}": (lambda layout=layout, form=form: check_folder(args, encoder, layout, form)) for layout, forms in LAYOUTS.items() for form in forms}
    checks |= {f"{layout} int8.channel, sentence encoder": (lambda layout=layout: check_folder(args, args.model, layout, "int8.channel")) for layout in LAYOUTS}
    checks |= {f"onnx {form}": (lambda form=form: check_onnx(args, encoder, form)) for form in ONNX}
    failed = 0
    for name, check in checks.items():
        if args.only and not any(text in name for text in args.only):
            continue
        try:
            value, note = check()
            good = value is None or value <= bound(name)
            print(f"{'ok    ' if good else 'FAILED'} {name}: {'' if value is None else f'{value:.1e}, {bound(name):.1e} accepted; '}{note}", flush=True)
        except Exception as error:
            good = False
            print(f"FAILED {name}: {type(error).__name__}: {str(error)[:500]}", flush=True)
        failed += not good
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
