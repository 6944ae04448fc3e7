"""ResNet-18, MiniLM and BERT-base in f32, bf16 and int8 beside ONNX Runtime, OpenVINO and PyTorch, in turn in one run.

int8 is, of hone: weights by output and activations by calibrated scales of the tensor (`--to int8.channel --activations int8@min-max`), and
by scales of each token taken in each run (`int8.g1x0`); of the peers: what onnxruntime.quantization writes, static (QDQ, codes of activations with
and without sign, the faster one of each system) and dynamic, and what NNCF writes where it is installed. Every file is of the same weights.

usage: precisions.py HONE [--threads 1,2] [--rounds 30] [--only TEXT] [--record]      (from the root of the checkout)
"""
import argparse
import os
import pathlib
import subprocess
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np
import onnx
import onnxruntime
import openvino
import torch
from interleaved import Hone, interval, ratio, rounds, timed
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from results import table, write_section

WORK = pathlib.Path("build/bench/precisions")
SAMPLES = 16  # of calibration
# What is asked for on CPUs without AMX and with it, by precision.
MUST = {"ResNet-18": {"f32": (0.56, 0.75), "bf16": (0.74, 0.95), "int8": (0.85, 0.95)},
        "MiniLM": {"f32": (0.90, 0.85), "bf16": (0.85, 0.95), "int8": (0.80, 0.90)},
        "BERT-base": {"f32": (0.92, 0.90), "bf16": (0.88, 0.95), "int8": (0.75, 0.90)}}


