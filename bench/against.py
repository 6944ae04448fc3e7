"""Whether one build of hone is slower than another: kernels, encoders and convolutional networks, a step of training, and whole
processes (how one starts, compiles, what memory it takes, how many trials of a study it makes), each timed in turn in both builds,
in one run on one machine. A row counts as slower when the interval of its ratio lies above 1 in three independent runs, and
the median of these by more than RESOLUTION, by which two copies of one build differ (what lies below is listed too).

usage: against.py OLD NEW [--rounds 60] [--only TEXT]... [--quick] [--json F]          (from the root of the checkout)
OLD and NEW are build folders that hold `hone` and, for rows of kernels, training and studies, programs of the target `bench`. Exit code 1 when
a row is slower. Needs Python alone; models that were not fetched (`make models`, `make bench-peers`) are left out.
"""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
from interleaved import Hone, OnDemand, interval, ratio, rounds  # noqa: E402

WORK = pathlib.Path("build/bench/against")
MINILM = pathlib.Path("build/models/all-MiniLM-L6-v2")
OCR = pathlib.Path("build/models/pp-ocr")
RUNS = 3  # in which a row must be slower to count
RESOLUTION = 0.005  # rows of products that two copies of one build ran, on Zen 4: medians of 0.993 to 1.007

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("old", type=pathlib.Path)
parser.add_argument("new", type=pathlib.Path)
parser.add_argument("--rounds", type=int, default=60, help="in which both builds run a model once")
parser.add_argument("--only", action="append", default=[], help="rows in whose name this is found")
parser.add_argument("--quick", action="store_true", help="models only, a quarter of the rounds")
parser.add_argument("--json", type=pathlib.Path)
args = parser.parse_args()


@dataclasses.dataclass
class Row:
    name: str
    model: str = ""
    flags: tuple = ()
    threads: int = 1


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def made(name, *command):
    """A file that the old build makes once: both builds run the same one."""
    path = WORK / f"{int((args.old / 'hone').stat().st_mtime)}-{name}"
    if not path.exists():
        run(args.old / "hone", *command, "-o", path)
    return str(path)


def model_rows():
    if MINILM.exists():
        files = {"f32": str(MINILM)}
        for name in ("bf16", "mxint8", "mxint4", "int4.g32"):
            files[name] = made(f"{name}.safetensors", "quantize", MINILM, "--to", name, "--compute", "bf16")
        for name, file in files.items():
            for batch, length in ((1, 1), (1, 16), (1, 128), (32, 32)):
                yield Row(f"MiniLM {name} {batch}x{length}", file, ("--batch", batch, "--seq", length))
        yield Row("MiniLM f32 1x128, two threads", files["f32"], ("--seq", 128), 2)
    for network in ("resnet18", "mobilenet_v3_small"):
        file = made(f"{network}.safetensors", "build", network)
        for compute in ("f32", "bf16"):
            yield Row(f"{network} {compute}", file, ("--compute", compute))
    for part, size in (("det", (640, 640)), ("rec", (48, 320))):
        file = OCR / f"ch_PP-OCRv4_{part}_infer.onnx"
        if file.exists():
            yield Row(f"PP-OCR {part} {size[0]}x{size[1]}", str(file), ("--shapes", size))


def shape_flags(row):
    """--shapes stands for the dimensions of an image input, whose names only the model knows."""
    if not row.flags or row.flags[0] != "--shapes":
        return row.flags
    ports = json.loads(run(args.new / "hone", "info", row.model, "--json"))["ports"]
    dims = next(port["type"] for port in ports if port["direction"] == "input").partition("[")[2].rstrip("]").split(",")
    sizes = (1, 3, *row.flags[1])
    return tuple(part for dim, size in zip(dims, sizes) if not dim.isdigit() for part in ("--dim", f"{dim}={size}"))


def time_model(row):
    flags = shape_flags(row)
    return time_in_turn(lambda name, build: Hone(build / "hone", row.model, {}, WORK / name, row.threads, (*flags, "--no-cache")))


