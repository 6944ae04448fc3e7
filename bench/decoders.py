"""A language model that `hone generate` runs from its GGUF file, beside llama.cpp on the same file and on its own Q4_0 of it, and
beside OpenVINO GenAI where that opens the file: on one thread, in turn, with what the machine's measured reads would allow beside.

usage: decoders.py HONE MODEL.gguf [--rounds 7] [--only TEXT]... [--record]      (in the environment of bench/peers, with llama-cpp-python and gguf)

hone's time of a token holds its choice and its log probability, llama.cpp's is of `llama_decode` and a copy of the logits. llama.cpp rounds
what products read to 8 bits; hone does not (f32), or to bf16. The bound is bytes of weights and cache over the measured rate of reads from memory.
"""
import argparse
import datetime
import json
import os
import pathlib
import random
import shlex
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
from interleaved import interval  # noqa: E402
from results import table, write_section  # noqa: E402

WORK = pathlib.Path("build/bench/decoders")
TEXT = pathlib.Path("LICENSE")  # what prompts are pieces of


class Model:
    """What prompts and bounds need to know of the file."""

    def __init__(self, path):
        import gguf
        reader = gguf.GGUFReader(path)
        self.weights = sum(int(tensor.n_bytes) for tensor in reader.tensors)
        arch = reader.fields["general.architecture"].contents()
        field = lambda name: reader.fields[f"{arch}.{name}"].contents()  # noqa: E731
        width = field("embedding_length") // field("attention.head_count")
        self.cached_values = 2 * field("block_count") * field("attention.head_count_kv") * width  # of a token


