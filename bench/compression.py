"""What smaller models are worth, after training and before: MiniLM on a task of Debian's packages and a CNN on Fashion-MNIST, trained whole, by low-rank
adapters, rounded after training and in it, pruned and trained on, and all of it from a teacher. One table for both: bytes of the file, accuracy on rows that
were not trained on with its 95 % interval, latency of that very file, seconds and memory of its training. Only hone's commands make and judge the models.
Begins with the models that bench/training.py leaves in build/bench/training. `make train` runs it after that, from the root of the checkout.

usage: compression.py HONE [--only text,cnn] [--share S] [--dry]      (parts that are left out keep the rows of their last run)
  HONE: build/release/hone   --share: of the steps of each training, to try it   --dry: print, but leave bench/results.md as it is
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import results  # noqa: E402
from training import FASHION, MINILM, WORK, judged, percent, run, shown, trained  # noqa: E402

OWN = WORK / "compression"
COLUMNS = ["model", "file", "accuracy", "latency, ms", "training, s", "memory of training", "commands"]
TEACHER = ["--temperature", 4, "--distill-weight", "0.7"]


class Task:
    """Models of one task, each made of another by a command; rows of the table."""

    def __init__(self, args, data, whole, training, rate, steps, bench, linear):
        self.args, self.data, self.training, self.bench, self.linear = args, data, training, bench, linear
        self.steps, self.rows, self.commands = steps, [], []
        self.whole, self.rate = whole, rate

    def path(self, name):
        return WORK / f"{name}.safetensors"

    def numbered(self, commands):
        for command in commands:
            if shown(command) not in self.commands:
                self.commands.append(shown(command))
        return ", ".join(str(self.commands.index(shown(command)) + 1) for command in commands)

    def add(self, what, name, commands, record=None):
        result, judging = judged(self.args.hone, name, self.data)
        latency = json.loads(run([self.args.hone, "bench", self.path(name), *self.bench, "--seconds", 4, "--json"])[0])["results"][0]
        training = record and record["training"]
        self.rows.append([what, f"{self.path(name).stat().st_size / 1e6:.2f} MB", percent(result["accuracy"], result["accuracy_ci95"]),
                          f"{latency['median_ms']:.2f} ({latency['ci95_ms'][0]:.2f}-{latency['ci95_ms'][1]:.2f})",
                          f"{training['seconds']:.0f}" if training else "", f"{training['resident'] / 1e6:.0f} MB" if training else "",
                          self.numbered([*commands, judging])])
        print(" | ".join(self.rows[-1]), flush=True)

    def train(self, what, name, source, flags, share, before=(), rate=None):
        steps = max(int(self.steps * share * self.args.share), 2)
        record, command = trained(self.args.hone, name, [source, "--data", self.data, *self.training, "--steps", steps, "--rate", rate or self.rate, *flags])
        self.add(what, name, [*before, command], record)
        return command

    def make(self, what, name, verb, source, flags, before=()):
        command = [self.args.hone, verb, source, *flags, "-o", self.path(name)]
        run(command)
        if what:
            self.add(what, name, [*before, command])
        return command

    def all(self, original, lora, structures):
        whole = self.whole
        self.add("trained whole", whole.stem, [])
        self.train("adapters of rank 6", f"{OWN.name}/lora", original, [*(part for rule in lora for part in ("--lora", rule)), "--lora-rank", 6, "--lora-alpha", 12], 1,
                   rate="2e-3")
        fuse = [self.args.hone, "lora", "fuse", self.path(f"{OWN.name}/lora"), "-o", self.path(f"{OWN.name}/fused")]
        run(fuse)
        self.add("the same, fused", f"{OWN.name}/fused", [fuse])
        for bits in (8, 4):
            rules = [rule.format(bits=bits) for rule in self.linear]
            self.make(f"int{bits}, after training", f"{OWN.name}/ptq{bits}", "quantize", whole, [part for rule in rules for part in ("--rule", rule)])
            self.train(f"int{bits}, trained on", f"{OWN.name}/qat{bits}", whole, [part for rule in rules for part in ("--qat", rule)], 0.25)
        half = self.make("half of the weights 0", f"{OWN.name}/zeros", "prune", whole, ["--sparsity", "0.5", "--store", "sparse"])
        self.train("the same, trained on", f"{OWN.name}/zeros_trained", self.path(f"{OWN.name}/zeros"), ["--keep-zeros"], 0.25, [half])
        source, pruning = whole, []
        for i, structure in enumerate(structures):
            name = f"{OWN.name}/pruned{i}"
            pruning.append(self.make("", name, "prune", source, ["--structure", structure, "--sparsity", "0.5"]))
            source = self.path(name)
        self.add(f"half of the {' and '.join(structures)} gone", f"{OWN.name}/pruned{len(structures) - 1}", pruning)
        self.train("the same, trained on", f"{OWN.name}/pruned_trained", source, [], 0.5, pruning)
        taught = self.train("the same, from the whole one as its teacher", f"{OWN.name}/taught", source, ["--teacher", whole, *TEACHER], 0.5, pruning)
        rules = [part for rule in self.linear for part in ("--qat", rule.format(bits=8))]
        self.train("the same, then int8 in training", f"{OWN.name}/chain", self.path(f"{OWN.name}/taught"), ["--teacher", whole, *TEACHER, *rules], 0.25,
                   [*pruning, taught])
        return self.rows


def text(args):
    """One epoch is 625 steps."""
    task = Task(args, WORK / "debian.tsv", WORK / "tune.safetensors",
                ["--batch", 32, "--schedule", "linear", "--warmup", "0.1", "--max-length", 48], "5e-5", 625,
                ["--batch", 1, "--seq", 48], ["op:linear=int{bits}.channel"])
    return task, task.all(MINILM, ["op:linear"], ["neurons", "heads"])


def cnn(args):
    """One epoch is 469 steps. Adapters begin with the trained network: one with new weights is nothing to adapt."""
    task = Task(args, FASHION, WORK / "cnn1.safetensors",
                ["--batch", 128, "--schedule", "one-cycle", "--flip", "--head", "keep"], "1e-3", 469,
                ["--batch", 1], ["weight=int{bits}.channel"])
    return task, task.all(task.whole, ["op:conv", "op:linear"], ["channels"])


PARTS = {"text": ("MiniLM-L6, 57 sections of Debian", text, ["tune.safetensors", "debian.tsv"]),
         "cnn": ("CNN on Fashion-MNIST", cnn, ["cnn1.safetensors"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone")
    parser.add_argument("--only", default="", help="parts, separated by commas")
    parser.add_argument("--share", type=float, default=1)
    parser.add_argument("--dry", action="store_true")
    args = parser.parse_args()
    OWN.mkdir(parents=True, exist_ok=True)
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    out = (f"`make train` on {cpu}: trained by two threads, latency of one sample by one. The first row's training is in the section above; shares of its steps: "
           "adapters 1, pruned ones 1/2, others 1/4. Commands are numbered below the table.\n")
    for name in args.only.split(",") if args.only else PARTS:
        if name not in PARTS:
            parser.error(f"unknown part {name}; known: {', '.join(PARTS)}")
        title, part, needed = PARTS[name]
        for file in needed:
            if not (WORK / file).exists():
                raise SystemExit(f"{WORK / file} is not there; bench/training.py makes it")
        print(title)
        task, rows = part(args)
        commands = "".join(f"{i + 1}. {command}\n" for i, command in enumerate(task.commands))
        (OWN / f"{name}.md").write_text(f"\n### {title}\n\n{results.table(COLUMNS, rows)}\n{commands}")
    out += "".join((OWN / f"{name}.md").read_text() for name in PARTS if (OWN / f"{name}.md").exists())
    if not args.dry:
        results.write_section("Smaller models of two tasks", out)


if __name__ == "__main__":
    main()
