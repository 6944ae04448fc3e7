"""Training steps of hone beside PyTorch's, eager and compiled, taking turns in one run: forward, gradients and AdamW. Each row has its
target and says whether it was reached. --record writes bench/results.md: of the part `steps` the section "Training steps", of the part
`conditions` (bf16, two threads, beside a busy process, the start, memory) the section "Training steps under other conditions", of the part
`compressed` (low-rank adapters, rounded and pruned models) "Training and running smaller models", of `ranks` "Training by two processes".

usage: train.py PROGRAM [--part steps|conditions|compressed|ranks] [--rounds R] [--only NAME] [--record]       PROGRAM: build/release/bench/bench_train_step
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from interleaved import Hone, OnDemand, interval, ratio, rounds, timed  # noqa: E402
from results import table, write_section  # noqa: E402

TINY, FROZEN, MINILM, RESNET = ("BERT-tiny (2 x 128), 32 x 128", "the same, embeddings frozen", "MiniLM-L6, 16 x 64",
                                "ResNet-18, 3 x 3 stem, 64 x 1 x 28 x 28")
MODELS = {  # name: arguments of the program, the most that a step may take of the best of PyTorch's
    TINY: (["bert-tiny", "--batch", "32", "--length", "128"], 0.65),
    FROZEN: (["bert-tiny", "--batch", "32", "--length", "128", "--freeze", "embeddings"], 0.60),
    MINILM: (["minilm-l6", "--batch", "16", "--length", "64"], 0.75),
    RESNET: (["resnet18-stem", "--batch", "64", "--length", "28"], 0.85),
}
# The most that else is asked of hone.
BF16_SHARE = 0.65  # of a step of MiniLM in f32
TWO_THREADS = 1.05  # of one thread's share of PyTorch's time
BUSY = 1.7  # of a step alone, two threads beside a process that keeps one of two CPUs busy
COLD_START, CACHED_START = 1.0, 0.2  # seconds from the start of the process to the first step's
MEMORY = 0.60  # of PyTorch's peak; both less what the process held before the model was opened
LORA_PEFT, LORA_FULL = 0.70, 0.75  # a step of adapters of rank 6: of PEFT's on PyTorch, of one that trains all weights
QLORA_MEMORY = 0.45  # of that with weights in f32
QAT_STEP = 1.25  # of a step without rounding
HALVED_ENCODER, HALVED_CNN = 0.62, 0.40  # latency of what has half of its heads and neurons, or channels
TWO_RANKS = 0.90  # of the rows a second of two processes that know nothing of each other
RANK = 6
WORK = pathlib.Path("build/bench/train")


def peak_bytes():
    """The most memory that this process has held so far."""
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


class Program(OnDemand):
    """`bench_train_step --on-demand`: the work is one step of training."""

    def __init__(self, program, arguments, threads, cache=None):
        super().__init__([program, *arguments, "--on-demand", "--threads", threads],
                         dict(os.environ, HONE_CACHE=str(cache)) if cache else None)

    def peak_bytes(self):
        """The most memory so far, less what the process held before it opened the model."""
        return self.answer("memory")


def torch_step(name, compiled):
    """A step of the same network in PyTorch, without dropout as hone's."""
    torch.manual_seed(0)
    if name.startswith("ResNet"):
        import torchvision
        model = torchvision.models.resnet18(num_classes=10)
        model.conv1, model.maxpool = torch.nn.Conv2d(1, 64, 3, 1, 1, bias=False), torch.nn.Identity()
        images, target = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
        forward = lambda: model(images)  # noqa: E731
    else:
        from transformers import BertConfig, BertForSequenceClassification
        small = not name.startswith("MiniLM")
        width, layers, heads, batch, length = (128, 2, 2, 32, 128) if small else (384, 6, 12, 16, 64)
        model = BertForSequenceClassification(BertConfig(
            hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * width, num_labels=2,
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
        if name == FROZEN:
            model.bert.embeddings.requires_grad_(False)
        ids, mask = torch.randint(0, 30522, (batch, length)), torch.ones(batch, length, dtype=torch.long)
        target = torch.randint(0, 2, (batch,))
        forward = lambda: model(input_ids=ids, attention_mask=mask).logits  # noqa: E731
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    if compiled:
        model.compile()

    def step():
        loss = F.cross_entropy(forward(), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return timed(step)


def judged(value, most):
    return [f"{most:.2f}", "reached" if value <= most else "missed"]


def measured(program, name, threads, count):
    """Times of hone and of both of PyTorch's, and which of these is the better."""
    torch.set_num_threads(threads)
    torch._dynamo.reset()
    hone = Program(program, MODELS[name][0], threads)
    systems = {"hone": hone, "eager": torch_step(name, False), "compiled": torch_step(name, True)}
    times = rounds(systems, count, warmup=2)
    hone.close()
    return times, min(("eager", "compiled"), key=lambda s: interval(times[s])[0])


STEP_COLUMNS = ["step", "hone, ms", "PyTorch eager", "torch.compile", "hone / best", "at most", ""]


def steps(args, names):
    rows = []
    for name in names:
        times, best = measured(args.program, name, 1, args.rounds)
        share, low, high = ratio(times, "hone", best)
        rows.append([name, *(f"{1e3 * interval(times[s])[0]:.0f}" for s in times), f"{share:.2f} ({low:.2f}-{high:.2f})",
                     *judged(share, MODELS[name][1])])
        print(table(STEP_COLUMNS, rows), flush=True)
    return table(STEP_COLUMNS, rows)


def bf16_share(args, name):
    arguments = MODELS[name][0]
    systems = {"f32": Program(args.program, arguments, 1), "bf16": Program(args.program, [*arguments, "--compute", "bf16"], 1)}
    times = rounds(systems, args.rounds, warmup=2)
    for each in systems.values():
        each.close()
    share, low, high = ratio(times, "bf16", "f32")
    return [f"{name}: products in bf16 / in f32", f"{share:.2f} ({low:.2f}-{high:.2f})",
            *(judged(share, BF16_SHARE) if name == MINILM else ["", ""])]


def two_threads(args, name):
    shares = []
    for threads in (1, 2):
        times, best = measured(args.program, name, threads, args.rounds)
        shares.append(ratio(times, "hone", best)[0])
    torch.set_num_threads(1)
    value = shares[1] / shares[0]
    return [f"{name}: hone / best with two threads, beside that with one", f"{shares[1]:.2f} / {shares[0]:.2f} = {value:.2f}",
            *judged(value, TWO_THREADS)]


def beside_busy(args, name):
    hone = Program(args.program, MODELS[name][0], 2)
    hone()
    alone, busy = [], []
    for _ in range(args.rounds):
        alone.append(hone())
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        time.sleep(0.1)
        busy.append(hone())
        other.kill()
        other.wait()
    hone.close()
    value, low, high = ratio({"busy": busy, "alone": alone}, "busy", "alone")
    return [f"{name}: two threads beside a busy process / alone", f"{value:.2f} ({low:.2f}-{high:.2f})", *judged(value, BUSY)]


def starts(args, name):
    """What passes before the first step, of a model in a file: the time to its answer less what later ones take."""
    seconds = {"cold": [], "cached": []}
    model, *flags = MODELS[name][0]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "model.safetensors")
        subprocess.run([args.program, model, *flags, "--save", file], check=True)
        for round_ in range(3):
            for kind in seconds:
                begin = time.perf_counter()
                hone = Program(args.program, [file, *flags], 1, pathlib.Path(folder, f"cache{round_}"))
                hone()
                first = time.perf_counter() - begin
                seconds[kind].append(first - statistics.median(hone() for _ in range(5)))
                hone.close()
    return [[f"{name}: start to first step, {kind}, s", f"{statistics.median(seconds[kind]):.2f}", *judged(statistics.median(seconds[kind]), most)]
            for kind, most in (("cold", COLD_START), ("cached", CACHED_START))]


def memory(args, name):
    hone = Program(args.program, MODELS[name][0], 1)
    for _ in range(3):
        hone()
    own = hone.peak_bytes()
    hone.close()
    peers = [int(subprocess.run([sys.executable, __file__, args.program, "--peak-of", name, *compiled], capture_output=True, text=True,
                                check=True).stdout.split()[-1]) for compiled in ([], ["--compiled"])]
    value = own / min(peers)
    return [f"{name}: peak memory / PyTorch's", f"{own / 2**20:.0f} MiB / {min(peers) / 2**20:.0f} MiB = {value:.2f}", *judged(value, MEMORY)]


def conditions(args, names):
    columns, rows = ["", "measured", "at most", ""], []
    for name in names:
        for measure in (bf16_share, two_threads, beside_busy, starts, memory):
            if name == RESNET and measure is not bf16_share:
                continue
            made = measure(args, name)
            rows += made if isinstance(made[0], list) else [made]
            print(table(columns, rows), flush=True)
    return table(columns, rows)


def peft_step(batch=16, length=64):
    """A step of PEFT's adapters on all linear layers of MiniLM and its trained classifier."""
    from peft import LoraConfig, get_peft_model
    from transformers import BertConfig, BertForSequenceClassification
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, num_labels=2, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0))
    model = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=RANK, target_modules=["query", "key", "value", "dense"], modules_to_save=["classifier"]))
    model.train()
    ids, mask, target = torch.randint(0, 30522, (batch, length)), torch.ones(batch, length, dtype=torch.long), torch.randint(0, 2, (batch,))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)

    def step():
        loss = F.cross_entropy(model(input_ids=ids, attention_mask=mask).logits, target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return timed(step)


def compared(systems, count):
    times = rounds(systems, count, warmup=2)
    for system in systems.values():
        if hasattr(system, "close"):
            system.close()
    return times


def share_row(what, times, mine, other, most):
    share, low, high = ratio(times, mine, other)
    return [what, f"{1e3 * interval(times[mine])[0]:.1f} ms / {1e3 * interval(times[other])[0]:.1f} ms = {share:.2f} ({low:.2f}-{high:.2f})", *judged(share, most)]


def adapters(args):
    model = MODELS[MINILM][0]
    lora = [*model, "--lora", "op:linear", "--rank", str(RANK)]
    times = compared({"lora": Program(args.program, lora, 1), "full": Program(args.program, model, 1), "peft": peft_step()}, args.rounds)
    return [share_row(f"adapters of rank {RANK} on all linears of MiniLM-L6, 16 x 64: a step / PEFT's on PyTorch", times, "lora", "peft", LORA_PEFT),
            share_row("the same / a step that trains all weights", times, "lora", "full", LORA_FULL)]


def packed_adapters(args):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = pathlib.Path(folder, "plain.safetensors"), pathlib.Path(folder, "packed.safetensors")
        subprocess.run([args.program, "minilm-l6", "--save", plain], check=True)
        subprocess.run([args.hone, "quantize", plain, "--to", "mxint4", "-o", packed], check=True, stdout=subprocess.DEVNULL)
        shapes = (["--batch", "4", "--length", "20"], ["--batch", "16", "--length", "64"], ["--batch", "16", "--length", "64", "--recompute", "2"])
        for shape in shapes:
            peaks = []
            for file in (plain, packed):
                process = Program(args.program, [str(file), *shape, "--lora", "op:linear", "--rank", str(RANK)], 1)
                for _ in range(3):
                    process()
                peaks.append(process.peak_bytes())
                process.close()
            value = peaks[1] / peaks[0]
            again = ", activations computed again" if "--recompute" in shape else ""
            rows.append([f"the same on weights in mxint4, {shape[1]} x {shape[3]}{again}: peak memory / in f32",
                         f"{peaks[1] / 2**20:.0f} MiB / {peaks[0] / 2**20:.0f} MiB = {value:.2f}", *judged(value, QLORA_MEMORY)])
    return rows


def rounded(args):
    model = MODELS[MINILM][0]
    rows = []
    for what, rules in (("int4.channel", ["op:linear=int4.channel"]), ("int8.channel, inputs in int8", ["op:linear=int8.channel", "op:linear.in=int8"])):
        flags = [part for rule in rules for part in ("--qat", rule)]
        times = compared({"qat": Program(args.program, [*model, *flags], 1), "plain": Program(args.program, model, 1)}, args.rounds)
        rows.append(share_row(f"linears of MiniLM-L6 in {what}, 16 x 64: a step / one without rounding", times, "qat", "plain", QAT_STEP))
    return rows


def halved(args):
    """The latency of pruned models beside the whole ones, as `hone bench` runs them."""
    rows = []
    prune = lambda *parts: subprocess.run([args.hone, "prune", *map(str, parts)], check=True, stdout=subprocess.DEVNULL)  # noqa: E731
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        minilm, cnn = "build/models/all-MiniLM-L6-v2", folder / "resnet18.safetensors"
        prune(minilm, "--structure", "neurons", "--sparsity", 0.5, "-o", folder / "neurons.safetensors")
        prune(folder / "neurons.safetensors", "--structure", "heads", "--sparsity", 0.5, "-o", folder / "encoder.safetensors")
        subprocess.run([args.program, "resnet18-stem", "--save", cnn], check=True)
        prune(cnn, "--structure", "channels", "--sparsity", 0.5, "-o", folder / "cnn.safetensors")
        for what, whole, half, flags, most in (
                ("half of the heads and of the neurons of MiniLM-L6, 128 tokens", minilm, folder / "encoder.safetensors", ["--batch", 1, "--seq", 128], HALVED_ENCODER),
                ("half of the channels of ResNet-18, 1 x 28 x 28", cnn, folder / "cnn.safetensors", ["--batch", 1], HALVED_CNN)):
            systems = {name: Hone(args.hone, model, {}, folder / name, 1, [str(flag) for flag in flags]) for name, model in (("half", half), ("whole", whole))}
            times = compared(systems, 5 * args.rounds)
            rows.append(share_row(f"{what}: latency / whole", times, "half", "whole", most))
    return rows


COMPRESSED = {"adapters": adapters, "packed_adapters": packed_adapters, "rounded": rounded, "halved": halved}


def compressed(args, names):
    """Each kind leaves its rows in a file, so that the section has those of earlier calls, too: a call may be of one kind."""
    columns = ["", "measured", "at most", ""]
    WORK.mkdir(parents=True, exist_ok=True)
    file = {name: WORK / f"{name}.json" for name in COMPRESSED}
    for name in names:
        rows = COMPRESSED[name](args)
        file[name].write_text(json.dumps(rows))
        print(table(columns, rows), flush=True)
    return table(columns, [row for each in file.values() if each.exists() for row in json.loads(each.read_text())])


def trained_rows(args, folder, name, ranks, batch, steps):
    """A running `hone train` on texts of 64 tokens, by so many processes."""
    launch = ["mpirun", "--allow-run-as-root", "--bind-to", "core", "-n", str(ranks)] if ranks > 1 else []
    return subprocess.Popen([*launch, args.hone, "train", "build/models/all-MiniLM-L6-v2", "--data", folder / "texts.csv", "--batch", str(batch), "--steps", str(steps),
                             "--max-length", "64", "--in-order", "-o", folder / f"{name}.safetensors", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def seconds_of(process):
    out = process.communicate()[0]
    if process.returncode:
        raise SystemExit(f"{process.args}: ended with {process.returncode}")
    return json.loads(out)["training"]["seconds"]


def by_ranks(args, names):
    """Rows a second of two ranks with a batch of 32, beside two processes at once with 32 each. What a run has beside its steps is taken off by a shorter one."""
    few, many, rates = 4, 16, {"ranks": [], "independent": []}
    words = ["free", "small", "library", "fast", "tool", "image", "text", "network", "file", "system"]
    for round_ in range(max(args.rounds // 3, 1)):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            draw = random.Random(1)
            lines = [f"{' '.join(draw.choice(words) for _ in range(80))},{'ab'[i % 2]}" for i in range(1024)]
            (folder / "texts.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
            spent = {}
            for steps in (few, many):
                spent["ranks", steps] = seconds_of(trained_rows(args, folder, f"ranks{steps}", 2, 32, steps))
                both = [trained_rows(args, folder, f"alone{steps}_{i}", 1, 32, steps) for i in range(2)]
                spent["independent", steps] = max(seconds_of(process) for process in both)
            for kind, batches in (("ranks", 1), ("independent", 2)):
                rates[kind].append(32 * batches * (many - few) / (spent[kind, many] - spent[kind, few]))
    value, low, high = ratio(rates, "ranks", "independent")
    rows = [["MiniLM-L6, batches of 32 x 64, rows a second: one by two processes / of two processes that know nothing of each other",
             f"{interval(rates['ranks'])[0]:.1f} / {interval(rates['independent'])[0]:.1f} = {value:.2f} ({low:.2f}-{high:.2f})", f"{TWO_RANKS:.2f}",
             "reached" if value >= TWO_RANKS else "missed"]]
    text = table(["", "measured", "at least", ""], rows)
    print(text, flush=True)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--hone", default="build/release/hone")
    parser.add_argument("--part", choices=["steps", "conditions", "compressed", "ranks"], help="default: all")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="models, or kinds of smaller ones, whose names contain this")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--peak-of", help="print the peak memory of a process in which PyTorch trains this model, less what it held before there was one, in bytes")
    parser.add_argument("--compiled", action="store_true", help="with --peak-of: through torch.compile")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.peak_of:
        import torchvision  # noqa: F401
        import transformers  # noqa: F401
        before = peak_bytes()
        step = torch_step(args.peak_of, args.compiled)
        for _ in range(4):
            step()
        print(peak_bytes() - before)
        return
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    command = f"bench/train.py build/release/bench/bench_train_step --rounds {args.rounds} --record"
    about = (f"on {cpu}, PyTorch {torch.__version__}: medians of {args.rounds} rounds in turn; forward, gradients and AdamW in f32, "
             f"without dropout, one thread unless a row says otherwise.\n\n")
    parts = {"steps": ("Training steps", steps, list(MODELS)), "conditions": ("Training steps under other conditions", conditions, [TINY, MINILM, RESNET]),
             "compressed": ("Training and running smaller models", compressed, list(COMPRESSED)), "ranks": ("Training by two processes", by_ranks, [MINILM])}
    for part, (title, measure, models) in parts.items():
        if args.part not in (None, part):
            continue
        text = measure(args, [name for name in models if args.only in name])
        if args.record:
            write_section(title, f"`{command} --part {part}` {about}{text}")


if __name__ == "__main__":
    main()
