"""What one command makes of a model: hone ship beside the one-command flows of ONNX Runtime (dynamic, and static QDQ) and of NNCF, all
from the same rows, judged on rows that none of them saw, each file run by its own runtime, in turn in one run. Prints a table, says
where hone loses, and with --record writes it to bench/results.md. From the root of the checkout.

A model is an .onnx file with rows in an .npz: arrays named like its inputs, and `labels` where answers have classes; without labels
answers are compared with the original's, by the largest score of the output "logits" or by the cosine of each row.

usage: ship.py HONE [--time 10min] [--threads 1] [--rows 1000] [--model NAME=ONNX,NPZ]... [--record]
"""
import argparse
import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime
import results
from interleaved import Hone, interval, ratio, rounds, timed
from networks import machine
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

WORK = pathlib.Path("build/bench/ship")
MODELS = {"Fashion CNN": ("build/models/fashion-cnn/cnn.onnx", "build/models/fashion-cnn/test.npz")}
SAMPLES, ROUNDS, PAUSE = 128, 60, 0.002  # SAMPLES: that the peers calibrate on, as hone ship does


class Rows(CalibrationDataReader):
    def __init__(self, arrays):
        self.rows = iter([{name: a[i:i + 1] for name, a in arrays.items()} for i in range(len(next(iter(arrays.values()))))])

    def get_next(self):
        return next(self.rows, None)


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def answers(run, arrays, batch=32):
    count = len(next(iter(arrays.values())))
    return np.concatenate([run({name: a[i:i + batch] for name, a in arrays.items()}) for i in range(0, count, batch)])


def quality(given, labels, original):
    """Of each row, 0 to 1: right, or as the original has it."""
    if labels is not None:
        return (given.argmax(-1) == labels).astype(float)
    a, b = given.reshape(len(given), -1), original.reshape(len(original), -1)
    return (a * b).sum(1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-30)


def paired(mine, other, draws=1000):
    """Mean difference with its 95 % interval: the same rows drawn anew of both."""
    rng, difference = np.random.default_rng(1), mine - other
    means = [difference[rng.integers(0, len(difference), len(difference))].mean() for _ in range(draws)]
    return difference.mean(), *np.quantile(means, [0.025, 0.975])


def peers_of(model, learn, folder):
    """Files by flow, and why there is none."""
    files, faults, prepared = {}, {}, folder / "prepared.onnx"
    sample = {name: a[:SAMPLES] for name, a in learn.items()}

    def static():
        quant_pre_process(str(model), str(prepared))
        quantize_static(str(prepared), str(folder / "static.onnx"), Rows(sample), quant_format=QuantFormat.QDQ, per_channel=True)
        return folder / "static.onnx"

    def dynamic():
        quantize_dynamic(str(model), str(folder / "dynamic.onnx"))
        return folder / "dynamic.onnx"

    def nncf_default():
        import nncf
        data = nncf.Dataset([{name: a[i:i + 1] for name, a in sample.items()} for i in range(SAMPLES)])
        onnx.save(nncf.quantize(onnx.load(str(model)), data, subset_size=SAMPLES), str(folder / "nncf.onnx"))
        return folder / "nncf.onnx"

    for flow, make in {"ONNX Runtime, dynamic": dynamic, "ONNX Runtime, static": static, "NNCF": nncf_default}.items():
        try:
            files[flow] = make()
        except Exception as fault:  # a flow that refuses the model is a row of the table
            faults[flow] = f"{type(fault).__name__}: {str(fault).splitlines()[0][:80]}"
    return files, faults


def shipped(args, model, data, folder):
    out = folder / "small.safetensors"
    done = subprocess.run([args.hone, "ship", str(model), "--data", str(data), "--time", args.time, "--threads", str(args.threads), "-o", str(out)],
                          capture_output=True, text=True)
    print(done.stdout or done.stderr, flush=True)
    return out if done.returncode == 0 else None


def run_hone(args, file, arrays, folder, batch=32):
    """All answers, by batches of one process each size."""
    def run(inputs):
        system = Hone(args.hone, file, inputs, folder / "hone", args.threads)
        system()
        output = system.output(run.name)
        system.close()
        return output
    run.name = args.output
    return answers(run, arrays, batch)


