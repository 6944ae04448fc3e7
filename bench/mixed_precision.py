"""What hone allocate's plans keep of MiniLM at 4.5 bits, on the demo's task with 5,000 queries, beside uniform mxint4. Prints a table and
writes it to bench/results.md. `make bench-ptq` runs it, from the root of the checkout.

usage: mixed_precision.py HONE_DEMO [--dry]
"""
import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import results  # noqa: E402
from debian import descriptions, packages  # noqa: E402

MODEL = "build/models/all-MiniLM-L6-v2"
WORK = pathlib.Path("build/bench/mixed_precision")
BITS = 4.5
PLANS = {
    "from-mxint": ["mxint{3,4,5,6,8}"],
    "from-mxint-nearest": ["mxint{3,4,5,6,8}", "--method", "nearest"],
    "from-int": ["int{3,4,5,6}.g64.s=bf16"],
}


def data(samples):
    """Calibration texts, and the packages whose descriptions they are not."""
    chosen = set(descriptions(7, samples))
    (WORK / "calibration.txt").write_text("\n".join(sorted(chosen)) + "\n")
    others = [p for p in packages().split("\n\n") if chosen.isdisjoint(line.split(": ", 1)[-1] for line in p.splitlines())]
    (WORK / "packages.txt").write_text("\n\n".join(others) + "\n")


def record(hone, *arguments):
    command = [hone, *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone", metavar="hone_demo", help="the program of examples/demo: hone and the demo's verb")
    parser.add_argument("--samples", type=int, default=512, help="calibration texts")
    parser.add_argument("--dry", action="store_true", help="print, but leave bench/results.md as it is")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    data(args.samples)
    found = {}
    for name, (formats, *method) in PLANS.items():
        plan = record(args.hone, "allocate", MODEL, "--formats", formats, "--budget", f"avg-bits={BITS}", "--calib", WORK / "calibration.txt",
                      *method, "-o", WORK / f"{name}.toml")
        chosen = plan["results"][0]
        found[name] = [f"plan from {formats}{' ' + ' '.join(method) if method else ''}", f"{chosen['average_bits']:.2f}",
                       f"{chosen['output_error']:.4f}"]
        print(found[name], plan["findings"][-1], flush=True)
    formats = ["f32", "mxint4", *(WORK / f"{name}.toml" for name in PLANS)]
    judged = record(args.hone, "demo", MODEL, "--packages", WORK / "packages.txt", "--queries", 5000, "--seconds", 1, "--folder", WORK,
                    "--formats", ",".join(map(str, formats)))["results"]
    lost = 1 - judged[1]["agreement"]
    rows = []
    for row in judged:
        known = found.get(row["format"], [row["format"], f"{32 * row['weight_bytes'] / judged[0]['weight_bytes']:.2f}", ""])
        rows.append([*known, f"{row['cosine']:.4f}", f"{100 * row['agreement']:.1f} %", f"{100 * (1 - row['agreement']) / lost:.0f} %",
                     f"{100 * row['accuracy']:.1f} %"])
        print("  " + " | ".join(rows[-1]), flush=True)
    text = (f"5,000 descriptions of Debian packages, their section told by the nearest of 2,000 others; plans calibrated on {args.samples} more. "
            "Output error: on texts that the method did not learn from.\n\n" +
            results.table(["weights", "average bits", "output error", "mean cosine to f32", "same neighbour as f32", "neighbours lost, of mxint4's",
                           "accuracy"], rows))
    if not args.dry:
        results.write_section("Mixed precision at 4.5 bits", text)


if __name__ == "__main__":
    main()
