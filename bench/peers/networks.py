"""Convolutional networks in hone, ONNX Runtime, OpenVINO and PyTorch: what hone must reach and what it reaches, as a table that is
printed and written to bench/results.md. `make bench-peers` runs it, from the root of the checkout.

usage: networks.py HONE [--rounds 30] [--threads 1,2] [--only TEXT]... [--dry]
"""
import argparse
import dataclasses
import datetime
import functools
import gc
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import typing

import numpy as np
import onnx
import onnxruntime
import openvino
import results
import torch
import vision
from interleaved import Hone, interval, ratio, rounds, timed

WORK = pathlib.Path("build/bench/networks")
OCR = pathlib.Path("build/models/pp-ocr")
PAUSE = 0.02  # s between two systems with several threads: OpenMP's spin for milliseconds after their work


@dataclasses.dataclass
class Network:
    """One line of the table: `model` is a name of `hone build` or an ONNX file."""
    what: str
    model: str
    shape: tuple
    must: float
    aim: float
    compute: str = "f32"

    @property
    def images(self):
        return self.shape[0]


NETWORKS = [
    Network("ResNet-18 224², batch 1, f32", "resnet18", (1, 3, 224, 224), 1.00, 0.75),
    Network("ResNet-18 224², batch 1, bf16", "resnet18", (1, 3, 224, 224), 0.97, 0.85, "bf16"),
    Network("ResNet-18 224², batch 64, f32, per image", "resnet18", (64, 3, 224, 224), 1.00, 0.75),
    Network("MobileNetV3-small 224², batch 1, f32", "mobilenet_v3_small", (1, 3, 224, 224), 0.95, 0.70),
    Network("PP-OCR detector 640², f32", str(OCR / "ch_PP-OCRv4_det_infer.onnx"), (1, 3, 640, 640), 0.95, 0.75),
    Network("PP-OCR recogniser 48x320, f32", str(OCR / "ch_PP-OCRv4_rec_infer.onnx"), (1, 3, 48, 320), 0.95, 0.75),
]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


class Files(typing.NamedTuple):
    hone: str  # what hone opens
    onnx: str  # what ONNX Runtime and OpenVINO open
    torch: str | None  # weights for vision.load


@functools.cache
def files_of(hone, model):
    """Known networks as hone builds and exports them: batch-norms as they are, as a user of the peers would have them."""
    if model.endswith(".onnx"):
        return Files(model, model, None)
    built, exported = str(WORK / f"{model}.safetensors"), str(WORK / f"{model}.onnx")
    run(hone, "build", model, "-o", built)
    run(hone, "export", built, "-o", exported)
    return Files(built, exported, built)


def ort_session(file, threads, shape):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.force_spinning_stop", "1")
    for name, size in zip(onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).get_inputs()[0].shape, shape):
        if isinstance(name, str):
            options.add_free_dimension_override_by_name(name, size)
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def openvino_request(file, threads, shape, compute):
    core = openvino.Core()
    model = core.read_model(file)
    model.reshape(list(shape))
    config = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": compute, "NUM_STREAMS": 1}
    return core.compile_model(model, "CPU", config).create_infer_request()


def torch_module(file, compute):
    model = vision.load(file)
    return model.bfloat16() if compute == "bf16" else model


class Contest:
    """hone and its peers on one network, and what their outputs are."""

    def __init__(self, hone, network, files, threads):
        images = np.random.default_rng(1).standard_normal(network.shape, np.float32)
        session = ort_session(files.onnx, threads, network.shape)
        name, output = session.get_inputs()[0].name, session.get_outputs()[0].name
        self.reference = session.run(None, {name: images})[0]
        self.systems = {}
        if network.compute == "f32":
            self.systems["ONNX Runtime"] = timed(lambda: session.run(None, {name: images}))
        request = openvino_request(files.onnx, threads, network.shape, network.compute)
        self.systems["OpenVINO"] = timed(lambda: request.infer([images]))
        if files.torch:
            model = torch_module(files.torch, network.compute)
            tensor = torch.from_numpy(images).to(next(model.parameters()).dtype)
            self.systems["PyTorch eager"] = timed(torch.inference_mode()(lambda: model(tensor)))
        self.hone = Hone(hone, files.hone, {name: images}, WORK / "outputs", threads, ["--compute", network.compute])
        self.systems["hone"] = self.hone
        self.output = output

    def difference(self):
        """Of hone to ONNX Runtime in f32, relative to the largest magnitude, or to 1 when all are smaller."""
        return float(np.abs(self.hone.output(self.output) - self.reference).max() / max(1, np.abs(self.reference).max()))


