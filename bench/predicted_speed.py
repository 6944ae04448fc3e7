"""How often the time that `hone doctor` predicts covers the one that `hone bench` measures, over models, shapes and number formats.

usage: predicted_speed.py HONE [--seconds 2] [--json F]      (from the root of the checkout, on a machine that is otherwise idle)
"""
import argparse
import json
import pathlib
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("hone")
parser.add_argument("--seconds", type=float, default=2, help="longest measurement of one case")
parser.add_argument("--json", default="")
args = parser.parse_args()

WORK = pathlib.Path("build/bench/predicted")
OCR = pathlib.Path("build/models/pp-ocr")
BUILT = ["resnet18", "resnet50", "mobilenet_v3_small", "convnet", "mlp"]


def run(*command):
    done = subprocess.run([args.hone, *map(str, command)], capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"hone {' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def cases():
    """Model and the flags that choose its shape."""
    WORK.mkdir(parents=True, exist_ok=True)
    for name in BUILT:
        model = WORK / f"{name}.safetensors"
        run("build", name, "-o", model)
        small = WORK / f"{name}-mxint8.safetensors"
        run("quantize", model, "--to", "mxint8", "--compute", "bf16", "-o", small)
        for file in [model, small]:
            yield file, ["--batch", 1]
            yield file, ["--batch", 8]
        if name.startswith(("resnet", "mobilenet")):
            yield model, ["--dim", "H=96", "--dim", "W=160"]
    minilm = pathlib.Path("build/models/all-MiniLM-L6-v2")
    if minilm.exists():
        for flags in [["--seq", 8], ["--seq", 128], ["--seq", 32, "--batch", 8]]:
            yield minilm, flags
    for file, flags in {"ch_PP-OCRv4_det_infer.onnx": ["p2o_DynamicDimension_1=320", "p2o_DynamicDimension_2=320"],
                        "ch_PP-OCRv4_rec_infer.onnx": ["x_2=48", "p2o_DynamicDimension_1=320"],
                        "ch_ppocr_mobile_v2.0_cls_infer.onnx": ["x_2=48", "x_3=192"]}.items():
        if (OCR / file).exists():
            yield OCR / file, [flag for size in flags for flag in ("--dim", size)]


def main():
    run("machine")  # measures the peaks unless they are remembered
    rows = []
    for model, flags in cases():
        low, high = prediction(json.loads(run("doctor", model, *flags, "--json")))
        measured = json.loads(run("bench", model, *flags, "--no-probe", "--seconds", args.seconds, "--json"))["results"][0]["median_ms"]
        inside = low <= measured <= high
        rows.append({"model": model.name, "flags": " ".join(map(str, flags)), "low_ms": low, "high_ms": high, "measured_ms": measured, "inside": inside})
        print(f"{'inside ' if inside else 'OUTSIDE'} {measured:10.3f} ms, predicted {low:.3f} to {high:.3f}   {model.name} {rows[-1]['flags']}", flush=True)
    print(f"{sum(row['inside'] for row in rows)} of {len(rows)} measured times lie in the predicted range")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))


def prediction(record):
    for key, value in record.items():
        if key == "speed":
            return value["low_ms"], value["high_ms"]
    sys.exit("hone doctor predicts no time: hone machine has to run first")


main()
