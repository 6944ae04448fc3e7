"""What only a GPU can show, in one run that begins nothing after nine minutes: conformance of every kernel first, then dequantization, packed products,
attention and an encoder beside a copy on the device and, where that machine has it, PyTorch.

usage: cuda.py HONE CONFORMANCE [--shapes 4096,14336 8192,8192] [--seconds 4] [--quick] [--markdown F]
HONE is the program, CONFORMANCE the test program `test_conformance`; both come with `make cuda-bundle`. Needs Python alone. PyTorch and
transformers are peers where they can be imported. Exit code 1 where a kernel is wrong, 2 where there is no device.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

CONFORMANCE = "*EveryOp.Matches*:*Empty*:*UnknownRank*:*EveryOp.Sees*:*OpenSizes*"  # as tests/CMakeLists.txt has it
LIMIT_SECONDS = 9 * 60
MINILM = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
          "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu",
          "layer_norm_eps": 1e-12, "pad_token_id": 0}
ROWS = (1, 4, 16, 2048)
FORMATS = ("mxint8", "int4.g64")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone", type=pathlib.Path)
    parser.add_argument("conformance", type=pathlib.Path)
    parser.add_argument("--shapes", nargs="+", default=["4096,14336", "8192,8192"], help="rows,columns of matrices")
    parser.add_argument("--seconds", type=float, default=4, help="of each measurement")
    parser.add_argument("--quick", action="store_true", help="small sizes and a few cases: whether all of it runs")
    parser.add_argument("--markdown", type=pathlib.Path, help="file for the tables")
    args = parser.parse_args()
    if args.quick:
        args.shapes, args.seconds = ["64,128"], 0.01
    bench = Bench(args)
    device = bench.device()
    bench.conformance()
    bench.dequantization(device)
    bench.products()
    bench.attention()
    bench.encoder()
    bench.finish()


class Bench:
    def __init__(self, args):
        self.args = args
        self.begin = time.monotonic()
        self.lines = []
        self.torch = peer()
        self.is_wrong = False

    def say(self, text=""):
        print(text, flush=True)
        self.lines.append(text)

    def table(self, title, columns, rows):
        self.say(f"\n## {title}\n")
        self.say("| " + " | ".join(columns) + " |")
        self.say("|" + " --- |" * len(columns))
        for row in rows:
            self.say("| " + " | ".join(row) + " |")

    def has_time(self, what):
        if time.monotonic() - self.begin < LIMIT_SECONDS:
            return True
        self.say(f"\n{what}: not measured: the {LIMIT_SECONDS // 60} minutes are over")
        return False

    def hone(self, *words):
        """The JSON that hone prints; on an error, its text after `not measured:`."""
        command = [str(self.args.hone), *words, "--device", "cuda", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS)
        if done.returncode != 0:
            return {"error": "not measured: " + (done.stderr.strip().splitlines() or ["no word"])[-1]}
        return json.loads(done.stdout)

    def device(self):
        found = self.hone("machine")
        if "error" in found:
            print(found["error"], file=sys.stderr)
            sys.exit(2)
        self.say(f"# {found['machine']['GPU']}\n")
        for text in found["findings"]:
            self.say(text)
        peers = f"PyTorch {self.torch.__version__}" if self.torch else "none: PyTorch is not there, or sees no GPU"
        self.say(f"hone {found['machine']['hone']}; peers: {peers}")
        rates = found["rates"]
        self.table("Peaks, by hone's own kernels", ["what", "measured"], [[name, f"{value:.4g}"] for name, value in rates.items()])
        return rates

    def conformance(self):
        chosen = "*EveryOp.Matches*relu*" if self.args.quick else CONFORMANCE
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report.json"
            done = subprocess.run([str(self.args.conformance), f"--gtest_filter={chosen}", f"--gtest_output=json:{report}"], capture_output=True,
                                  text=True, timeout=LIMIT_SECONDS, env={**os.environ, "HONE_TEST_DEVICE": "cuda"})
            if not report.exists():
                self.is_wrong = True
                self.say(f"\n## Conformance\n\nThe test program ended with {done.returncode}: {done.stderr[-500:]}")
                return
            result = json.loads(report.read_text())
        wrong = [f"{suite['name']}.{test['name']}" for suite in result["testsuites"] for test in suite["testsuite"] if test.get("failures")]
        self.is_wrong |= bool(wrong) or done.returncode != 0
        self.say(f"\n## Conformance\n\n{result['tests'] - len(wrong)} of {result['tests']} tests pass, in {result['time']}.")
        for name in wrong:
            self.say(f"- wrong: {name}")

    def dequantization(self, rates):
        if not self.has_time("dequantization"):
            return
        rows = []
        for shape in self.args.shapes:
            for form in FORMATS:
                found = self.hone("bench", "--op", "dequantize", "--shape", shape, "--weight-format", form, "--seconds", str(self.args.seconds))
                if "error" in found:
                    rows.append([shape, form, found["error"], "", ""])
                    continue
                result = found["results"][0]
                share = result["gbytes"] / rates["copy_gbytes"]
                rows.append([shape, form, f"{result['steps_ms']:.4f}", f"{result['gbytes']:.0f}", f"{share:.2f}"])
        self.table("Dequantization to bf16", ["matrix", "format", "ms", "GB/s", "of a copy's rate"], rows)

    def products(self):
        rows = []
        for shape in self.args.shapes:
            for count in ROWS if not self.args.quick else (1,):
                if not self.has_time(f"products of {count} rows with {shape}"):
                    continue
                peer_ms = torch_linear(self.torch, shape, count) if self.torch else None
                for form in FORMATS:
                    found = self.hone("bench", "--op", "linear", "--shape", shape, "--rows", str(count), "--weight-format", form, "--compute", "bf16",
                                      "--seconds", str(self.args.seconds))
                    if "error" in found:
                        rows.append([shape, str(count), form, found["error"], "", "", ""])
                        continue
                    plain, packed = found["results"]
                    rows.append([shape, str(count), form, f"{packed['steps_ms']:.4f}", f"{plain['steps_ms']:.4f}", number(peer_ms),
                                 number(peer_ms and peer_ms / packed["steps_ms"], 2)])
        self.table("Products with a packed matrix, in bf16 (kernels alone, matrices beyond the cache)",
                   ["matrix", "rows", "format", "packed ms", "plain ms", "PyTorch bf16 ms", "PyTorch / packed"], rows)

    def attention(self):
        if not self.has_time("attention"):
            return
        shape = "1,2,32,16" if self.args.quick else "32,8,128,64"
        rows = []
        for kind in ("f32", "bf16"):
            found = self.hone("bench", "--op", "attention", "--shape", shape, "--type", kind, "--seconds", str(self.args.seconds))
            if "error" in found:
                rows.append([kind, found["error"], "", "", ""])
                continue
            ms = {form: sum(step["ms"] for step in found["steps"] if step["form"] == form) for form in ("naive", "fused")}
            peer_ms = torch_attention(self.torch, shape, kind) if self.torch else None
            rows.append([kind, f"{ms['naive']:.4f}", f"{ms['fused']:.4f}", f"{ms['naive'] / ms['fused']:.2f}", number(peer_ms)])
        self.table(f"Attention {shape} (kernels alone)", ["type", "naive ms", "fused ms", "naive / fused", "PyTorch fused ms"], rows)

    def encoder(self):
        if not self.has_time("the encoder"):
            return
        config = dict(MINILM, num_hidden_layers=1, vocab_size=100, hidden_size=32, num_attention_heads=2, intermediate_size=64) if self.args.quick else MINILM
        length = 8 if self.args.quick else 128
        with tempfile.TemporaryDirectory() as folder:
            source, model = pathlib.Path(folder) / "config.json", pathlib.Path(folder) / "encoder.safetensors"
            source.write_text(json.dumps(config))
            built = subprocess.run([str(self.args.hone), "build", str(source), "-o", str(model)], capture_output=True, text=True)
            if built.returncode != 0:
                self.say(f"\nencoder: not measured: {built.stderr.strip()}")
                return
            rows = []
            for compute in ("f32", "bf16"):
                found = self.hone("bench", str(model), "--batch", "1", "--seq", str(length), "--compute", compute, "--seconds", str(self.args.seconds))
                ms = found.get("error") or f"{found['results'][0]['median_ms']:.4f}"
                rows.append([compute, ms, number(torch_encoder(self.torch, config, length, compute) if self.torch else None)])
        self.table(f"MiniLM's shape, 1x{length}, seeded weights (whole runs)", ["compute", "hone ms", "torch.compile ms"], rows)

    def finish(self):
        self.say(f"\n{time.monotonic() - self.begin:.0f} s in all.")
        if self.args.markdown:
            self.args.markdown.write_text("\n".join(self.lines) + "\n")
        sys.exit(1 if self.is_wrong else 0)


def number(value, digits=4):
    return f"{value:.{digits}f}" if value else "-"


def peer():
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def torch_ms(torch, call, seconds=1.0):
    """The median of a call by the device's own events."""
    for _ in range(5):
        call()
    torch.cuda.synchronize()
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(times) < 10:
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        call()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last))
    return statistics.median(times)


