"""What each way of quantizing after training loses at four bits, on data that it has not seen: MiniLM on package descriptions, a CNN on
Fashion-MNIST. Prints a table and writes it to bench/results.md. `make bench-ptq` runs it, from the root of the checkout.

usage: post_training.py HONE [--formats mxint4,int4.g32,int4.channel] [--dry]
"""
import argparse
import csv
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import results  # noqa: E402
from debian import descriptions  # noqa: E402

WORK = pathlib.Path("build/bench/ptq")
MODELS = pathlib.Path("build/models")
WAYS = {
    "plain rounding": [],
    "bias correction": ["--bias-correction"],
    "equalised layers": ["--equalise-layers"],
    "scale search": ["--method", "scale-search"],
    "AWQ scaling": ["--awq-scaling"],
    "Hadamard rotation": ["--rotate-hadamard"],
    "GPTQ": ["--method", "gptq"],
    "GPTQ and bias correction": ["--method", "gptq", "--bias-correction"],
}
WITH_INPUTS = {"plain rounding": [], "SmoothQuant": ["--smooth-quant"], "Hadamard rotation": ["--rotate-hadamard"]}


def texts():
    """Calibration and test texts, none in both."""
    lines = descriptions(5, 640)
    (WORK / "calibration.txt").write_text("\n".join(lines[:128]) + "\n")
    (WORK / "test.txt").write_text("\n".join(lines[128:]) + "\n")


def models():
    cnn = MODELS / "fashion-cnn"
    return {"MiniLM": (MODELS / "all-MiniLM-L6-v2", WORK / "calibration.txt", WORK / "test.txt", "16"),
            "CNN": (cnn / "cnn.onnx", cnn / "calibration.npz", cnn / "test.npz", "64")}


def swept(hone, model, formats, flags):
    """Rows of sweep.csv by format."""
    path, calibration, test, batch = model
    folder = WORK / "sweep"
    command = [hone, "sweep", path, "--formats", formats, "--calib", calibration, "--data", test, "--calib-batch", batch, "--threads", "2",
               *flags, "-o", folder]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        return {f: None for f in formats.split(",")}, done.stderr.strip().splitlines()[-1]
    with open(folder / "sweep.csv") as file:
        return {row["format"]: row for row in csv.DictReader(file)}, ""


def cell(row, plain):
    if row is None:
        return "refused"
    error, before = float(row["output_error"]), float(plain["output_error"])
    text = f"{error:.4f}" if error < before else f"{error:.4f} (worse)" if row is not plain else f"{error:.4f}"
    return text + (f", {100 * float(row['accuracy']):.2f} %" if row["accuracy"] else "")


def compare(hone, name, model, formats, ways, flags, what):
    rows, plain = [], None
    for way, more in ways.items():
        found, why = swept(hone, model, formats, [*more, *flags])
        plain = plain or found
        rows.append([name, what, way, *(cell(found[f], plain[f]) for f in formats.split(","))])
        print("  " + " | ".join(rows[-1]) + (f"   {why}" if why else ""), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("--formats", default="mxint4,int4.g32,int4.channel")
    parser.add_argument("--dry", action="store_true", help="print, but leave bench/results.md as it is")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    texts()
    rows = []
    for name, model in models().items():
        rows += compare(args.hone, name, model, args.formats, WAYS, [], "weights")
        rows += compare(args.hone, name, model, args.formats, WITH_INPUTS, ["--with-activations"], "weights and inputs")
    text = ("Output error: sum of squared differences to the original's outputs over the sum of their squares, on data that was not "
            "calibrated on (512 texts; 10,000 images, with their accuracy).\n\n" +
            results.table(["model", "in four bits", "how", *args.formats.split(",")], rows))
    if not args.dry:
        results.write_section("Quantizing after training at four bits", text)


if __name__ == "__main__":
    main()
