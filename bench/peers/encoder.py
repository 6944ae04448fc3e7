"""A sentence encoder in hone, ONNX Runtime, OpenVINO and PyTorch, interleaved in one run.

Each round times every system once, in a shuffled order; hone is a child process that runs one inference per line it is sent
(`hone bench --on-demand`). Prints medians, the ratio hone / peer with its 95 % interval over the rounds, and agreement of the
outputs with PyTorch.

usage: encoder.py MODEL_DIR HONE [--batch 1] [--seq 128] [--threads 1] [--rounds 60] [--also "FILE --flags"]... [--peers ort,ov,torch] [--json F]
"""
import argparse
import json
import os
import pathlib

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np
from interleaved import Hone, interval, ratio, rounds, timed

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("hone")
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--seq", type=int, default=128)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=60)
parser.add_argument("--peers", default="ort,ov,torch")
parser.add_argument("--also", action="append", default=[], help="a further hone run: 'FILE --flags' (repeatable)")
parser.add_argument("--json", default="")
args = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(args.threads)

import torch
from transformers import AutoModel

torch.set_num_threads(args.threads)
model = AutoModel.from_pretrained(args.model).eval()
rng = np.random.default_rng(1)
ids = rng.integers(1000, 29000, (args.batch, args.seq)).astype(np.int64)
ids[:, 0], ids[:, -1] = 101, 102
mask = np.ones_like(ids)


class Encoder(torch.nn.Module):
    """Token states, mean over the mask, unit length: what the sentence encoder's directory describes."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, input_ids, attention_mask):
        states = self.inner(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        m = attention_mask.unsqueeze(-1).float()
        pooled = (states * m).sum(1) / m.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(pooled, dim=1)


encoder = Encoder(model)
tensors = (torch.from_numpy(ids), torch.from_numpy(mask))
with torch.no_grad():
    reference = encoder(*tensors).numpy()

systems = {}


def torch_run():
    with torch.no_grad():
        return encoder(*tensors).numpy()


if "torch" in args.peers:
    systems["torch eager"] = torch_run
onnx_file = pathlib.Path("build/peers") / (pathlib.Path(args.model).name + ".onnx")
if "ort" in args.peers or "ov" in args.peers:
    if not onnx_file.exists():
        onnx_file.parent.mkdir(parents=True, exist_ok=True)
        batch, seq = torch.export.Dim("batch", max=512), torch.export.Dim("seq", max=512)
        example = (torch.randint(1, 1000, (2, 16)), torch.ones(2, 16, dtype=torch.int64))
        torch.onnx.export(encoder, example, str(onnx_file), input_names=["input_ids", "attention_mask"], output_names=["sentence_embedding"],
                          dynamo=True, dynamic_shapes=({0: batch, 1: seq}, {0: batch, 1: seq}), external_data=False)
if "ort" in args.peers:
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = args.threads
    session = ort.InferenceSession(str(onnx_file), options, providers=["CPUExecutionProvider"])
    feed = {"input_ids": ids, "attention_mask": mask}
    systems["onnxruntime"] = lambda: session.run(None, feed)[0]
if "ov" in args.peers:
    import openvino
    core = openvino.Core()
    graph = core.read_model(onnx_file)
    graph.reshape({i: [args.batch, args.seq] for i in graph.inputs})
    compiled = core.compile_model(graph, "CPU", {"INFERENCE_NUM_THREADS": args.threads, "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1})
    request = compiled.create_infer_request()
    systems["openvino"] = lambda: request.infer([ids, mask])[compiled.output(0)]



def hone(name, extra):
    return Hone(args.hone, extra[0], {"input_ids": ids, "attention_mask": mask}, pathlib.Path("build/peers") / name, args.threads, extra[1:])


hones = {"hone f32": hone("out0", [args.model, "--compute", "f32"])}
for i, extra in enumerate(args.also):  # "MODEL --flags"
    hones["hone " + extra] = hone(f"out{i + 1}", extra.split())

times = rounds({name: timed(run) for name, run in systems.items()} | hones, args.rounds, warmup=5)


def cosine(a, b):
    return float(((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).min())


rows = []
for name in times:
    median, low, high = interval(times[name])
    output = hones[name].output("embedding") if name in hones else systems[name]()
    rows.append({"system": name, "median_ms": median * 1e3, "ci95_ms": [low * 1e3, high * 1e3], "cosine": cosine(output, reference)})
print(f"batch {args.batch}, sequence {args.seq}, {args.threads} thread(s), {args.rounds} interleaved rounds")
print(f"{'system':34} {'median ms':>10} {'95 % interval':>18} {'hone f32 / it':>26} {'min cosine to torch':>20}")
for row in rows:
    row["hone_over_it"] = ratio(times, "hone f32", row["system"])
    print(f"{row['system']:34} {row['median_ms']:10.2f} {row['ci95_ms'][0]:8.2f} - {row['ci95_ms'][1]:7.2f} "
          "{:10.3f} ({:.3f}-{:.3f})".format(*row["hone_over_it"]), f"{row['cosine']:19.8f}")
if args.json:
    pathlib.Path(args.json).write_text(json.dumps({"args": vars(args), "rows": rows}, indent=1))
