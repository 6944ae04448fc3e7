"""What hone search answers to the questions of the labs and of examples/searches, a command each. Prints a table for each, and puts it into a section
of bench/results.md with --record. Run from the root of the checkout, with build/searches/fashion.safetensors (examples/labs/lab3/train.sh)
and build/labs/reviews.csv (scripts/deps.sh labs) there; `make bench-questions` makes both.

usage: questions.py HONE [--only nas,compression,precision,formats,lambda,supernet] [--record]
"""
import argparse
import csv
import datetime
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
from results import table, write_section  # noqa: E402

WORK = pathlib.Path("build/bench/questions")
FOLDERS = {"nas": "labs/lab2", "compression": "labs/lab2", "precision": "labs/lab3", "formats": "labs/lab3", "lambda": "labs/lab3", "supernet": "searches"}
SUPERNET = pathlib.Path("build/searches/fashion-supernet.safetensors")  # would be gone on with


def processor():
    with open("/proc/cpuinfo") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))


class Answer:
    """The studies of one command: NAME -> trials in order, each a row of `hone study export` with its figures as numbers."""

    def __init__(self, hone, name):
        self.name, storage = name, WORK / f"{name}.db"
        for old in WORK.glob(f"{name}.db*"):
            old.unlink()
        SUPERNET.unlink(missing_ok=True)
        command = [hone, "search", "--config", f"examples/{FOLDERS[name]}/{name}.toml", "--storage", storage]
        begin, used = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
        out = self.run([*command, "--report", WORK / f"{name}.html", "--json"])
        self.seconds, after = time.time() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu_seconds = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        self.record = json.loads(out)
        self.command = " ".join(["hone", *map(str, command[1:])])
        self.studies = {}
        for line in self.run([hone, "study", "list", storage, "--json"], json.loads)["studies"]:
            export = WORK / f"{name}.csv"
            self.run([hone, "study", "export", storage, line["name"], "-o", export])
            self.studies[line["name"]] = [self.trial(row) for row in csv.DictReader(export.open())]

    @staticmethod
    def run(command, read=str):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return read(done.stdout)

    @staticmethod
    def trial(row):
        values = {key.removeprefix("parameter "): value for key, value in row.items() if key.startswith("parameter ")}
        started, ended = (datetime.datetime.fromisoformat(row[key]) for key in ("started", "ended"))
        return {"seconds": (ended - started).total_seconds(), "figures": json.loads(row["attribute figures"] or "{}"), "parameters": values}

    def accuracies(self, study, after=None):
        return [t["figures"].get("accuracy", 0) for t in self.studies[study][:after]]

    def best(self, study):
        return max(self.studies[study], key=lambda t: t["figures"].get("accuracy", 0))

    def said(self):
        trials = sum(map(len, self.studies.values()))
        return (f"`{self.command}` on {processor()}, one thread: {trials} trials of {len(self.studies)} studies, "
                f"{self.cpu_seconds:.0f} s of CPU time ({self.seconds:.0f} s beside other work).")


def percent(value):
    return f"{100 * value:.1f} %"


def best_after(answer, counts, more=lambda _: [], heads=()):
    rows = [[study, *(percent(max(answer.accuracies(study, n))) for n in counts), *more(study)] for study in answer.studies]
    return table(["", *(f"best of {n}" for n in counts), *heads], rows)


def nas(answer):
    names = {"num_hidden_layers": "layers", "num_attention_heads": "heads", "hidden_size": "wide", "intermediate_size": "within"}

    def chosen(study):
        p = answer.best(study)["parameters"]
        left_out = sum(v == "identity" for v in p.values())
        return [", ".join(f"{p['build.' + key]} {name}" for key, name in names.items()) + f", {left_out} layers left out"]

    return "Which architecture learns reviews best in 100 steps.", \
        best_after(answer, (2, 4, 8), chosen, ["the best one"])


def compression(answer):
    def size(study):
        figures = answer.best(study)["figures"]
        return [f"{figures['bits']:.1f}", f"{figures['bytes'] / 1000:.1f} kB"]

    return "Convolutional networks after 150 steps; with int8 weights of which half are 0; the same trained for 60 more steps as they are rounded.", \
        best_after(answer, (4, 8, 16), size, ["average bits of the best", "its file"])


