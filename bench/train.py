"""A training step of hone beside PyTorch's, eager and compiled, taking turns in one run: forward, gradients and AdamW, one thread unless
--threads says otherwise. Writes the section "Training steps" of bench/results.md with --record.

usage: train.py PROGRAM [--threads N] [--rounds R] [--only NAME] [--record]       PROGRAM: build/release/bench/bench_train_step
"""
import argparse
import os
import pathlib
import subprocess
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from interleaved import interval, ratio, rounds, timed  # noqa: E402
from results import table, write_section  # noqa: E402

MODELS = {  # name: arguments of the program, whether embeddings are frozen
    "BERT-tiny (2 x 128), 32 x 128": (["bert-tiny", "--batch", "32", "--length", "128"], False),
    "the same, embeddings frozen": (["bert-tiny", "--batch", "32", "--length", "128", "--freeze", "embeddings"], True),
    "MiniLM-L6, 16 x 64": (["minilm-l6", "--batch", "16", "--length", "64"], False),
    "ResNet-18, 3 x 3 stem, 64 x 1 x 28 x 28": (["resnet18-stem", "--batch", "64", "--length", "28"], False),
}


class Program:
    """`bench_train_step --on-demand`: one step for each line it is sent, answered by its nanoseconds."""

    def __init__(self, program, arguments, threads):
        command = [program, *arguments, "--on-demand", "--threads", str(threads)]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self):
        self.child.stdin.write("run\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(map(str, self.child.args))}: ended with {self.child.wait()}")
        return float(line) * 1e-9

    def close(self):
        self.child.stdin.close()
        self.child.wait()


def torch_step(name, frozen, compiled):
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
        if frozen:
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    rows = []
    for name, (arguments, frozen) in MODELS.items():
        if args.only not in name:
            continue
        hone = Program(args.program, arguments, args.threads)
        systems = {"hone": hone, "eager": torch_step(name, frozen, False), "compiled": torch_step(name, frozen, True)}
        times = rounds(systems, args.rounds, warmup=2)
        hone.close()
        best = min(("eager", "compiled"), key=lambda s: interval(times[s])[0])
        share, low, high = ratio(times, "hone", best)
        rows.append([name, *(f"{1e3 * interval(times[s])[0]:.0f}" for s in systems), f"{share:.2f} ({low:.2f}-{high:.2f})"])
        print(table(["step", "hone, ms", "PyTorch eager", "torch.compile", "hone / best"], rows), flush=True)
    if args.record:
        cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
        text = (f"`bench/train.py build/release/bench/bench_train_step --threads {args.threads} --rounds {args.rounds} --record` on {cpu}, PyTorch {torch.__version__}: "
                f"medians of {args.rounds} rounds in turn, {args.threads} thread{'s' if args.threads > 1 else ''}; forward, gradients and AdamW in f32, "
                f"without dropout.\n\n")
        write_section("Training steps", text + table(["step", "hone, ms", "PyTorch eager", "torch.compile", "hone / best"], rows))


if __name__ == "__main__":
    main()