def torch_linear(torch, shape, rows):
    outputs, inputs = map(int, shape.split(","))
    copies = max(1, min(64, -(-(128 << 20) // (outputs * inputs * 2))))
    weights = [torch.randn(outputs, inputs, device="cuda", dtype=torch.bfloat16) for _ in range(copies)]
    x = torch.randn(rows, inputs, device="cuda", dtype=torch.bfloat16)

    def call():
        for weight in weights:
            torch.nn.functional.linear(x, weight)

    return torch_ms(torch, call) / copies


def torch_attention(torch, shape, kind):
    batches, heads, length, columns = map(int, shape.split(","))
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[kind]
    q, k, v = (torch.randn(batches, heads, length, columns, device="cuda", dtype=dtype) for _ in range(3))
    return torch_ms(torch, lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v))


def torch_encoder(torch, config, length, compute):
    try:
        from transformers import BertConfig, BertModel
    except ImportError:
        return None
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[compute]
    keys = {key: value for key, value in config.items() if key not in ("model_type", "architectures")}
    model = torch.compile(BertModel(BertConfig(**keys)).eval().to("cuda", dtype), mode="reduce-overhead")
    ids = torch.randint(0, config["vocab_size"], (1, length), device="cuda")
    mask = torch.ones_like(ids)
    with torch.no_grad():
        return torch_ms(torch, lambda: model(input_ids=ids, attention_mask=mask))


if __name__ == "__main__":
    main()