def safetensors_bytes(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")


class Hone:
    """`hone generate`, a process a run, its machine code cached. Figures are those it reports, and those of the process."""

    def __init__(self, program, model, *flags):
        self.command = [str(program), "generate", str(model), "--json", "--threads", "1", "--cache", str(WORK / "cache"), *flags]

    def __call__(self, prompts, tokens, context):
        shown = WORK / "answers.json"
        with open(shown, "w") as out:
            begin = time.perf_counter()
            child = subprocess.Popen([*self.command, "--max-tokens", str(tokens), "--context", str(context)], stdin=subprocess.PIPE, stdout=out, text=True)
            child.stdin.write("\n".join(prompts) + "\n")
            child.stdin.close()
            status = child.wait()
            seconds = time.perf_counter() - begin
        if status != 0:
            sys.exit(f"{' '.join(self.command)}: ended with {status}")
        told = json.loads(shown.read_text())
        last = len(prompts) - 1
        steps = {n: [t["ms"] for t in told["tokens"] if t["prompt"] == n] for n in range(len(prompts))}
        return {"token": statistics.median(steps[last][1 + len(steps[last]) // 2:] or steps[last]), "prompt": told["answers"][last]["prompt_ms"],
                "process": seconds * 1e3, "prompt_tokens": told["answers"][last]["prompt_tokens"]}


def llama_runs(path):
    """Whether llama.cpp computes a token of the file, asked in a process of its own: where a build doesn't suit the CPU, it dies of an illegal instruction."""
    program = "import sys, llama_cpp; llama_cpp.Llama(sys.argv[1], n_ctx=64, n_threads=1, verbose=False).eval([1, 2, 3])"
    code = subprocess.run([sys.executable, "-c", program, str(path)], stderr=subprocess.DEVNULL).returncode
    if code != 0:
        print(f"llama.cpp is left out: it ended with {code} on {path}", file=sys.stderr)
    return code == 0


class Llama:
    """llama.cpp in this process: one context, as long as the longest case."""

    def __init__(self, path, context, vocab_only=False):
        import llama_cpp
        self.llm = llama_cpp.Llama(str(path), vocab_only=vocab_only, n_ctx=context, n_threads=1, n_threads_batch=1, n_batch=512, n_ubatch=512, flash_attn=True, verbose=False)

    def ids(self, text):
        return self.llm.tokenize(text.encode(), add_bos=False)

    def __call__(self, prompts, tokens, _context):
        self.llm.reset()
        begin = time.perf_counter()
        self.llm.eval(self.ids(prompts[-1]))
        prompt, steps = time.perf_counter() - begin, []
        for _ in range(tokens - 1):
            token = self.llm.sample(temp=0)
            begin = time.perf_counter()
            self.llm.eval([token])
            steps.append(time.perf_counter() - begin)
        return {"prompt": prompt * 1e3, "token": statistics.median(steps[len(steps) // 2:]) * 1e3 if steps else 0}


class OpenVino:
    def __init__(self, path):
        import openvino_genai
        self.pipe = openvino_genai.LLMPipeline(str(path), "CPU", INFERENCE_NUM_THREADS=1)

    def __call__(self, prompts, tokens, _context):
        told = self.pipe.generate([prompts[-1]], max_new_tokens=tokens, ignore_eos=True, apply_chat_template=False, do_sample=False).perf_metrics
        return {"prompt": told.get_ttft().mean, "token": told.get_tpot().mean}


def quantized_by_llama(path):
    """llama.cpp's own Q4_0 of the file, which is what its fast kernels are for."""
    import llama_cpp
    made = WORK / "llama-q4_0.gguf"
    if not made.exists():
        params = llama_cpp.llama_model_quantize_default_params()
        params.ftype, params.allow_requantize, params.nthread = llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0, True, 1
        if llama_cpp.llama_model_quantize(str(path).encode(), str(made).encode(), params) != 0:
            sys.exit(f"llama_model_quantize could not write {made}")
    return made


def prompt_of(llama, tokens):
    """A text of about so many tokens: words of TEXT, over and over, on one line."""
    words, text = TEXT.read_text().split(), []
    while len(llama.ids(" ".join(text))) < tokens:
        text += (words * (1 + len(text) // len(words) + tokens // 8))[len(text):len(text) + max(1, (tokens - len(llama.ids(" ".join(text)))) // 2)]
    return " ".join(text)


def in_turn(systems, rounds, prompts, *case):
    """Figures of every system in each round, in a shuffled order. No prompt begins as one before it did: OpenVINO GenAI keeps what it read of these."""
    seen = {name: [] for name in systems}
    for number in range(rounds + 1):
        for name in random.sample(list(systems), len(systems)):
            figures = systems[name]([f"{number} {n} {text}" for n, text in enumerate(prompts)], *case)
            if number:  # the first compiles, fills caches, and does not count
                seen[name].append(figures)
    return seen


def shown(values, scale=lambda x: x, digits=1):
    middle, low, high = interval([scale(v) for v in values])
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


def rates(case, seen, key, count, bytes_of, gbytes, others):
    """Rows of tokens a second; beside them the ratio to each peer, round by round, and the share of what reads allow."""
    for name, runs in seen.items():
        rate = lambda run: count * 1e3 / run[key]  # noqa: E731
        share = f"{statistics.median(map(rate, runs)) * bytes_of[name] / gbytes / 1e9 / count:.2f}" if name in bytes_of else ""
        ratios = ", ".join(f"{shown([p[key] / r[key] for r, p in zip(runs, seen[other])], digits=2)} of {other}" for other in others if other in seen and other != name)
        yield [case, name, shown(runs, rate), share, ratios if name.startswith("hone") else ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", action="append", default=[], help="cases in whose name this is found")
    parser.add_argument("--record", action="store_true", help="write the table into bench/results.md")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    model = Model(args.model)
    machine = json.loads(subprocess.run([args.hone, "machine", "--fresh", "--json"], capture_output=True, check=True, text=True).stdout)
    gbytes = machine["peaks"]["memory_read_gbytes"]
    mxint8 = WORK / "mxint8.safetensors"
    if not mxint8.exists():
        subprocess.run([args.hone, "quantize", args.model, "--to", "mxint8", "-o", mxint8], check=True, capture_output=True)
    q4_0 = quantized_by_llama(args.model)
    hone = {f"hone {name}": Hone(args.hone, file, *flags) for name, file, flags in [
        ("f32", args.model, ()), ("bf16", args.model, ("--compute", "bf16", "--kv-cache", "bf16")), ("mxint8 f32", mxint8, ())]}
    peers = {name: Llama(file, 4608) for name, file in [("llama.cpp Q4_0", q4_0), ("llama.cpp file", args.model)] if llama_runs(file)}
    llama = Llama(args.model, 64, vocab_only=True)  # tokenizes
    try:
        peers["OpenVINO GenAI"] = OpenVino(args.model)
    except Exception as error:  # noqa: BLE001: whatever it says it cannot do
        print(f"OpenVINO GenAI: {str(error).splitlines()[0][:150]}", file=sys.stderr)
    weights = {"hone f32": model.weights, "hone bf16": model.weights, "hone mxint8 f32": safetensors_bytes(mxint8), "llama.cpp file": model.weights,
               "llama.cpp Q4_0": Model(q4_0).weights}

    def read(context):
        width = {"hone f32": 4, "hone mxint8 f32": 4}
        return {name: size + model.cached_values * context * width.get(name, 2) for name, size in weights.items()}
    lines = []

    def case(name, systems, rounds, prompts, tokens, context):
        if args.only and not any(part in name for part in args.only):
            return None
        print(name, file=sys.stderr, flush=True)
        seen = in_turn(systems, rounds, prompts, tokens, context)
        for system, runs in seen.items():
            print(f"  {system}: " + ", ".join(f"{key} {statistics.median(run[key] for run in runs):.1f}" for key in runs[0]), file=sys.stderr, flush=True)
        return seen
    short, long, whole, first = (prompt_of(llama, n) for n in (48, 512, 4064, 32))
    if seen := case("decode at 64", {**hone, **peers}, args.rounds, [short, short], 32, 512):
        lines += rates("decode at 64", seen, "token", 1, read(72), gbytes, ("llama.cpp Q4_0", "llama.cpp file"))
    if seen := case("prompt of 512", {n: s for n, s in {**hone, **peers}.items() if "mxint8" not in n}, args.rounds, [long, long], 1, 1024):
        lines += rates("prompt of 512", seen, "prompt", len(llama.ids(long)), {}, gbytes, ("llama.cpp Q4_0", "OpenVINO GenAI"))
    if seen := case("start to first token", {n: s for n, s in hone.items() if "mxint8" not in n}, args.rounds, [first], 1, 512):
        for name, runs in seen.items():
            lines.append(["start to first token, ms", name, shown([r["process"] for r in runs], digits=0), "", ""])
    if seen := case("decode at 4,096", {n: s for n, s in {**hone, **peers}.items() if n in ("hone f32", "hone bf16", "llama.cpp Q4_0")}, max(3, args.rounds // 3), [whole], 24, 4608):
        lines += rates("decode at 4,096", seen, "token", 1, read(4080), gbytes, ("llama.cpp Q4_0",))
    eight = {name: Hone(args.hone, args.model, *flags, "--sequences", "8") for name, flags in [
        ("hone f32", ()), ("hone bf16", ("--compute", "bf16", "--kv-cache", "bf16"))]}
    if seen := case("batch of 8, total", eight, args.rounds, [short] * 8, 32, 512):
        lines += rates("batch of 8, total", seen, "token", 8, {}, gbytes, ())
    text = table(["work", "system", "tokens a second", "share of the bound", "rate of hone over that of"], lines)
    import llama_cpp
    beside = f"llama-cpp-python {llama_cpp.__version__}" if "llama.cpp Q4_0" in peers else f"llama-cpp-python {llama_cpp.__version__} could not run on this CPU"
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    head = (f"`{shlex.join(['bench/decoders.py', 'HONE', args.model.name, *sys.argv[3:]])}`, {datetime.date.today()}. {cpu}, {os.cpu_count()} CPUs, one thread, load "
            f"{os.getloadavg()[0]:.1f}; reads {gbytes:.1f} GB/s. {beside}. Medians (95 % interval) of runs in turn. "
            f"{model.weights / 1e6:.1f} MB of weights.\n\n")
    print(head + text)
    if args.record:
        write_section("Decoders", head + text)


if __name__ == "__main__":
    main()