def time_in_turn(started):
    """Of what started(name, build) starts for each build."""
    builds = [("old", args.old), ("new", args.new)]
    random.shuffle(builds)  # who lays out its weights first
    systems = {name: started(name, build) for name, build in builds}
    times = rounds(systems, max(12, args.rounds // 4) if args.quick else args.rounds)
    for system in systems.values():
        system.close()
    return ratio(times, "new", "old"), statistics.median(times["new"])


def process(*command):
    """Seconds and peak bytes of a process."""
    start = time.perf_counter()
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}: {child.stderr.read().decode()}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def process_rows():
    """Name, unit, and what one build's figure is: the less the better."""
    network = made("resnet18.safetensors", "build", "resnet18")
    yield "a process starts and ends", "ms", 40, lambda build: process(build / "hone", "--version")[0] * 1e3
    yield "ResNet-18 opened, compiled, run", "ms", 7, lambda build: process(build / "hone", "run", network, "--no-cache")[0] * 1e3
    yield "peak memory of that", "MB", 7, lambda build: process(build / "hone", "run", network, "--no-cache")[1] / 1e6
    if all((build / "bench" / "bench_search").exists() for build in (args.old, args.new)):
        yield "a trial of a study in memory", "us", 7, lambda build: 1e6 / float(run(build / "bench" / "bench_search", "work", "memory", 1))


def time_processes(figure, repeats):
    ratios, last = [], 0
    for repeat in range(repeats):
        order = [("old", args.old), ("new", args.new)][:: 1 if repeat % 2 else -1]
        found = {which: figure(build) for which, build in order}
        ratios.append(found["new"] / found["old"])
        last = found["new"]
    return interval(ratios), last


def time_training():
    return time_in_turn(lambda name, build: OnDemand([build / "bench" / "bench_train_step", "bert-tiny", "--on-demand"]))


def kernel_figures(build, name=None):
    file = WORK / "kernels.json"
    only = ("--only", name) if name else ()
    run(build / "bench" / "bench_kernels", *only, "--rounds", 12, "--json", file)
    rates = {}
    for k in json.loads(file.read_text()):
        rate = k.get("gflops") or k.get("gbytes_per_second")
        if rate:
            rates[k["name"]] = rate
    return rates


def time_kernels(repeats=7, name=None):
    """Of each kernel the ratios of several pairs of processes; old and new first in turn."""
    ratios, last = {}, {}
    for repeat in range(repeats):
        order = [("old", args.old), ("new", args.new)][:: 1 if repeat % 2 else -1]
        rates = {which: kernel_figures(build, name) for which, build in order}
        for kernel in (k for k in rates["old"] if k in rates["new"]):
            ratios.setdefault(kernel, []).append(rates["old"][kernel] / rates["new"][kernel])
            last[kernel] = rates["new"][kernel]
    return {kernel: (spread(found), last[kernel]) for kernel, found in ratios.items()}


def spread(values):
    """Median, and the middle of the values without the lowest and the highest: of seven, an interval of 87.5 %."""
    v = sorted(values)
    return statistics.median(v), v[min(1, len(v) - 1)], v[max(len(v) - 2, 0)]


def is_slower(found):
    return found[1] > 1


def listed(ratios):
    return ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items()) or "none"


def wanted(name):
    return not args.only or any(text in name for text in args.only)


def show(name, found, note):
    mark = "slower?" if is_slower(found) else "faster" if found[2] < 1 else ""
    print(f"  {name:44} {found[0]:.3f} ({found[1]:.3f}-{found[2]:.3f})  {note:>14}  {mark}", flush=True)


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    found, again = {}, {}
    print(f"new / old: {args.new} / {args.old}")
    for row in filter(lambda row: wanted(row.name), model_rows()):
        found[row.name], seconds = time_model(row)
        again[row.name] = lambda row=row: time_model(row)[0]
        show(row.name, found[row.name], f"{seconds * 1e3:.2f} ms")
    if wanted("training step, bert-tiny") and all((build / "bench" / "bench_train_step").exists() for build in (args.old, args.new)):
        name = "training step, bert-tiny"
        found[name], seconds = time_training()
        again[name] = lambda: time_training()[0]
        show(name, found[name], f"{seconds * 1e3:.2f} ms")
    for name, unit, repeats, figure in process_rows():
        if wanted(name):
            found[name], last = time_processes(figure, repeats)
            again[name] = lambda figure=figure, repeats=repeats: time_processes(figure, repeats)[0]
            show(name, found[name], f"{last:.2f} {unit}")
    kernels_wanted = not args.only or any(not text.startswith(("MiniLM", "resnet", "mobilenet", "PP-OCR")) for text in args.only)
    has_kernels = kernels_wanted and all((build / "bench" / "bench_kernels").exists() for build in (args.old, args.new))
    if has_kernels and not args.quick:
        for name, (times, rate) in time_kernels().items():
            if wanted(name):
                found[name] = times
                again[name] = lambda name=name: time_kernels(name=name)[name][0]
                show(name, times, f"{rate:.1f} G/s")
    suspects = [name for name, ratios in found.items() if is_slower(ratios)]
    slower, level = {}, {}
    for name in suspects:
        intervals = [found[name]]
        while len(intervals) < RUNS and is_slower(intervals[-1]):
            intervals.append(again[name]())
            show(f"again: {name}", intervals[-1], "")
        if all(map(is_slower, intervals)) and len(intervals) == RUNS:
            median = statistics.median(each[0] for each in intervals)
            (slower if median > 1 + RESOLUTION else level)[name] = median
    mean = math.exp(statistics.fmean(math.log(ratios[0]) for ratios in found.values())) if found else 1
    print(f"{len(found)} rows, geometric mean of new / old {mean:.3f}; slower in {RUNS} runs: "
          + listed(slower) + f"; by less than copies of one build differ: {listed(level)}")
    if args.json:
        record = {"mean": mean, "rows": found, "slower": slower, "within_resolution": level}
        args.json.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if slower else 0


sys.exit(main())
