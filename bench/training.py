"""What models that hone trains are worth: MiniLM on a task of Debian's packages, a CNN on Fashion-MNIST beside PyTorch, and losses step by step beside
PyTorch. Only hone's commands train and judge. Each part leaves its rows in build/bench/training; the section "Training" of bench/results.md is written
from all that are there, those of `make train` before those of `make train-full`. Exits with 1 where a row misses what it must reach. Run from the root of
the checkout.

usage: training.py HONE DEBIAN_TSV [--full] [--only probe,tune,cnn1,cnn2,cnn3,parity,aclimdb] [--dry]
  HONE: build/release/hone   DEBIAN_TSV: build/release/examples/demo/debian_tsv   --full: instead three epochs of text, four of images, the layout of aclImdb
"""
import argparse
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import results  # noqa: E402
from debian import packages  # noqa: E402

WORK = pathlib.Path("build/bench/training")
MINILM = "build/models/all-MiniLM-L6-v2"
FASHION = "/usr/share/datasets/fashion-mnist"
SEEDS = (1, 2, 3)
MOST_DIFFERENCE = 0.005  # of two accuracies on Fashion-MNIST
STUDENT = 4.303          # Student's t of 95 % with the two degrees of freedom of three seeds


def run(command):
    """Standard output of a command, and its seconds."""
    command = [str(part) for part in command]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout, time.perf_counter() - begin


def shown(command):
    return "`" + " ".join(str(part) if " " not in str(part) and "|" not in str(part) else f"'{part}'" for part in command) + "`"


def epochs_of(what, epochs):
    return f"{what}, {epochs} epoch{'s' if epochs > 1 else ''}"


def trained(hone, name, arguments):
    """The record of a training that writes WORK/NAME.safetensors, and its command."""
    shutil.rmtree(WORK / f"{name}.run", ignore_errors=True)
    command = [hone, "train", *arguments, "--threads", 2, "-o", WORK / f"{name}.safetensors"]
    return json.loads(run([*command, "--json"])[0]), command


def judged(hone, name, data):
    command = [hone, "evaluate", WORK / f"{name}.safetensors", "--data", data, "--split", "test", "--metric", "accuracy", "--threads", 2]
    return json.loads(run([*command, "--json"])[0])["evaluation"][0], command


def percent(value, interval=None):
    text = f"{100 * value:.2f} %"
    return text + (f" ({100 * interval[0]:.2f}-{100 * interval[1]:.2f})" if interval else "")


def debian(tsv_program):
    path = WORK / "debian.tsv"
    if not path.exists():
        (WORK / "packages.txt").write_text(packages())
        run([tsv_program, WORK / "packages.txt", path])
    return path


def row(what, figure, must, reached, record, commands):
    memory = record and f"{record['training']['resident'] / 1e6:.0f} MB of {record['training']['planned'] / 1e6:.0f} planned"
    return {"what": what, "figure": figure, "must": must, "reached": bool(reached), "seconds": record and round(record["training"]["seconds"]),
            "memory": memory or "", "commands": [shown(c) for c in commands]}


def text_part(hone, data, name, what, least, arguments):
    record, command = trained(hone, name, [MINILM, "--data", data, *arguments])
    result, judging = judged(hone, name, data)
    figure = percent(result["accuracy"], result["accuracy_ci95"]) + f" of {result['rows']}"
    return row(what, figure, f">= {100 * least:.0f} %", result["accuracy_ci95"][0] >= least, record, [command, judging])


def probe(args):
    epochs = 3 if args.full else 1
    return text_part(args.hone, debian(args.debian_tsv), args.name("probe"), epochs_of("MiniLM-L6, its body frozen, 57 sections of Debian", epochs), 0.5,
                     ["--rule", "embeddings|encoder=frozen", "--epochs", epochs, "--batch", 32, "--rate", "1e-2", "--schedule", "linear", "--max-length", 48])


def tune(args):
    epochs = 3 if args.full else 1
    return text_part(args.hone, debian(args.debian_tsv), args.name("tune"), epochs_of("MiniLM-L6, all of it, 57 sections of Debian", epochs), 0.6,
                     ["--epochs", epochs, "--batch", 32, "--rate", "1e-4", "--schedule", "linear", "--warmup", "0.1", "--max-length", 48])


def aclimdb_folder():
    """The real one where build/models has it, else one of that layout: short texts whose words tell what they think."""
    real = pathlib.Path("build/models/aclImdb")
    if real.is_dir():
        return real, "aclImdb"
    folder = WORK / "aclImdb"
    draw = random.Random(1)
    words = {"pos": ["moving", "brilliant", "funny", "wonderful"], "neg": ["dull", "clumsy", "boring", "awful"]}
    for split, count in (("train", 400), ("test", 400)):
        for label, telling in words.items():
            (folder / split / label).mkdir(parents=True, exist_ok=True)
            for i in range(count):
                text = f"The {draw.choice(['film', 'story', 'cast', 'music'])} was {draw.choice(telling)} and the {draw.choice(['end', 'plot'])} {draw.choice(['long', 'short'])}."
                stars = draw.randint(7, 10) if label == "pos" else draw.randint(1, 4)
                (folder / split / label / f"{i}_{stars}.txt").write_text(text)
    return folder, "a generated folder in the layout of aclImdb"


def aclimdb(args):
    folder, what = aclimdb_folder()
    return text_part(args.hone, folder, args.name("aclimdb"), epochs_of(f"MiniLM-L6, all of it, {what}", 1), 0.8,
                     ["--epochs", 1, "--batch", 32, "--rate", "1e-4", "--warmup", "0.1", "--max-length", 128, "--skip-bad"])