def precision(answer):
    counts, rows = (5, 10, 20, 30), []
    for sampler in ("random", "tpe"):
        cells = []
        for n in counts:
            best = [max(answer.accuracies(f"{sampler}-{seed}", n)) for seed in (1, 2, 3)]
            cells.append(f"{percent(statistics.median(best))} ({100 * min(best):.1f}-{100 * max(best):.1f})")
        rows.append([sampler, *cells])
    return "Widths of 8, 16 or 32 bits with 2, 4 or 8 of them for the fraction, a choice for each of four layers: the median and range of three seeds.", \
        table(["", *(f"best of {n}" for n in counts)], rows)


def formats(answer):
    limits = (3, 4, 5, 6, 8, 33)

    def cell(study, limit):
        within = [t["figures"] for t in answer.studies[study] if t["figures"].get("bits", 99) <= limit]
        if not within:
            return ""
        best = max(within, key=lambda f: (f["accuracy"], -f["bits"]))
        return f"{percent(best['accuracy'])} at {best['bits']:.2f}"

    rows = [[f"{study}, {len(trials)} trials", *(cell(study, n) for n in limits)] for study, trials in answer.studies.items()]
    return "Formats of one kind or f32 by layer, and all kinds mixed: the best accuracy within so many average bits.", \
        table(["", *(f"at most {n} bits" if n < 33 else "any" for n in limits)], rows)


def prices(answer):
    rows = []
    for study in answer.studies:
        price = float(study.removeprefix("price-"))
        best = max(answer.studies[study], key=lambda t: t["figures"]["accuracy"] - price * t["figures"]["bits"])["figures"]
        rows.append([price, percent(best["accuracy"]), f"{best['bits']:.2f}", f"{best['bytes'] / 1000:.1f} kB"])
    return "The best of 40 trials by accuracy - price * average bits.", table(["price", "accuracy", "average bits", "file"], rows)


def ranks(values):
    """Those of equal values are their mean."""
    order = sorted(values)
    return [order.index(v) + (order.count(v) - 1) / 2 for v in values]


def supernet(answer):
    by_point = {study: {json.dumps(t["parameters"], sort_keys=True): t["figures"]["accuracy"] for t in trials}
                for study, trials in answer.studies.items()}
    common = sorted(set(by_point["begun"]) & set(by_point["alone"]))
    begun, alone = ([by_point[study][p] for p in common] for study in ("begun", "alone"))
    rank = statistics.correlation(ranks(begun), ranks(alone))
    picked = alone[begun.index(max(begun))]
    rows = [[what, *(percent(of(found)) for of in (min, statistics.median, max)), f"{sum(t['seconds'] for t in answer.studies[study]):.0f}"]
            for what, study, found in (("with their part of the supernet's weights", "begun", begun), ("trained alone", "alone", alone))]
    return (f"{len(common)} networks with weights of one supernet (400 steps, then none), and each trained alone (300 steps). Ranks correlate by {rank:.2f}; "
            f"the network that is best by the supernet reaches {percent(picked)} trained alone, where the best does {percent(max(alone))}. "
            "Of the seconds beside other work, those that are no trial's are the training of the supernet."), table(["", "worst", "median", "best", "s of all trials"], rows)


QUESTIONS = {"nas": ("architectures", nas), "compression": ("compressed networks", compression), "precision": ("precisions by layer", precision),
             "formats": ("formats alone and mixed", formats), "lambda": ("a price of bits", prices), "supernet": ("weights of a supernet", supernet)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone")
    parser.add_argument("--only", default=",".join(QUESTIONS), help="names, separated by commas")
    parser.add_argument("--record", action="store_true", help="write sections of bench/results.md")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    for name in args.only.split(","):
        if name not in QUESTIONS:
            parser.error(f"unknown question {name}; known: {', '.join(QUESTIONS)}")
        title, answered = QUESTIONS[name]
        answer = Answer(args.hone, name)
        what, rows = answered(answer)
        print(f"{what}\n{answer.said()}\n{rows}", flush=True)
        if args.record:
            write_section(f"Search: {title}", f"{what} {answer.said()}\n\n{rows}")


if __name__ == "__main__":
    main()
