"""One linear layer 4096 -> 14336 with weights of 4 and 8 bits in hone, ONNX Runtime (MatMulNBits) and torchao, and dense in
PyTorch: what hone must reach and what it reaches, as a table that is printed and written to bench/results.md.
`make bench-peers` runs it, from the root of the checkout.

usage: low_bit_linear.py HONE [--rounds 40] [--rows 1,16,128] [--threads 1] [--dry]

Peers compute as is fastest for them: ONNX Runtime with activations rounded to int8 (accuracy level 4) and in f32 (level 0), torchao
and PyTorch in bf16. hone computes with activations in bf16, exactly on the stored weights.
"""
import argparse
import itertools
import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime
import results
import torch
from interleaved import Hone, interval, ratio, rounds, timed
from networks import PAUSE, machine
from onnx import TensorProto, helper, numpy_helper

WORK = pathlib.Path("build/bench/linear")
K, N, BLOCK = 4096, 14336, 32
FORMATS = {"mxint8": 8, "mxfp8_e4m3": 8, "mxint4": 4, "mxfp4": 4, "int4.g32.s=bf16": 4, "int4.g32": 4}
OF_ONE_ROW = {"mxint8": 0.70, "mxint4": 0.60, "mxfp4": 0.60, "int4.g32.s=bf16": 0.60, "int4.g32": 0.65}  # of the best peer's time
OF_SIXTEEN_ROWS = 0.80


def onnx_file(path, nodes, constants):
    value = lambda name, width: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["m", width])
    graph = helper.make_graph(nodes, "linear", [value("x", K)], [value("y", N)],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def ort_session(bits, accuracy, threads):
    rng, blocks, path = np.random.default_rng(0), K // BLOCK, WORK / "nbits.onnx"
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=K, N=N, bits=bits, block_size=BLOCK,
                            accuracy_level=accuracy)
    onnx_file(path, [node], {"w": rng.integers(0, 256, (N, blocks, BLOCK * bits // 8), np.uint8),
                             "s": rng.random((N, blocks), np.float32)})
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def torchao_layer(config):
    from torchao.quantization import quantize_
    model = torch.nn.Sequential(torch.nn.Linear(K, N, bias=False, dtype=torch.bfloat16))
    quantize_(model, config)
    return model


def torchao_layers():
    """What torchao has that runs on a CPU, by its bits: eager and compiled."""
    from torchao.quantization import Int4WeightOnlyConfig, Int8WeightOnlyConfig
    int8 = torchao_layer(Int8WeightOnlyConfig())
    layers = {("torchao int8", 8): int8, ("torchao int8 compiled", 8): torch.compile(int8, dynamic=False)}
    for packing in ("opaque", "tile_packed_to_4d", "plain_int32", "plain"):
        try:
            int4 = torchao_layer(Int4WeightOnlyConfig(group_size=BLOCK, int4_packing_format=packing))
            int4(torch.zeros(1, K, dtype=torch.bfloat16))
        except Exception as error:  # which ones run depends on the machine and the version
            print(f"  torchao int4 {packing}: {str(error).splitlines()[0][:100]}")
            continue
        return layers | {(f"torchao int4 {packing}", 4): int4}
    return layers


class Systems:
    """Every system on one number of rows."""

    def __init__(self, args, layers, rows, threads):
        x = np.random.default_rng(1).standard_normal((rows, K), np.float32)
        tensor, dense = torch.from_numpy(x).bfloat16(), torch.nn.Linear(K, N, bias=False, dtype=torch.bfloat16)
        self.bits, self.run = {}, {}
        for bits, accuracy in itertools.product((8, 4), (4, 0)):
            session = ort_session(bits, accuracy, threads)
            self.add(f"ONNX Runtime {bits}-bit, level {accuracy}", bits, lambda s=session: s.run(None, {"x": x}))
        for (name, bits), layer in layers.items():
            self.add(name, bits, torch.inference_mode()(lambda l=layer: l(tensor)))
        self.add("PyTorch bf16", 16, torch.inference_mode()(lambda: dense(tensor)))
        self.hone = {name: Hone(args.hone, file, {"x": x}, WORK / "outputs" / name, threads, ["--compute", "bf16"])
                     for name, file in args.files.items()}
        self.run |= self.hone

    def add(self, name, bits, run):
        self.bits[name], self.run[name] = bits, timed(run)

    def close(self):
        for hone in self.hone.values():
            hone.close()


def verdict(value, must):
    return "reached" if value <= must else "**missed**"


def contest(args, layers, rows, threads):
    systems = Systems(args, layers, rows, threads)
    times = rounds(systems.run, args.rounds if rows < 128 else max(7, args.rounds // 4), pause=PAUSE if threads > 1 else 0)
    systems.close()
    milliseconds = {name: interval(values)[0] * 1e3 for name, values in times.items()}
    lines = []
    for name in args.files:
        if name == "bf16":
            compare = [("PyTorch bf16", 1.00)] if rows == 128 else []
        elif rows == 128:
            compare = [("bf16", 1.10), ("PyTorch bf16", 1.00)]
        else:
            peer = min((p for p, bits in systems.bits.items() if bits == FORMATS[name]), key=milliseconds.get)
            compare = [(peer, OF_ONE_ROW.get(name) if rows == 1 else OF_SIXTEEN_ROWS)]
        for other, must in compare:
            value, low, high = ratio(times, name, other)
            beside = "own bf16" if other == "bf16" else other
            lines.append([rows, threads, name, f"{milliseconds[name]:.2f}", f"{beside} {milliseconds[other]:.2f}",
                          f"{value:.3f} ({low:.3f}-{high:.3f})", f"<= {must:.2f}" if must else "", verdict(value, must) if must else ""])
            print("  " + " | ".join(map(str, lines[-1])), flush=True)
    for name in systems.bits:
        print(f"    {name:32} {milliseconds[name]:8.2f} ms", flush=True)
    return lines, [[rows, threads, name, f"{milliseconds[name]:.2f}"] for name in systems.bits]


def hone_files(hone):
    """The layer in every format, and dense in bf16."""
    plain, files = WORK / "linear.onnx", {}
    if not plain.exists():
        weight = np.random.default_rng(0).standard_normal((K, N), np.float32) / 64
        onnx_file(plain, [helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": weight})
    for name in (*FORMATS, "bf16"):
        files[name] = WORK / f"{name}.safetensors"
        command = [hone, "quantize", plain, "--to", name, "--compute", "bf16", "-o", files[name]]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    return files


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--rows", default="1,16,128")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--dry", action="store_true", help="print, but leave bench/results.md as it is")
    return parser.parse_args()


def main():
    args = arguments()
    WORK.mkdir(parents=True, exist_ok=True)
    args.files = hone_files(args.hone)
    head, lines, peers = machine(args), [], []
    for threads in map(int, args.threads.split(",")):
        torch.set_num_threads(threads)
        layers = torchao_layers()
        for rows in map(int, args.rows.split(",")):
            compared, beside = contest(args, layers, rows, threads)
            lines += compared
            peers += beside
    text = (head.format(os.getloadavg()[0]) +
            results.table(["rows", "threads", "hone", "ms", "beside, ms", "hone / it", "must", ""], lines) +
            "\nThe other systems:\n\n" + results.table(["rows", "threads", "system", "ms"], peers))
    if not args.dry:
        results.write_section("A linear layer 4096 -> 14336 in few bits beside other systems", text)


if __name__ == "__main__":
    main()