def compare(args, name, path, npz):
    folder = WORK / name.lower().replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    arrays = dict(np.load(npz))
    labels = next((arrays.pop(key) for key in ("labels", "label", "y") if key in arrays), None)
    order = np.random.default_rng(1).permutation(len(next(iter(arrays.values()))))[:2 * args.rows]
    learn, judge = order[:len(order) // 2], order[len(order) // 2:]
    part = {key: a[learn] for key, a in arrays.items()}
    np.savez(folder / "learn.npz", **part, **({} if labels is None else {"labels": labels[learn]}))
    judged = {key: a[judge] for key, a in arrays.items()}
    right = None if labels is None else labels[judge]

    original = session(path, args.threads)
    args.output = original.get_outputs()[0].name
    files, faults = peers_of(path, part, folder)
    small = shipped(args, path, folder / "learn.npz", folder)
    runs = {"the original": path, **files}
    one = {key: a[:1] for key, a in judged.items()}
    given, systems = {}, {}
    for flow, file in runs.items():
        s = session(file, args.threads)
        given[flow] = answers(lambda inputs, s=s: s.run([args.output], inputs)[0], judged)
        systems[flow] = timed(lambda s=s: s.run(None, one))
    if small:
        runs["hone ship"] = small
        given["hone ship"] = run_hone(args, small, judged, folder)
        systems["hone ship"] = Hone(args.hone, small, one, folder / "hone", args.threads, writes=False)
    worth = {flow: quality(a, right, given["the original"]) for flow, a in given.items()}
    times = rounds(systems, ROUNDS, pause=PAUSE)
    rows = []
    for flow, file in runs.items():
        mean, low, high = paired(worth[flow], worth["the original"])
        ms = interval(times[flow])
        rows.append([name, flow, f"{pathlib.Path(file).stat().st_size / 1e6:.3f}", f"{1e3 * ms[0]:.3f} ({1e3 * ms[1]:.3f}-{1e3 * ms[2]:.3f})",
                     f"{100 * worth[flow].mean():.2f}", f"{100 * mean:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})", says(runs, times, worth, flow)])
    rows += [[name, flow, "-", "-", "-", "-", why] for flow, why in faults.items()]
    if not small:
        rows.append([name, "hone ship", "-", "-", "-", "-", "refused; its words stand above"])
    return rows


def says(runs, times, worth, flow):
    """Of a peer, what hone's file is beside it, by intervals; a loss is named."""
    if flow in ("hone ship", "the original") or "hone ship" not in runs:
        return ""
    size = pathlib.Path(runs["hone ship"]).stat().st_size / pathlib.Path(runs[flow]).stat().st_size
    time, worth_of = ratio(times, "hone ship", flow), paired(worth["hone ship"], worth[flow])
    lost = [what for what, is_lost in [("size", size > 1), ("time", time[1] > 1), ("answers", worth_of[2] < 0)] if is_lost]
    return (f"hone: {size:.2f} of its size, {time[0]:.2f} ({time[1]:.2f}-{time[2]:.2f}) of its time, answers "
            f"{100 * worth_of[0]:+.2f} ({100 * worth_of[1]:+.2f} to {100 * worth_of[2]:+.2f}){'; loses: ' + ', '.join(lost) if lost else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("--time", default="10min")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=1000, help="to learn from and choose on, and as many to judge on")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=ONNX,NPZ", help="beside the usual ones")
    parser.add_argument("--record", action="store_true", help="write bench/results.md")
    args = parser.parse_args()
    models = dict(MODELS)
    for text in args.model:
        name, files = text.split("=", 1)
        models[name] = tuple(files.split(","))
    rows = []
    for name, (path, npz) in models.items():
        if pathlib.Path(path).exists() and pathlib.Path(npz).exists():
            rows += compare(args, name, pathlib.Path(path), npz)
        else:
            print(f"{name}: {path} or {npz} is not there, so it is left out", flush=True)
    text = results.table(["model", "flow", "MB", "ms, batch 1", "of 100", "against the original", "beside hone ship"], rows)
    print(text)
    if args.record:
        results.write_section("One command to a smaller file", machine(args).format(os.getloadavg()[0]) + text)


if __name__ == "__main__":
    main()
