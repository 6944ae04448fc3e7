"""Whether searching on beats hone allocate: number formats by layer at equal size on disk, chosen on rows for validation, judged by the loss of
the test's. A seed has a network, a split and random numbers of its own. What a seed found stays in build/bench/search_precision; --record writes
the section of bench/results.md from all that is there. Run from the root of the checkout, with build/models/all-MiniLM-L6-v2 and
build/searches/debian.tsv (docs/data.md) for MiniLM.

usage: search_precision.py HONE [--only cnn,minilm] [--seeds 5] [--record]
"""
import argparse
import json
import math
import pathlib
import resource
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
from results import table, write_section  # noqa: E402

WORK = pathlib.Path("build/bench/search_precision")
FORMATS = "mxint{2,3,4,5,6,8}"
ALLOCATE = {"allocate": 8, "allocate-more": 100}  # choices that it measures beside the solution
SAMPLERS = ("ilp", "ilp-tpe", "tpe")
STUDENT = {3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571}  # Student's t of 95 % by the number of seeds
AT_MOST = 0.97  # of allocate's loss: what searching on must reach to pay

CNN = ["resnet18", "--set", "depths=[2,2,2]", "--set", "widths=[16,32,64]", "--set", "num_channels=1", "--set", "image_size=28", "--set", "num_classes=10"]
TASKS = {
    "cnn": {"title": "a ResNet of 177,000 weights on Fashion-MNIST", "data": "/usr/share/datasets/fashion-mnist", "reading": [], "rows": 2000, "test": 10000,
            "trials": {"ilp": 16, "ilp-tpe": 100, "tpe": 300},
            "start": CNN, "train": ["--epochs", 1, "--batch", 64, "--rate", "3e-3", "--schedule", "cosine"]},
    "minilm": {"title": "MiniLM-L6 on 57 sections of Debian", "data": "build/searches/debian.tsv", "reading": [("group-column", "source")], "rows": 200, "test": 5000,
               "trials": {"ilp": 16, "ilp-tpe": 60, "tpe": 100},
               "start": "build/models/all-MiniLM-L6-v2",
               "train": ["--steps", 150, "--batch", 32, "--rate", "2e-4", "--schedule", "linear", "--warmup", "0.1", "--max-length", 24]},
}


def processor():
    with open("/proc/cpuinfo") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))


def hone(program, *arguments):
    """The record of a command, and its CPU seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"hone {' '.join(map(str, arguments))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime


def flags(options, before=""):
    return [text for key, value in options for text in (f"--{before}{key}", value)]


def train(program, task, folder, seed, reading):
    start = task["start"]
    if isinstance(start, list):
        start = folder / "start.safetensors"
        hone(program, "build", *task["start"], "--seed", seed, "-o", start)
    return hone(program, "train", start, "--data", task["data"], *flags(reading), *task["train"], "--seed", seed, "--folder", folder / "run",
                "-o", folder / "model.safetensors")[1]


def quantized(program, model, rule, output):
    hone(program, "quantize", model, *rule, "--compute", "f32", "-o", output)
    return output


def one_seed(program, name, seed):
    """What each way found: loss on the test's rows, bytes, CPU seconds. What ended before a stop is not done again."""
    task, folder = TASKS[name], WORK / f"{name}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    notes = folder / "seconds.json"
    seconds = json.loads(notes.read_text()) if notes.exists() else {}

    def once(way, make):
        if way not in seconds:
            seconds[way] = make()
            notes.write_text(json.dumps(seconds) + "\n")

    reading = [*task["reading"], ("validation-fraction", 0.1), ("split-seed", seed)]
    model = folder / "model.safetensors"
    once("model", lambda: train(program, task, folder, seed, reading))
    uniform = {bits: quantized(program, model, ["--rule", f".*weight=mxint{bits}"], folder / f"mxint{bits}.safetensors") for bits in (2, 3)}
    budget = sum(path.stat().st_size for path in uniform.values()) // 2
    files = {**{way: folder / f"{way}.safetensors" for way in (*ALLOCATE, *SAMPLERS)}, "f32": model, "mxint2": uniform[2], "mxint3": uniform[3]}

    def allocate(way):
        plan = folder / f"{way}.toml"
        _, used = hone(program, "allocate", model, "--formats", FORMATS, "--budget", f"bytes={budget}", "--data", task["data"], *flags(reading, "data-"),
                       "--data-split", "validation", "--data-limit", task["rows"], "--metric", "cross_entropy", "--method", "nearest", "--compute", "f32",
                       "--trials", ALLOCATE[way], "--seed", seed, "-o", plan)
        quantized(program, model, ["--config", plan], files[way])
        return used

    def search(sampler):
        config = folder / "search.toml"
        config.write_text(f'[evaluate]\nsplit = "validation"\nlimit = {task["rows"]}\n[parameters]\n'
                          f'format = {{each = ".*weight", choices = ["{FORMATS}"]}}\n')
        return hone(program, "search", model, "--config", config, "--data", task["data"], *flags(reading, "data-"), "--objective", "loss",
                    "--budget", f"bytes<={budget}", "--sampler", sampler, "--trials", task["trials"][sampler], "--seed", seed, "--study", sampler,
                    "--storage", folder / "study.db", "--resume", "-o", files[sampler])[1]

    for way in ALLOCATE:
        once(way, lambda: allocate(way))
    for sampler in SAMPLERS:
        once(sampler, lambda: search(sampler))
    there = {way: file for way, file in files.items() if file.exists()}  # a search may have found nothing within the budget
    record, _ = hone(program, "evaluate", *there.values(), "--data", task["data"], *flags(reading), "--split", "test", "--limit", task["test"],
                     "--metric", "cross_entropy")
    found = {way: {"loss": row["cross_entropy"], "beside_allocate": row.get("cross_entropy_difference_ci95"), "bytes": file.stat().st_size,
                   "seconds": seconds.get(way)}
             for (way, file), row in zip(there.items(), record["evaluation"])}
    return {"budget": budget, "found": found}