class Tokens(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, attention_mask):
        return self.inner(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def network(name):
    """The module and a function that makes an input of a seed."""
    torch.manual_seed(0)
    if name == "ResNet-18":
        import torchvision
        return torchvision.models.resnet18().eval(), lambda seed: {"x": np.random.default_rng(seed).standard_normal((1, 3, 224, 224), np.float32)}
    from transformers import AutoModel, BertConfig, BertModel
    inner = BertModel(BertConfig(), add_pooling_layer=False) if name == "BERT-base" else AutoModel.from_pretrained(
        "build/models/all-MiniLM-L6-v2", add_pooling_layer=False)

    def tokens(seed):
        ids = np.random.default_rng(seed).integers(1000, 29000, (1, 128)).astype(np.int64)
        return {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return Tokens(inner).eval(), tokens


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")


class Samples(CalibrationDataReader):
    def __init__(self, make):
        self.left = [make(100 + i) for i in range(SAMPLES)]

    def get_next(self):
        return self.left.pop() if self.left else None


def files_of(hone, name, module, make):
    """Written once: every file that a system opens."""
    folder = WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    f32, prepared = folder / "f32.onnx", folder / "prepared.onnx"
    if not f32.exists():
        example = tuple(torch.from_numpy(x) for x in make(1).values())
        torch.onnx.export(module, example, str(f32), input_names=list(make(1)), output_names=["y"], dynamo=False, opset_version=17)
    files = {"f32": f32}
    if not prepared.exists():
        quant_pre_process(str(f32), str(prepared), skip_symbolic_shape=True)
    for kind in ("QUInt8", "QInt8"):
        files[f"QDQ {kind}"] = folder / f"{kind}.onnx"
        if not files[f"QDQ {kind}"].exists():
            quantize_static(str(prepared), str(files[f"QDQ {kind}"]), Samples(make), quant_format=QuantFormat.QDQ, per_channel=True,
                            activation_type=QuantType[kind], weight_type=QuantType.QInt8)
    if name != "ResNet-18":
        files["dynamic"] = folder / "dynamic.onnx"
        if not files["dynamic"].exists():
            quantize_dynamic(str(prepared), str(files["dynamic"]), per_channel=False, weight_type=QuantType.QInt8)
    try:
        import nncf
        files["NNCF"] = folder / "nncf.onnx"
        if not files["NNCF"].exists():
            data = nncf.Dataset([make(100 + i) for i in range(SAMPLES)])
            kind = {} if name == "ResNet-18" else {"model_type": nncf.ModelType.TRANSFORMER}
            onnx.save(nncf.quantize(onnx.load(f32), data, subset_size=SAMPLES, **kind), files["NNCF"])
    except ImportError:
        pass
    calibration = folder / "calibration.npz"
    samples = [make(100 + i) for i in range(SAMPLES)]
    np.savez(calibration, **{key: np.concatenate([s[key] for s in samples]) for key in samples[0]})
    for kind in ("int8@min-max", "int8.g1x0"):
        files[f"hone {kind}"] = folder / f"{kind}.safetensors"
        given = ["--calib", calibration, "--calib-batch", 1] if "@" in kind else []
        run(hone, "quantize", f32, "--to", "int8.channel", "--activations", kind, *given, "-o", files[f"hone {kind}"])
    return files


def ort_system(file, threads, inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)[0]


def openvino_system(file, threads, inputs, hint):
    core = openvino.Core()
    model = core.read_model(str(file))
    model.reshape({port: list(inputs[port.get_any_name()].shape) for port in model.inputs})
    request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": hint, "NUM_STREAMS": 1}).create_infer_request()
    return lambda: next(iter(request.infer(inputs).values()))


def torch_system(module, inputs, kind):
    tensors = [torch.from_numpy(x) for x in inputs.values()]
    if kind == "bf16":
        import copy
        module = copy.deepcopy(module).bfloat16()
        tensors = [x.bfloat16() if x.is_floating_point() else x for x in tensors]
    return torch.inference_mode()(lambda: module(*tensors).float().numpy())


def systems_of(hone, files, module, inputs, kind, threads):
    """Callables that give the output, and hone's processes, by name."""
    peers, mine = {}, {}
    flags = ["--compute", "bf16"] if kind == "bf16" else []
    if kind == "int8":
        for what, file in files.items():
            if what.startswith("hone"):
                mine[what] = file
            elif what != "f32":
                peers[f"ONNX Runtime, {what}"] = ort_system(file, threads, inputs)
                peers[f"OpenVINO, {what}"] = openvino_system(file, threads, inputs, "f32")
                mine[f"hone, {what}"] = file
    else:
        mine["hone"] = files["f32"]
        if kind == "f32":
            peers["ONNX Runtime"] = ort_system(files["f32"], threads, inputs)
        peers["OpenVINO"] = openvino_system(files["f32"], threads, inputs, kind)
        peers["PyTorch"] = torch_system(module, inputs, kind)
    return peers, {what: Hone(hone, file, inputs, WORK / f"outputs {what}", threads, flags) for what, file in mine.items()}


def cosine(a, b):
    a, b = np.ravel(a).astype(np.float64), np.ravel(b).astype(np.float64)
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def measure(args, name, files, module, make, kind, threads):
    inputs = make(1)
    torch.set_num_threads(threads)
    peers, mine = systems_of(args.hone, files, module, inputs, kind, threads)
    exact = torch_system(module, inputs, "f32")()
    agreement = {what: cosine(system(), exact) for what, system in peers.items()}
    times = rounds({**{what: timed(system) for what, system in peers.items()}, **mine}, args.rounds, pause=0.02 if threads > 1 else 0)
    for what, process in mine.items():
        agreement[what] = cosine(process.output("y"), exact)
        process.close()
    medians = {what: interval(values)[0] * 1e3 for what, values in times.items()}
    own = [what for what in mine if kind != "int8" or not what.startswith("hone,")]
    ours, best = min(own, key=medians.get), min(peers, key=medians.get)
    value, low, high = ratio(times, ours, best)
    without, amx = MUST[name][kind]
    row = [name, kind, threads, f"{ours} {medians[ours]:.2f}", f"{best} {medians[best]:.2f}", f"{value:.2f} ({low:.2f}-{high:.2f})", f"{without:.2f}", f"{amx:.2f}"]
    print(*row, flush=True)
    details = [[name, kind, threads, what, f"{medians[what]:.2f}", f"{agreement[what]:.5f}"] for what in sorted(medians, key=medians.get)]
    for line in details:
        print("   ", *line, flush=True)
    return row, details


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hone")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", default="", help="networks and precisions with this text, as in 'MiniLM int8'")
    parser.add_argument("--record", action="store_true", help="write the table into bench/results.md")
    args = parser.parse_args()
    rows, details = [], []
    for name in MUST:
        if not any(args.only in f"{name} {kind}" for kind in MUST[name]):
            continue
        module, make = network(name)
        files = files_of(args.hone, name, module, make)
        for threads in map(int, args.threads.split(",")):
            for kind in MUST[name]:
                if args.only in f"{name} {kind}":
                    row, lines = measure(args, name, files, module, make, kind, threads)
                    rows.append(row)
                    details += lines
    if args.record:
        cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
        family = [next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith(key)) for key in ("cpu family", "model\t")]
        versions = f"ONNX Runtime {onnxruntime.__version__}, OpenVINO {openvino.__version__.split('-')[0]}, PyTorch {torch.__version__}"
        text = (f"`bench/peers/precisions.py HONE --record` on {cpu} (family {family[0]}, model {family[1]}); {versions}. Batch 1, 128 tokens; ms, medians of {args.rounds} rounds in turn; "
                "hone is the faster of its static and dynamic int8.\n\n")
        text += table(["network", "precision", "threads", "hone, ms", "best other, ms", "hone / it", "asked for", "with AMX"], rows)
        text += "\nEvery system, and the cosine of its output to PyTorch's in f32:\n\n" + table(["network", "precision", "threads", "system", "ms", "cosine"], details)
        write_section("Precisions beside other systems", text)


if __name__ == "__main__":
    main()
