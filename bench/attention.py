"""Attention of hone beside PyTorch's, fused and spelled out, ONNX Runtime's and OpenVINO's, in turn, on one thread and two.

usage: attention.py HONE [--threads 1,2] [--rounds 25] [--record]      (in the environment of bench/peers)

Every system gets q, k and v as it likes them best: hone and ONNX Runtime [B,S,H*D], PyTorch and OpenVINO [B,H,S,D]. A system that
cannot compute a case is left out of its row. Results in f32 are compared with PyTorch's.
"""
import argparse
import pathlib
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
from interleaved import Hone, interval, ratio, rounds, timed  # noqa: E402
from results import table, write_section  # noqa: E402

WORK = pathlib.Path("build/bench/attention")
# Batches, heads, length, columns of a head; and what is asked for, by type: time over the best peer's.
CASES = [((32, 8, 128, 64), False, {"f32": 0.75, "bf16": 0.60}),
         ((1, 12, 1024, 64), False, {"f32": 0.80, "bf16": 0.60}),
         ((1, 12, 4096, 64), True, {"f32": 0.80, "bf16": 0.55})]


def model(shape, causal, kind):
    """The operator Attention of ONNX on rows of heads, as a file."""
    b, h, s, d = shape
    element = {"f32": TensorProto.FLOAT, "bf16": TensorProto.BFLOAT16}[kind]
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], q_num_heads=h, kv_num_heads=h, is_causal=int(causal))
    values = [helper.make_tensor_value_info(name, element, [b, s, h * d]) for name in "qkvy"]
    made = helper.make_model(helper.make_graph([node], "attention", values[:3], values[3:]), opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    path = WORK / f"{b}x{h}x{s}x{d}-{'causal' if causal else 'full'}-{kind}.onnx"
    onnx.save(made, path)
    return path


def torch_systems(q, k, v, causal):
    hidden = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).triu(1)

    def naive():
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        return torch.softmax(scores.masked_fill(hidden, float("-inf")) if causal else scores, -1) @ v
    systems = {"torch fused": timed(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))}
    if q.shape[2] <= 1024:  # beyond, five times as slow as fused
        systems["torch naive"] = timed(naive)
    return systems


def onnxruntime_system(path, rows, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    session.run(None, rows)
    return timed(lambda: session.run(None, rows))


def openvino_system(shape, causal, kind, by_head, threads):
    import openvino as ov
    from openvino import opset13 as ops
    inputs = [ops.parameter(list(shape), np.float32, name=name) for name in "qkv"]
    compiled = ov.Core().compile_model(ov.Model([ops.scaled_dot_product_attention(*inputs, causal=causal)], inputs), "CPU",
                                       {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": kind, "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    tensors = [ov.Tensor(x) for x in by_head]
    for i, tensor in enumerate(tensors):
        request.set_input_tensor(i, tensor)
    request.infer()
    return timed(request.infer)


def if_possible(systems, name, make):
    try:
        systems[name] = make()
    except Exception as error:  # noqa: BLE001: whatever a peer says it cannot do
        print(f"{name}: {str(error).splitlines()[0][:150]}", file=sys.stderr)


def measure(args, shape, causal, kind, threads):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    exact = [torch.randn(shape) for _ in range(3)]
    rows = {name: np.ascontiguousarray(x.transpose(1, 2).reshape(shape[0], shape[2], -1).numpy()) for name, x in zip("qkv", exact)}
    path = model(shape, causal, kind)
    hone = Hone(args.hone, path, rows if kind == "f32" else {}, WORK / "hone", threads, writes=kind == "f32")
    dtype = torch.float32 if kind == "f32" else torch.bfloat16
    systems = {"hone": hone, **torch_systems(*(x.to(dtype) for x in exact), causal)}
    if kind == "f32":
        if_possible(systems, "ONNX Runtime", lambda: onnxruntime_system(path, rows, threads))
    if_possible(systems, "OpenVINO", lambda: openvino_system(shape, causal, kind, [x.numpy() for x in exact], threads))
    times = rounds(systems, args.rounds, warmup=2, pause=0.02 if threads > 1 else 0)
    if kind == "f32":
        wanted = F.scaled_dot_product_attention(*exact, is_causal=causal).transpose(1, 2).reshape(shape[0], shape[2], -1).numpy()
        worst = float(np.abs(hone.output("y") - wanted).max())
        if worst > 1e-4:
            sys.exit(f"{shape}: differs from PyTorch by {worst}")
    hone.close()
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hone")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--record", action="store_true", help="write the table into bench/results.md")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    lines = []
    with torch.inference_mode():
        for threads in map(int, args.threads.split(",")):
            for shape, causal, wanted in CASES:
                for kind in ("f32", "bf16"):
                    times = measure(args, shape, causal, kind, threads)
                    medians = {name: interval(values)[0] * 1e3 for name, values in times.items()}
                    best = min((name for name in medians if name != "hone"), key=medians.get)
                    value, low, high = ratio(times, "hone", best)
                    others = ", ".join(f"{name} {ms:.2f}" for name, ms in medians.items() if name != "hone")
                    lines.append(["x".join(map(str, shape)) + (" causal" if causal else ""), kind, threads, f"{medians['hone']:.2f}", others,
                                  f"{value:.2f} ({low:.2f}-{high:.2f})", f"{wanted[kind]:.2f}"])
                    print(*lines[-1], flush=True)
    text = table(["attention", "type", "threads", "hone, ms", "others, ms", "hone / best other", "asked for"], lines)
    print(text)
    if args.record:
        write_section("Attention", f"`bench/attention.py HONE --record`, PyTorch {torch.__version__}; medians of {args.rounds} rounds in turn.\n\n{text}")


if __name__ == "__main__":
    main()