class Table:
    def __init__(self):
        self.rows, self.details = [], []

    def add(self, what, threads, figure, peer, limit, verdict, note=""):
        self.rows.append([what, threads, figure, peer, limit, verdict, note])
        print(f"  {verdict:13} {what} [{threads}]: {figure}; {peer}; {limit} {note}", flush=True)

    def detail(self, what, threads, times, scale=1e3):
        for system, values in times.items():
            median, low, high = (v * scale for v in interval(values))
            self.details.append([what, threads, system, f"{median:.2f} ({low:.2f}-{high:.2f})"])
            print(f"                {system:16} {median:10.2f} ms ({low:.2f}-{high:.2f})", flush=True)


def verdict(value, must, aim):
    return "**missed**" if value > must else "aim reached" if aim and value <= aim else "reached"


def best_peer(times):
    return min((name for name in times if name != "hone"), key=lambda name: interval(times[name])[0])


def against_best(table, what, threads, times, must, aim, note="", images=1):
    """A row of the ratio hone / best peer; `times` are of whole batches of so many images."""
    peer = best_peer(times)
    value, low, high = ratio(times, "hone", peer)
    ms = {name: interval(times[name])[0] * 1e3 / images for name in ("hone", peer)}
    table.add(what, threads, f"{value:.3f} ({low:.3f}-{high:.3f})", f"hone {ms['hone']:.2f} ms, {peer} {ms[peer]:.2f} ms",
              f"<= {must:.2f} (aim {aim:.2f})", verdict(value, must, aim), note)
    table.detail(what, threads, times, 1e3 / images)


def pair(hone):
    """Two threads together against each alone: 1 two cores, 0.5 one core's two hardware threads."""
    tiny = WORK / "mlp.safetensors"
    run(hone, "build", "mlp", "-o", tiny)
    record = json.loads(run(hone, "bench", tiny, "--threads", 2, "--no-probe", "--seconds", 0.05, "--json"))
    return record["conditions"].get("pair")


