"""Networks as PyTorch's exporters write them, opened, run, quantized and reopened by hone.

17 networks of torchvision, 40 architectures of Hugging Face and a U-Net of volumes (zoo.py), each by the dynamo exporter at opsets 18, 20 and 23 and by the
legacy exporter at 17. Of each file: `hone info` opens it; `hone run` agrees with ONNX Runtime (with PyTorch where that refuses), and its
profile says which steps are interpreted; `hone quantize` writes it as .safetensors and .onnx, `hone export` as .onnx, and what they wrote
is run again.

usage: exports.py HONE [--only NAME]... [--exporter NAME]... [--again] [--dry] [--jobs 2]

Files, inputs and results are kept in build/exports: a second call makes only what is missing, and checks again what another hone checked.
"""
import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

import numpy as np
import results

WORK = pathlib.Path("build/exports")
EXPORTERS = {"dynamo18": 18, "dynamo20": 20, "dynamo23": 23, "legacy": 17}
FORMAT = "mxint8"
MAKE_SECONDS, MAKE_BYTES = 240, 24 << 30  # of one export; address space, of which torch reserves much
HONE_SECONDS, HONE_MEMORY = 60, "2GB"
AGREES = 1e-5  # of the largest magnitude of an output


# --- making: in a process of its own, the only one that imports torch ----------------------------------------------------

def export_dynamo(case, path, opset, is_open):
    import torch
    shapes = None
    if is_open:
        sizes = {}
        shapes = tuple({axis: sizes.setdefault(name, torch.export.Dim.DYNAMIC) for axis, name in case.dynamic[key].items()} for key in case.inputs)
    torch.onnx.export(case.module, tuple(case.inputs.values()), path, input_names=list(case.inputs), dynamo=True, opset_version=opset,
                      dynamic_shapes=shapes, external_data=False, verbose=False)


def export_legacy(case, path, opset, is_open):
    import torch
    torch.onnx.export(case.module, tuple(case.inputs.values()), path, input_names=list(case.inputs), dynamo=False, opset_version=opset,
                      dynamic_axes=case.dynamic if is_open else None)


def export(case, folder, exporter):
    """With open axes, or where the exporter refuses that, with fixed ones. Says which."""
    write = export_legacy if exporter == "legacy" else export_dynamo
    path = str(folder / "model.onnx")
    try:
        write(case, path, EXPORTERS[exporter], True)
        return "open axes"
    except Exception:  # whatever the exporter can't do
        write(case, path, EXPORTERS[exporter], False)
        return "fixed axes"


def torch_outputs(case, dtype):
    import torch
    case.module.to(dtype)
    inputs = [value.to(dtype) if value.is_floating_point() else value for value in case.inputs.values()]
    with torch.no_grad():
        out = case.module(*inputs)
    case.module.to(torch.float32)
    return [value.double().numpy() for value in (out if isinstance(out, tuple) else (out,))]


def rounding(case):
    """How far PyTorch's f32 is from its f64, of the largest magnitude, per output: what this very computation makes of rounding."""
    import torch
    try:
        return [relative(a, b) for a, b in zip(torch_outputs(case, torch.float32), torch_outputs(case, torch.float64))]
    except Exception:
        return None


def onnx_runtime(path, inputs):
    """Outputs, or why it refuses."""
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    try:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        wanted = {each.name for each in session.get_inputs()}
        return session.run(None, {name: value for name, value in inputs.items() if name in wanted}), ""
    except Exception as error:
        return None, str(error)


