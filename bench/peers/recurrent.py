"""Recurrent layers, and a network that ends in them, in hone and ONNX Runtime: what hone must reach and what it reaches, as a table
that is printed and, with --record, written to bench/results.md. From the root of the checkout.

usage: recurrent.py HONE [--rounds 30] [--threads 1] [--only TEXT]... [--record]
"""
import argparse
import dataclasses
import os
import pathlib

import numpy as np
import onnx
import results
from interleaved import Hone, interval, ratio, rounds, timed
from networks import PAUSE, machine, ort_session, verdict
from onnx import TensorProto, helper, numpy_helper

WORK = pathlib.Path("build/bench/recurrent")
READER = pathlib.Path("build/models/ddddocr/common.onnx")  # scripts/deps.sh peers
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@dataclasses.dataclass
class Work:
    """One line: layers of `cell` over `steps` steps of `batch` sequences, or the reader."""
    what: str
    cell: str = ""
    layers: int = 1
    steps: int = 80
    batch: int = 1
    inputs: int = 128
    hidden: int = 512
    direction: str = "forward"
    attributes: dict = dataclasses.field(default_factory=dict)
    must: float | None = None
    aim: float = 0.70


WORKS = [
    Work("2 LSTM of 512, 1 x 80 x 128", "LSTM", layers=2, must=0.95),
    Work("2 LSTM of 512, 8 x 80 x 128", "LSTM", layers=2, batch=8),
    Work("bidirectional LSTM of 128, 1 x 80 x 128", "LSTM", hidden=128, direction="bidirectional"),
    Work("2 GRU of 512, 1 x 80 x 128", "GRU", layers=2),
    Work("2 GRU of 512 as PyTorch has them, 1 x 80 x 128", "GRU", layers=2, attributes={"linear_before_reset": 1}),
    Work("2 RNN of 512, 1 x 80 x 128", "RNN", layers=2),
    Work("ddddocr's common.onnx, 64 x 160", must=0.95),
]


def onnx_file(work):
    """The layers one behind the other."""
    rng, nodes, constants, value = np.random.default_rng(0), [], [], "x"
    directions, gates, inputs = 1 + (work.direction == "bidirectional"), GATES[work.cell], work.inputs
    for layer in range(work.layers):
        shapes = {"w": (directions, gates * work.hidden, inputs), "r": (directions, gates * work.hidden, work.hidden),
                  "b": (directions, 2 * gates * work.hidden)}
        scale = work.hidden ** -0.5  # as PyTorch begins
        constants += [numpy_helper.from_array(rng.uniform(-scale, scale, shape).astype(np.float32), f"{name}{layer}")
                      for name, shape in shapes.items()]
        nodes.append(helper.make_node(work.cell, [value, *(f"{name}{layer}" for name in shapes)], [f"all{layer}"],
                                      hidden_size=work.hidden, direction=work.direction, **work.attributes))
        nodes.append(helper.make_node("Transpose", [f"all{layer}"], [f"rows{layer}"], perm=[0, 2, 1, 3]))
        nodes.append(helper.make_node("Reshape", [f"rows{layer}", "shape"], [f"y{layer}"]))
        value, inputs = f"y{layer}", directions * work.hidden
    constants.append(numpy_helper.from_array(np.array([0, 0, -1], np.int64), "shape"))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [work.steps, work.batch, work.inputs])
    y = helper.make_tensor_value_info(value, TensorProto.FLOAT, [work.steps, work.batch, inputs])
    path = WORK / (work.what.replace(" ", "_").replace(",", "") + ".onnx")
    onnx.save(helper.make_model(helper.make_graph(nodes, "layers", [x], [y], constants),
                                opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path, (work.steps, work.batch, work.inputs)


def contest(args, work, threads):
    path, shape = onnx_file(work) if work.cell else (READER, (1, 1, 64, 160))
    session = ort_session(str(path), threads, shape)
    given = {session.get_inputs()[0].name: np.random.default_rng(1).standard_normal(shape, np.float32)}
    want = session.run(None, given)[0]
    hone = Hone(args.hone, path, given, WORK / "outputs", threads)
    times = rounds({"hone": hone, "ONNX Runtime": timed(lambda: session.run(None, given))}, args.rounds,
                   pause=PAUSE if threads > 1 else 0)
    got = hone.output(session.get_outputs()[0].name)
    hone.close()
    off = float(np.abs(got - want).max() / max(1, np.abs(want).max()))
    value, low, high = ratio(times, "hone", "ONNX Runtime")
    ms = {name: interval(values)[0] * 1e3 for name, values in times.items()}
    row = [work.what, threads, f"{value:.3f} ({low:.3f}-{high:.3f})", f"hone {ms['hone']:.2f} ms, ONNX Runtime {ms['ONNX Runtime']:.2f} ms",
           f"<= {work.must:.2f} (aim {work.aim:.2f})" if work.must else "", verdict(value, work.must, work.aim) if work.must else "", f"{off:.1e}"]
    print("  " + " | ".join(map(str, row)), flush=True)
    return row


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hone")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--only", action="append", default=[], help="rows whose name has this text (repeatable)")
    parser.add_argument("--record", action="store_true", help="write bench/results.md, too")
    return parser.parse_args()


def main():
    args = arguments()
    WORK.mkdir(parents=True, exist_ok=True)
    head = machine(args)
    chosen = [work for work in WORKS if not args.only or any(text in work.what for text in args.only)]
    rows = [contest(args, work, threads) for threads in map(int, args.threads.split(",")) for work in chosen]
    if args.record:
        text = head.format(os.getloadavg()[0]) + results.table(["work", "threads", "hone / ONNX Runtime", "ms", "must", "", "differs by"], rows)
        results.write_section("Recurrent layers beside ONNX Runtime", text)


if __name__ == "__main__":
    main()