def inference(table, args, network, threads):
    files = files_of(args.hone, network.model)
    torch.set_num_threads(threads)
    contest = Contest(args.hone, network, files, threads)
    before = pair(args.hone) if threads > 1 else None
    count = args.rounds if network.images == 1 else max(5, args.rounds // 6)
    times = rounds(contest.systems, count, warmup=3 if network.images == 1 else 1, pause=PAUSE if threads > 1 else 0)
    note = f"differs from ONNX Runtime's f32 by {contest.difference():.1e} of the largest"
    if threads > 1:
        note += f"; pair {before:.2f}, {pair(args.hone):.2f}"
    against_best(table, network.what, threads, times, network.must, network.aim, note, network.images)
    contest.hone.close()
    gc.collect()  # the peers' threads


ORT_ANSWER = """import sys, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
session.run(None, {"pixel_values": numpy.load(sys.argv[2])})"""
OPENVINO_ANSWER = """import sys, numpy, openvino
model = openvino.Core().compile_model(sys.argv[1], "CPU", {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"})
model([numpy.load(sys.argv[2])])"""
OPENVINO_COMPILE = """import sys, time, openvino
core = openvino.Core()
model = core.read_model(sys.argv[1])
model.reshape([1, 3, 224, 224])
start = time.perf_counter()
core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"})
print(time.perf_counter() - start)"""


def first_answer(table, args):
    files, images = files_of(args.hone, "resnet18"), WORK / "image.npy"
    np.save(images, np.random.default_rng(1).standard_normal((1, 3, 224, 224), np.float32))
    systems = {
        "hone": timed(lambda: run(args.hone, "run", files.hone, "--input", f"pixel_values={images}", "--output-dir", WORK / "outputs")),
        "ONNX Runtime": timed(lambda: run(sys.executable, "-c", ORT_ANSWER, files.onnx, images)),
        "OpenVINO": timed(lambda: run(sys.executable, "-c", OPENVINO_ANSWER, files.onnx, images)),
    }
    against_best(table, "process start to first ResNet-18 answer, cache warm", 1, rounds(systems, max(7, args.rounds // 3)), 0.40, 0.25)


class Probe:
    """A fresh process of hone as a system: the seconds of making code, passes over the graph included or not."""

    def __init__(self, hone, file, parts, *flags):
        self.command, self.parts, self.results = [hone, "probe", file, *flags], parts, []

    def __call__(self):
        self.results.append(json.loads(run(*self.command).splitlines()[-1]))
        return sum(self.results[-1][part] for part in self.parts) * 1e-3

    def median_ms(self, part):
        return statistics.median(result[part] for result in self.results)


def torch_compile_seconds(file):
    """The first call of a compiled module, without what an earlier run has cached."""
    model, images = torch_module(file, "f32"), torch.zeros(1, 3, 224, 224)
    torch.set_num_threads(1)
    os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    with torch.inference_mode():
        return timed(lambda: torch.compile(model)(images))()


def compilation(table, args):
    files = files_of(args.hone, "resnet18")
    cold = Probe(args.hone, files.hone, ["prepare_ms", "compile_ms"], "--no-cache")
    warm = Probe(args.hone, files.hone, ["compile_ms"])
    times = rounds({"hone": cold, "hone, from cache": warm,
                    "OpenVINO": lambda: float(run(sys.executable, "-c", OPENVINO_COMPILE, files.onnx))}, 7, warmup=1)
    seconds = {name: interval(values)[0] for name, values in times.items()}
    beside = f"OpenVINO {seconds['OpenVINO']:.3f} s, torch.compile {torch_compile_seconds(files.torch):.0f} s"
    table.add("cold compile of ResNet-18", 1, f"{seconds['hone']:.3f} s", beside, "<= 0.15 s (aim 0.08 s)", verdict(seconds["hone"], 0.15, 0.08),
              f"{cold.median_ms('prepare_ms'):.0f} ms of it passes; laying out the weights takes another {cold.median_ms('prepack_ms'):.0f} ms")
    milliseconds = seconds["hone, from cache"] * 1e3
    table.add("machine code of ResNet-18 from cache", 1, f"{milliseconds:.2f} ms", "", "<= 5 ms", verdict(milliseconds, 5, 0))
    table.detail("compile of ResNet-18", 1, times)


STEPS = 60


def chain_of_steps(path):
    """So many tiny softmaxes, each of the one before: none can join another's kernel, and there is next to nothing to compute."""
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 4])
    nodes = [onnx.helper.make_node("Softmax", [f"x{i}"], [f"x{i + 1}"]) for i in range(STEPS)]
    graph = onnx.helper.make_graph(nodes, "steps", [value("x0")], [value(f"x{STEPS}")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


def dispatch(table, args):
    file, x = WORK / "steps.onnx", np.zeros((1, 4), np.float32)
    chain_of_steps(file)
    session = ort_session(str(file), 1, x.shape)
    hone = Hone(args.hone, file, {"x0": x}, WORK / "outputs", 1)
    times = rounds({"hone": hone, "ONNX Runtime": timed(lambda: session.run(None, {"x0": x}))}, 300, warmup=20)
    hone.close()
    micros = {name: interval(values)[0] * 1e6 for name, values in times.items()}
    table.add(f"an inference of {STEPS} steps that compute next to nothing", 1, f"{micros['hone']:.1f} µs",
              f"ONNX Runtime {micros['ONNX Runtime']:.1f} µs", "<= 20 µs", verdict(micros["hone"], 20, 0))


def fusion(table, args):
    """Each network as it is planned and with a kernel of its own for each node: fusing must never lose."""
    for network in NETWORKS:
        if network.images > 1 or network.compute != "f32":
            continue
        files, images = files_of(args.hone, network.model), np.random.default_rng(1).standard_normal(network.shape, np.float32)
        x = {onnx.load(files.onnx, load_external_data=False).graph.input[0].name: images}
        systems = {name: Hone(args.hone, files.hone, x, WORK / "outputs", 1, flags)
                   for name, flags in {"hone": [], "hone, unfused": ["--no-fusion"]}.items()}
        against_best(table, f"{network.what}: fused against own unfused", 1, rounds(systems, args.rounds), 1.00, 0.95)
        for system in systems.values():
            system.close()


def beside_a_busy_process(table, args):
    """A few inferences alone, then as many beside a process that keeps one CPU busy, again and again."""
    network = NETWORKS[0]
    torch.set_num_threads(2)
    contest = Contest(args.hone, network, files_of(args.hone, network.model), 2)
    alone, beside = ({name: [] for name in contest.systems} for _ in range(2))
    for _ in range(max(3, args.rounds // 5)):
        for name, values in rounds(contest.systems, 3, warmup=1, pause=PAUSE).items():
            alone[name] += values
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for name, values in rounds(contest.systems, 3, warmup=1, pause=PAUSE).items():
            beside[name] += values
        busy.kill()
        busy.wait()
    contest.hone.close()
    slower = {name: interval(beside[name])[0] / interval(alone[name])[0] for name in alone}
    what = "ResNet-18 beside a busy process, against alone"
    table.add(what, 2, f"{slower.pop('hone'):.2f}", ", ".join(f"{name} {value:.2f}" for name, value in slower.items()), "<= 2.50",
              verdict(interval(beside["hone"])[0] / interval(alone["hone"])[0], 2.5, 0), f"pair {pair(args.hone):.2f}")
    table.detail(what + " (beside)", 2, beside)


def machine(args):
    with open("/proc/cpuinfo") as f:
        info = dict(re.findall(r"^(model name|flags)\s*: (.*)$", f.read(), re.M))
    wanted = r"avx2|fma|f16c|avx512\w+|avx_vnni|amx_\w+"
    flags = sorted(flag for flag in info["flags"].split() if re.fullmatch(wanted, flag))
    commit = run("git", "describe", "--always", "--dirty").strip()
    return (f"{datetime.date.today()}, hone {commit}. {info['model name']}, {os.cpu_count()} CPUs, {platform.system()} {platform.release()}; "
            f"{' '.join(flags)}. ONNX Runtime {onnxruntime.__version__}, OpenVINO {openvino.__version__.split('-')[0]}, "
            f"PyTorch {torch.__version__}. Load of the machine (1 min) {os.getloadavg()[0]:.1f} before and {{:.1f}} after.\n\n"
            "Figures are hone / best peer, medians (95 % interval) of pairs that were taken in turn in one run; lower is better. "
            "A two-thread figure counts beside a `pair` of 1: below, the two CPUs were one core's two hardware threads.\n\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", action="append", default=[], help="rows whose name has this text (repeatable)")
    parser.add_argument("--dry", action="store_true", help="print, but leave bench/results.md as it is")
    return parser.parse_args()


def main():
    args = arguments()
    WORK.mkdir(parents=True, exist_ok=True)
    wanted = lambda what: not args.only or any(text in what for text in args.only)
    head, table = machine(args), Table()
    for threads in map(int, args.threads.split(",")):
        for network in filter(lambda n: wanted(n.what), NETWORKS):
            inference(table, args, network, threads)
    for name, part in {"first answer": first_answer, "compile": compilation, "dispatch": dispatch, "fusion": fusion,
                       "busy": beside_a_busy_process}.items():
        if wanted(name):
            part(table, args)
    columns = ["work", "threads", "hone", "beside", "must", "", "note"]
    text = (head.format(os.getloadavg()[0]) + results.table(columns, table.rows) + "\nEvery system, ms:\n\n" +
            results.table(["work", "threads", "system", "median (95 % interval)"], table.details))
    print("\n" + text)
    if not args.dry:
        results.write_section("Convolutional networks beside other systems", text)


if __name__ == "__main__":
    main()