def interval(seeds, way):
    """Of the loss, as a share of allocate's: over seeds by Student's t of logarithms; of one or two over rows, by pairs (hone evaluate)."""
    if len(seeds) < 3:
        shares = [[1 + change / s["allocate"]["loss"] for change in (s[way]["loss"] - s["allocate"]["loss"], *s[way]["beside_allocate"])] for s in seeds]
        return [statistics.mean(ends) for ends in zip(*shares)]
    logs = [math.log(s[way]["loss"] / s["allocate"]["loss"]) for s in seeds]
    mean = statistics.mean(logs)
    half = STUDENT[len(logs)] * statistics.stdev(logs) / len(logs) ** 0.5
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def verdict(ratios):
    """Whether ilp-tpe pays beside allocate, and what is known of why not."""
    ratio, high = ratios.get("ilp-tpe", (math.inf, math.inf))
    if ratio <= AT_MOST and high < 1:
        return f"Searching on pays: `ilp-tpe` reaches {ratio:.3f} of allocate's loss.\n"
    text = (f"Searching on does not pay: `ilp-tpe` reaches {ratio:.3f} of allocate's loss. allocate's solution is exact for what each weight was measured to "
            "lose, and it looks around that solution itself")
    if ratios["allocate-more"][0] < ratio:
        text += f"; more of its own trials, which move single weights where `ilp-tpe` moves blocks of them, reach {ratios['allocate-more'][0]:.3f}"
    if ratios.get("tpe", (math.inf, math.inf))[0] > 1:
        text += ". TPE has a dimension for each weight, and spends most of its trials beyond the budget"
    return text + ".\n"


def section():
    text = ("Formats by layer at one size on disk, that halfway between all weights in mxint2 and in mxint3, from " + f"`{FORMATS}`, rounded to the nearest. "
            "Chosen by the cross-entropy of rows for validation, judged by that of the test's. A seed has a network, a split and random numbers of "
            "its own. Ratios are geometric means over seeds with Student's 95 % interval, of one or two seeds with the mean of those of the bootstrap over rows in pairs; "
            f"searching on pays where `ilp-tpe` has at most {AT_MOST} of allocate's loss with an interval below 1. On {processor()}, one thread.\n")
    for name, task in TASKS.items():
        seeds = [json.loads(path.read_text())["found"] for path in sorted(WORK.glob(f"{name}-*.json"))]
        if not seeds:
            continue
        rows, ratios = [], {}
        for way in ("f32", "mxint3", "mxint2", *ALLOCATE, *SAMPLERS):
            within = [s for s in seeds if way in s]
            trials = f"{way}, {task['trials'][way]} trials" if way in SAMPLERS else f"allocate, {ALLOCATE[way]} trials" if way in ALLOCATE else way
            if len(within) < len(seeds):
                rows.append([trials, f"nothing within the budget in {len(seeds) - len(within)} of {len(seeds)}", "", "", "", ""])
                continue
            compared = way not in ("f32", "allocate")
            ratio, low, high = interval(seeds, way) if compared else (1, 1, 1)
            rows.append([trials, f"{statistics.mean(s[way]['bytes'] for s in seeds) / 1000:,.1f} kB", f"{statistics.mean(s[way]['loss'] for s in seeds):.4f}",
                         f"{statistics.mean(s[way]['loss'] - s['f32']['loss'] for s in seeds):.4f}", f"{ratio:.3f} ({low:.3f}-{high:.3f})" if compared else "",
                         f"{statistics.mean(s[way]['seconds'] for s in seeds):.0f}" if way in (*ALLOCATE, *SAMPLERS) else ""])
            ratios[way] = ratio, high
        text += f"\n{task['title'][0].upper()}{task['title'][1:]}, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}, {task['rows']:,} rows for validation, {task['test']:,} for the test:\n\n"
        text += table(["", "file", "loss", "above f32's", "loss / allocate's", "CPU s"], rows) + "\n" + verdict(ratios)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone")
    parser.add_argument("--only", default=",".join(TASKS), help="cnn or minilm; none: what is there is put together")
    parser.add_argument("--seeds", type=int, default=5, choices=(1, 2, *STUDENT))
    parser.add_argument("--record", action="store_true", help="write the section of bench/results.md")
    args = parser.parse_args()
    for name in filter(None, args.only.split(",")):
        if name not in TASKS:
            parser.error(f"unknown task {name}; known: {', '.join(TASKS)}")
        for seed in range(1, args.seeds + 1):
            kept = WORK / f"{name}-{seed}.json"
            if kept.exists():
                continue
            found = one_seed(args.hone, name, seed)
            kept.write_text(json.dumps(found, indent=1) + "\n")
            print(name, seed, {way: (one["loss"], one["bytes"]) for way, one in found["found"].items()}, flush=True)
    print(section())
    if args.record:
        write_section("Search: formats by layer beside hone allocate", section())


if __name__ == "__main__":
    main()