def cnn(args, seed):
    """One seed of both systems, from one start."""
    peer = [sys.executable, "bench/peers/train_fashion.py"]
    epochs = 4 if args.full else 1
    start = WORK / f"cnn{seed}.onnx"
    run([*peer, "start", seed, start])
    name = args.name(f"cnn{seed}")
    record, command = trained(args.hone, name, [start, "--data", FASHION, "--epochs", epochs, "--batch", 128, "--optimizer", "adamw",
                                                        "--rate", "4e-3", "--schedule", "one-cycle", "--label-smoothing", "0.05", "--flip", "--head", "keep",
                                                        "--seed", seed])
    result, judging = judged(args.hone, name, FASHION)
    beside = [*peer, "train", seed, epochs]
    theirs = json.loads(run(beside)[0])
    made = row(epochs_of(f"CNN on Fashion-MNIST, seed {seed}", epochs),
               f"{percent(result['accuracy'], result['accuracy_ci95'])}; PyTorch {percent(theirs['accuracy'])} in {theirs['seconds']:.0f} s", "", True, record,
               [command, judging, ["build/venv/bin/python", *beside[1:]]])
    return made | {"hone": result["accuracy"], "torch": theirs["accuracy"]}


def parity(args):
    file = WORK / "parity_steps.json"
    command = [sys.executable, "bench/peers/train_parity.py", args.hone, "--json", file]
    file.unlink(missing_ok=True)
    subprocess.run([str(c) for c in command], stdout=subprocess.DEVNULL, check=False)
    if not file.exists():
        raise SystemExit(f"{shown(command)} failed")
    rows = []
    for r in json.loads(file.read_text()):
        one = row(f"{r['steps']} steps of {r['name']}, beside PyTorch",
                  f"loss {r['first']:.4f} to {r['last']:.4f}; differs by at most {r['largest_difference']:.0e}, {r['largest_share']:.2f} of the bound; "
                  f"1.01 times the rate is seen in step {r['fault_seen']}", "each step inside its bound", r["inside"], None,
                  [["build/venv/bin/python", *command[1:]]])
        rows.append(one)
    return rows


CNNS = {f"cnn{seed}": lambda args, seed=seed: cnn(args, seed) for seed in SEEDS}
PARTS = {"probe": probe, "tune": tune, **CNNS, "parity": parity}
FULL_PARTS = {"probe": probe, "tune": tune, **CNNS, "aclimdb": aclimdb}


def mean_interval(values):
    half = STUDENT * statistics.stdev(values) / len(values) ** 0.5
    return statistics.mean(values), (statistics.mean(values) - half, statistics.mean(values) + half)


def both_means(rows):
    """All seeds of both systems: the intervals of the means overlap, and the means differ by little."""
    (ours, our_range), (theirs, their_range) = (mean_interval([r[key] for r in rows]) for key in ("hone", "torch"))
    overlap = our_range[0] <= their_range[1] and their_range[0] <= our_range[1]
    return {"what": f"the same, mean of {len(rows)} seeds", "figure": f"{percent(ours, our_range)}; PyTorch {percent(theirs, their_range)}",
            "must": "intervals overlap, means within 0.5 points", "reached": overlap and abs(ours - theirs) <= MOST_DIFFERENCE, "seconds": None, "memory": "",
            "commands": []}


def all_rows():
    rows = []
    for parts, suffix in ((PARTS, ""), (FULL_PARTS, "_full")):
        seeds = []
        for name in parts:
            file = WORK / f"{name}{suffix}.json"
            if not file.exists():
                continue
            part = json.loads(file.read_text())
            rows += part
            seeds += part if name in CNNS else []
            if name in CNNS and len(seeds) == len(SEEDS):
                rows.append(both_means(seeds))
                seeds = []
    return rows


def write(rows):
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    text = (f"`make train` and `make train-full` on {cpu}, two threads. Accuracies are on rows that were not trained on, with 95 % intervals: Wilson's of one "
            "model, Student's of three seeds. Memory is the largest above the process before, beside what was planned.\n\n")
    cells = [[r["what"], r["figure"], r["must"], ("reached" if r["reached"] else "MISSED") if r["must"] else "", r["seconds"] or "", r["memory"]] for r in rows]
    text += results.table(["training", "accuracy", "must", "", "s", "memory"], cells) + "\nCommands:\n\n"
    done = []
    for r in rows:
        for command in r["commands"]:
            if command not in done:
                done.append(command)
                text += f"- {command}\n"
    results.write_section("Training", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone")
    parser.add_argument("debian_tsv")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="", help="parts, separated by commas")
    parser.add_argument("--dry", action="store_true", help="print, but leave bench/results.md as it is")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    parts, suffix = (FULL_PARTS, "_full") if args.full else (PARTS, "")
    args.name = lambda part: part + suffix
    for name in args.only.split(",") if args.only else parts:
        if name not in parts:
            parser.error(f"unknown part {name}; known: {', '.join(parts)}")
        made = parts[name](args)
        made = made if isinstance(made, list) else [made]
        (WORK / f"{args.name(name)}.json").write_text(json.dumps(made, indent=1) + "\n")
        for r in made:
            print(f"{'reached' if r['reached'] else 'MISSED ':8} {r['what']}: {r['figure']}  {r['seconds'] or ''} s  {r['memory']}", flush=True)
    rows = all_rows()
    if not args.dry:
        write(rows)
    missed = [r["what"] for r in rows if not r["reached"]]
    print(f"{len(rows) - len(missed)} of {len(rows)} reached" + (f"; missed: {'; '.join(missed)}" if missed else ""))
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