def reason(error):
    """The line of an exporter's or runtime's message that says what it is about."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:160] if lines else ''}" if isinstance(error, Exception) else (lines or [""])[0][:160]


def make(name, exporter):
    import onnx
    import torch
    import zoo
    folder = WORK / name / exporter
    folder.mkdir(parents=True, exist_ok=True)
    case, facts = zoo.build(name), {}
    try:
        facts["axes"] = export(case, folder, exporter)
    except Exception as error:
        (folder / "made.json").write_text(json.dumps({"refused": reason(error)}))
        return
    graph = onnx.load(folder / "model.onnx").graph
    taken = [each.name for each in graph.input if each.name not in {weight.name for weight in graph.initializer}]
    inputs = {name: case.inputs[name].numpy() for name in taken}
    expected, why = onnx_runtime(str(folder / "model.onnx"), inputs)
    facts |= {"inputs": taken, "outputs": [each.name for each in graph.output], "rounding": rounding(case),
              "reference": "PyTorch" if expected is None else "ONNX Runtime", "why": reason(why)}
    expected = torch_outputs(case, torch.float32) if expected is None else expected
    np.savez(folder / "inputs.npz", **inputs)
    np.savez(folder / "expected.npz", **{str(i): value for i, value in enumerate(expected)})
    (folder / "made.json").write_text(json.dumps(facts))


def make_in_child(name, exporters):
    """One process for all exporters of a model, and another for those that a dead one left."""
    left = [each for each in exporters if not (WORK / name / each / "made.json").exists()]
    while left:
        command = [sys.executable, __file__, "--make", name, *left]
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MAKE_BYTES, MAKE_BYTES))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=MAKE_SECONDS * len(left), preexec_fn=limit)
            why = f"the exporter's process ended with {done.returncode}: {reason(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else '')}"
        except subprocess.TimeoutExpired:
            why = f"the exporter was not ready after {MAKE_SECONDS * len(left)} s"
        left = [each for each in left if not (WORK / name / each / "made.json").exists()]
        if left:
            (WORK / name / left[0]).mkdir(parents=True, exist_ok=True)
            (WORK / name / left[0] / "made.json").write_text(json.dumps({"refused": why}))
            left = left[1:]


# --- checking ------------------------------------------------------------------------------------------------------------

class Failure(Exception):
    """What went wrong, in a line."""


def relative(value, expected):
    value, expected = np.asarray(value, np.float64), np.asarray(expected, np.float64)
    if value.shape != expected.shape:
        raise Failure(f"shape {list(value.shape)}, expected {list(expected.shape)}")
    if value.size == 0:
        return 0.0
    if not np.array_equal(np.isfinite(value), np.isfinite(expected)):
        raise Failure("not finite where the other is, or the reverse")
    difference, finite = np.abs(value - expected), np.isfinite(expected)
    return float(np.max(difference[finite], initial=0) / max(np.max(np.abs(expected[finite]), initial=0), 1e-30))


def hone(args, verb, *rest):
    command = [args.hone, verb, *map(str, rest), "--max-memory", HONE_MEMORY, "--timeout", str(HONE_SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3 * HONE_SECONDS)
    if done.returncode != 0:
        line = (done.stderr.strip().splitlines() or [""])[-1 if done.returncode < 0 else 0]
        raise Failure(f"{verb} ended with {done.returncode}: {line[:200]}")
    return done.stdout


class Files:
    """The inputs of one export as hone reads them, and what each of its files computes from them."""

    def __init__(self, args, folder, facts):
        self.args, self.folder, self.facts = args, folder, facts
        self.scratch = folder / "checked"
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        given = np.load(folder / "inputs.npz")
        self.inputs = []
        for i, name in enumerate(facts["inputs"]):
            np.save(self.scratch / f"in{i}.npy", given[name])
            self.inputs.append(f"{name}={self.scratch / f'in{i}.npy'}")

    def run(self, file):
        out = self.scratch / ("of_" + file.name)
        out.mkdir()
        hone(self.args, "run", file, "--output-dir", out, "--input", *self.inputs)
        found = {path.stem: np.load(path) for path in out.glob("*.npy")}
        names = [name.replace("/", "_") for name in self.facts["outputs"]]
        missing = [name for name in names if name not in found]
        if missing:
            raise Failure(f"run wrote no output {missing[0]}; it wrote {sorted(found)}")
        return [found[name] for name in names]

    def interpreted(self, file):
        """How many steps of each op run without machine code."""
        record = json.loads(hone(self.args, "run", file, "--profile", "--json", "--input", *self.inputs))
        return collections.Counter(step["ops"] for step in record["steps"] if step["kind"] == "interpreted")

    def bounds(self):
        """Two f32 computations differ by up to twice what one differs from f64, and the order of their sums is luck: twice that."""
        rounding = self.facts["rounding"] or []
        return [max(AGREES, 4 * each) for each in rounding] + [AGREES] * (len(self.facts["outputs"]) - len(rounding))

    def compare(self, what, values, expected):
        """The largest difference, relative; above its bound it is a failure."""
        worst = 0.0
        for name, a, b, bound in zip(self.facts["outputs"], values, expected, self.bounds()):
            difference = relative(a, b)
            worst = max(worst, difference)
            if difference > bound:
                raise Failure(f"{what}: {name} differs by {difference:.1e} of its largest, {bound:.1e} accepted")
        return worst


def check(args, folder, facts):
    """A result: `difference`, and `failures` by step. Steps after one that failed are tried where they can be."""
    result, files = {"difference": None, "failures": {}}, Files(args, folder, facts)
    model, quantized = folder / "model.onnx", [files.scratch / f"{FORMAT}.safetensors", files.scratch / f"{FORMAT}.onnx"]

    def step(name, work):
        try:
            return work()
        except (Failure, subprocess.TimeoutExpired) as failure:
            result["failures"][name] = str(failure)[:300]

    saved = np.load(folder / "expected.npz")
    expected = [saved[str(i)] for i in range(len(facts["outputs"]))]
    step("opens", lambda: hone(args, "info", model))
    step("doctor", lambda: doctor(args, model))
    own = step("runs", lambda: files.run(model))
    if own:
        result["interpreted"] = step("profiles", lambda: files.interpreted(model))
        result["difference"] = step("agrees", lambda: files.compare("run", own, expected))
        again = files.scratch / "again.onnx"
        step("exports", lambda: (hone(args, "export", model, "-o", again), files.compare("exported", files.run(again), own)))
    written = [step("quantizes", lambda: (hone(args, "quantize", model, "--to", FORMAT, "-o", file), file)[1]) for file in quantized]
    computed = [step("reopens", lambda: files.run(file)) for file in written if file]
    if len(computed) == 2 and all(computed):
        step("agrees with itself", lambda: files.compare(".onnx against .safetensors", computed[1], computed[0]))
    shutil.rmtree(files.scratch)
    return result


def doctor(args, model):
    """Exit code 1 says that it found problems: of these files there is none."""
    hone(args, "doctor", model, "--batch", 2)


def program_id(hone_program):
    status = os.stat(hone_program)
    return f"{status.st_size} {status.st_mtime_ns}"


def results_of(args, name):
    make_in_child(name, args.exporter)
    found = {}
    for exporter in args.exporter:
        folder = WORK / name / exporter
        facts, kept = json.loads((folder / "made.json").read_text()), folder / "result.json"
        if "refused" in facts:
            found[exporter] = {"refused": facts["refused"]}
        else:
            known = json.loads(kept.read_text()) if kept.exists() and not args.again else {}
            if known.get("hone") != program_id(args.hone):
                known = {"hone": program_id(args.hone), **check(args, folder, facts)}
                kept.write_text(json.dumps(known))
            found[exporter] = {**known, "axes": facts["axes"], "reference": facts["reference"], "why": facts["why"]}
        print(f"{name} {exporter}: {cell(found[exporter])}" + "".join(f"\n    {k}: {v}" for k, v in found[exporter].get("failures", {}).items()), flush=True)
    return found


# --- the table -----------------------------------------------------------------------------------------------------------

def cell(result):
    if "refused" in result:
        return "not exported"
    notes = ("" if result["reference"] == "ONNX Runtime" else ", PyTorch's") + ("" if result["axes"] == "open axes" else ", fixed axes")
    if result["failures"]:
        return "**" + ", ".join(result["failures"]) + "**" + notes
    return f"{result['difference']:.0e}{notes}"


def summary(found):
    every = [result for results in found.values() for result in results.values()]
    made = [result for result in every if "refused" not in result]
    lines = [f"{len(made)} files of {len(found)} networks; {len(every) - len(made)} the exporters could not make. "
             f"{sum(not result['failures'] for result in made)} pass every check; largest difference from the reference "
             f"{max((result['difference'] or 0 for result in made), default=0):.1e} of the largest magnitude of an output. "
             f"{sum(result.get('interpreted') == {} for result in made)} run without an interpreted step.\n"]
    for title, reasons in [("Failures", failures(found)), ("Interpreted steps", interpreted(found)), ("Not exported", refusals(found))]:
        lines += [f"\n{title}:\n\n", *(f"- {why}: {', '.join(where)}\n" for why, where in reasons.items())] if reasons else []
    return "".join(lines)


def grouped(found, reasons_of):
    groups = collections.defaultdict(list)
    for name, by_exporter in found.items():
        for exporter, result in by_exporter.items():
            for why in reasons_of(result):
                groups[why].append(f"{name} {exporter}")
    return groups


def failures(found):
    return grouped(found, lambda result: [f"{step}: {why}" for step, why in result.get("failures", {}).items()])


def interpreted(found):
    return grouped(found, lambda result: [f"{count} of {op}" for op, count in (result.get("interpreted") or {}).items()])


def refusals(found):
    return grouped(found, lambda result: [result["refused"]] if "refused" in result else [])


def section(found, exporters):
    import importlib.metadata
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ["torch", "torchvision", "transformers", "onnxruntime"])
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    rows = [[name, *(cell(by_exporter[each]) for each in exporters)] for name, by_exporter in found.items()]
    return (f"{datetime.date.today()}, hone {commit}; {versions}. Random weights. A number is hone's largest difference from ONNX Runtime in f32 (from "
            "PyTorch where that refuses), of the largest magnitude of the output, of a file that opens, agrees, exports, quantizes as "
            f"{FORMAT} to .safetensors and .onnx, and whose written files agree with each other. At most {AGREES:.0e}, or four times PyTorch's own "
            f"distance from f64 where that is more.\n\n{summary(found)}\n" + results.table(["network", *exporters], rows))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("--only", action="append", default=[], help="networks of this name (repeatable)")
    parser.add_argument("--exporter", action="append", choices=list(EXPORTERS), help="repeatable; default: all")
    parser.add_argument("--again", action="store_true", help="check also what this hone has checked")
    parser.add_argument("--dry", action="store_true", help="print, but leave bench/results.md as it is")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    args.exporter = args.exporter or list(EXPORTERS)
    return args


def main():
    if sys.argv[1:2] == ["--make"]:
        for exporter in sys.argv[3:]:
            make(sys.argv[2], exporter)
        return 0
    args = arguments()
    names = subprocess.run([sys.executable, "-c", "import zoo; print(*zoo.CASES)"], capture_output=True, text=True, check=True,
                           cwd=pathlib.Path(__file__).parent).stdout.split()
    names = [name for name in names if not args.only or name in args.only]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        found = dict(zip(names, pool.map(lambda name: results_of(args, name), names)))
    text = section(found, args.exporter)
    print("\n" + text)
    if not args.dry:
        results.write_section("Networks as PyTorch exports them", text)
    return int(bool(failures(found)))


if __name__ == "__main__":
    sys.exit(main())
