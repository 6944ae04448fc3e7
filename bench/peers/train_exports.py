"""Small networks trained by hone from their exports, beside PyTorch: the same start, the same batches in the same order, the same optimizer.

Of each case (train_cases.py) it compares what is trained (names, tensors, numbers), the loss of every step and every weight and running statistic
after the last one. PyTorch's names stand for tensors of the file; where an exporter renames, stacks or turns a tensor, it is found by its values.

The bound is what PyTorch makes of one rounding: it trains again with every weight and input moved to a neighbouring float before each step, up or
down at random. FACTOR times the largest difference of these runs, and one rounding of the value itself, bounds a loss, and of each tensor its largest element.
A run with a rate that is a hundredth larger shows that the bounds can tell: it must be outside.

usage: train_exports.py HONE [--only NAME] [--steps 20] [--threads 1] [--json F] [--record]           (from the root of the checkout)
Exit code 1 when a case is not level. --record writes the table into bench/results.md.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import warnings

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.numpy import load_file
from torch import nn

import results
from train_cases import CASES, CLASSES

WORK = pathlib.Path("build/bench/train_exports")
BATCH, FACTOR, NEIGHBOURS = 8, 4, 8
EPS = 2.0 ** -24
OPTIMIZERS = {
    "sgd": (lambda parameters, rate: torch.optim.SGD(parameters, lr=rate, momentum=0.9), ["--optimizer", "sgd", "--optimizer-option", "momentum=0.9", "--decay", 0]),
    "adamw": (lambda parameters, rate: torch.optim.AdamW(parameters, lr=rate, weight_decay=0.0), ["--optimizer", "adamw", "--decay", 0]),
}


# --- PyTorch -------------------------------------------------------------------------------------------------------------

def export(case, model, x, path):
    axes = range(x.dim()) if case.open_sizes else (0,)
    kept = [axis for axis in axes if axis != 1 or x.dim() == 2]  # channels stay
    if case.exporter == "legacy":
        mode = torch.onnx.TrainingMode.TRAINING if case.training else torch.onnx.TrainingMode.EVAL
        torch.onnx.export(model, (x,), str(path), input_names=["x"], output_names=["logits"], dynamo=False, opset_version=17, training=mode,
                          do_constant_folding=False, dynamic_axes={"x": {axis: f"d{axis}" for axis in kept}})
    else:
        torch.onnx.export(model, (x,), str(path), input_names=["x"], output_names=["logits"], dynamo=True, opset_version=18, external_data=False,
                          verbose=False, optimize=False, dynamic_shapes=({axis: torch.export.Dim.DYNAMIC for axis in kept},))


def torch_run(case, model, start, data, steps, rate, seed=None):
    """The losses, and all tensors after the last step. `seed`: weights and inputs move to neighbouring floats before each step."""
    model.load_state_dict(start)
    model.train()
    optimizer = OPTIMIZERS[case.optimizer][0](model.parameters(), rate)
    random = torch.Generator().manual_seed(seed or 0)

    def neighbour(values):
        up = torch.rand(values.shape, generator=random) < 0.5
        return torch.nextafter(values, torch.where(up, torch.inf, -torch.inf))
    losses = []
    for i in range(steps):
        if seed is not None:
            with torch.no_grad():
                for p in model.parameters():
                    p.copy_(neighbour(p))
        x, label = (data[name][i * BATCH:(i + 1) * BATCH] for name in ("x", "label"))
        if seed is not None and x.is_floating_point():
            x = neighbour(x)
        given = model(x)
        loss = nn.functional.mse_loss(given[:, 0], label) if case.numbers else nn.functional.cross_entropy(given, label)
        optimizer.zero_grad(set_to_none=False)  # a branch that is not taken has gradients of zeros
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses), arrays_of(model)


def arrays_of(model):
    """Weights and statistics by name; a weight that two layers share, once."""
    found = {name: p.detach().numpy().copy() for name, p in model.named_parameters()}
    for name, buffer in model.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            found[name] = buffer.numpy().copy()
    return found


# --- the file's tensors --------------------------------------------------------------------------------------------------

def stacked(model, arrays):
    """Those of recurrent layers as ONNX has them: directions together, gates in its order."""
    orders = {nn.LSTM: (0, 3, 1, 2), nn.GRU: (1, 0, 2), nn.RNN: (0,)}
    made = {}
    for prefix, layer in model.named_modules():
        if type(layer) not in orders:
            continue
        order = orders[type(layer)]

        def gates(name):
            parts = np.split(arrays[f"{prefix}.{name}"], len(order))
            return np.concatenate([parts[i] for i in order])
        for n in range(layer.num_layers):
            ends = ("", "_reverse") if layer.bidirectional else ("",)
            made |= {f"{prefix}.{kind}_l{n}": np.stack([gates(f"{kind}_l{n}{end}") for end in ends]) for kind in ("weight_ih", "weight_hh")}
            made[f"{prefix}.bias_l{n}"] = np.stack([np.concatenate([gates(f"bias_ih_l{n}{end}"), gates(f"bias_hh_l{n}{end}")]) for end in ends])
    return made


def is_turned(a, b):
    return a.ndim == 2 and b.shape == a.T.shape and np.array_equal(a.T, b)


def tensors_of(path):
    """Constants of the file and of its branches, by name."""
    found = {}

    def walk(graph):
        for tensor in graph.initializer:
            found[tensor.name] = numpy_helper.to_array(tensor)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    walk(attribute.g)
                elif node.op_type == "Constant" and attribute.HasField("t"):
                    found[node.output[0]] = numpy_helper.to_array(attribute.t)
    walk(onnx.load(path).graph)
    return found


def names_in_file(arrays, stored):
    """{PyTorch's name: the file's}, by name or, where there is none, by values."""
    names = {}
    for name, value in arrays.items():
        if name in stored:
            names[name] = name
            continue
        same = [other for other, tensor in stored.items() if np.array_equal(value, tensor) or is_turned(value, tensor)]
        if len(same) == 1 and value.size > 1:
            names[name] = same[0]
    return names


def as_in_pytorch(value, like, aim):
    """A tensor of hone's in PyTorch's layout; of a square matrix the side that is nearer counts."""
    sides = [side for side in ([value, value.T] if value.ndim == 2 else [value]) if side.shape == like.shape]
    if not sides and value.size == like.size:
        sides = [value.reshape(like.shape)]
    return min(sides, key=lambda side: np.abs(side - aim).max()) if sides else None


# --- hone ----------------------------------------------------------------------------------------------------------------

def hone_run(hone, case, folder, steps, threads):
    shutil.rmtree(folder / "run", ignore_errors=True)
    command = [hone, "train", folder / "model.onnx", "--data", folder / "data.npz", "--target" if case.numbers else "--label", "label", "-o", folder / "out.safetensors", "--folder",
               folder / "run", "--batch", BATCH, "--steps", steps, "--in-order", "--schedule", "constant", "--warmup", 0, "--head", "keep", "--log-every", 1,
               "--rate", case.rate, "--threads", threads, *OPTIMIZERS[case.optimizer][1], *(part for rule in case.frozen for part in ("--rule", rule)),
               *([] if case.numbers else [f"--classes={i}" for i in range(CLASSES)])]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("hone: ")]
        return {"error": said[-1] if said else f"exit code {done.returncode}"}
    entries = [json.loads(line) for line in (folder / "run/log.jsonl").read_text().splitlines()]
    said = re.search(r"(\d+) (?:weights|numbers) in (\d+) tensors are trained", done.stdout + done.stderr)
    checkpoint = load_file(folder / "run/last.safetensors")
    return {"losses": np.array([e["loss"] for e in entries if e["split"] == "train"]),
            "numbers": int(said[1]) if said else -1, "tensors": int(said[2]) if said else -1,
            "after": {name.removeprefix("parameter/"): value for name, value in checkpoint.items() if name.startswith("parameter/")},
            "written": load_file(folder / "out.safetensors")}


# --- both ----------------------------------------------------------------------------------------------------------------

def is_statistic(name):
    return name.endswith(("running_mean", "running_var"))


def compare(hone, case, steps, threads):
    folder = WORK / re.sub(r"\W+", "_", case.name)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    model, inputs = case.make(steps * BATCH)
    labels = torch.randn(steps * BATCH) if case.numbers else torch.randint(0, CLASSES, (steps * BATCH,))
    data = {**inputs, "label": labels}
    model.train(case.training)
    try:
        export(case, model, data["x"][:4], folder / "model.onnx")
    except Exception as error:  # an exporter's; which ones they raise is not documented
        return [f"not exported: {str(error).strip().splitlines()[0][:120]}"], {}
    stored = tensors_of(folder / "model.onnx")
    # An export in training mode runs the model, and moves its statistics before or behind those that it writes.
    start = {name: torch.from_numpy(stored[name].copy()) if is_statistic(name) and name in stored else value.clone()
             for name, value in model.state_dict().items()}
    model.load_state_dict(start)
    before = arrays_of(model)
    np.savez(folder / "data.npz", **{name: value.numpy() for name, value in data.items()})
    ours = hone_run(hone, case, folder, steps, threads)
    if "error" in ours:
        return [ours["error"]], {}
    runs = {seed: torch_run(case, model, start, data, steps, case.rate, seed) for seed in (None, *range(1, NEIGHBOURS + 1))}
    fault_losses, fault = torch_run(case, model, start, data, steps, 1.01 * case.rate)
    losses, aim = runs[None]

    names = names_in_file(before, stored)
    if recurrent := stacked(model, before):
        own = names_in_file(recurrent, stored)
        if any(name not in names for name in before) and own:
            def joined(arrays):
                left = {name: value for name, value in arrays.items() if not re.search(r"_l\d+(_reverse)?$", name)}
                return left | stacked(model, arrays)
            before, aim, fault = joined(before), joined(aim), joined(fault)
            runs = {seed: (run[0], joined(run[1])) for seed, run in runs.items()}
            names |= own
    problems, shares, seen = [], [], False

    trained = {name: value for name, value in before.items() if not is_statistic(name)}
    numbers = sum(value.size for value in trained.values())
    if (ours["tensors"], ours["numbers"]) != (len(trained), numbers):
        problems.append(f"{ours['numbers']} numbers in {ours['tensors']} tensors are trained; PyTorch has {numbers} in {len(trained)}")

    neighbours = [run for seed, run in runs.items() if seed is not None]
    bound = FACTOR * np.maximum.accumulate(np.maximum(np.max([np.abs(run[0] - losses) for run in neighbours], axis=0), EPS * np.abs(losses)))
    if ours["losses"].shape != losses.shape:
        problems.append(f"{len(ours['losses'])} losses instead of {steps}")
    else:
        difference = np.abs(ours["losses"] - losses)
        shares.append(np.max(difference / bound))
        if not np.all(difference <= bound):
            step = int(np.flatnonzero(~(difference <= bound))[0])
            problems.append(f"the loss of step {step + 1} is {ours['losses'][step]:.7f} instead of {losses[step]:.7f}")
        seen |= bool(np.any(np.abs(fault_losses - losses) > bound))

    for name, value in aim.items():
        found = ours["after"].get(name, ours["after"].get(names.get(name)))  # an Identity's name, or one found by values
        if found is None:
            problems.append(f"{name} is not trained")
            continue
        written = ours["written"].get(name, ours["written"].get(names.get(name)))
        if name in names and (written is None or written.shape != stored[names[name]].shape):
            problems.append(f"{name} is {'not there' if written is None else list(written.shape)} in what was written, {list(stored[names[name]].shape)} in the file")
        found = as_in_pytorch(found, value, value)
        if found is None:
            problems.append(f"{name} has another size")
            continue
        limit = FACTOR * max(np.abs(run[1][name] - value).max() for run in neighbours) + EPS * np.abs(value).max() + 1e-30
        error = np.abs(found - value).max()
        shares.append(error / limit)
        if not error <= limit:
            problems.append(f"{name} is off by {error:.1e}, {error / limit:.1f} of its bound")
        seen |= bool(np.abs(fault[name] - value).max() > limit)
    extra = sorted(set(ours["after"]) - set(names.values()) - set(aim))
    if extra:
        problems.append(f"trained, and not by PyTorch: {', '.join(extra)}")
    if not seen:
        problems.append("a rate that is a hundredth larger would not be found")
    return problems, {"tensors": len(trained), "numbers": numbers, "first": losses[0], "last": losses[-1], "share": float(np.max(shares))}


def record(rows, level):
    text = (f"{level} of {len(rows)} small networks are level after 20 steps (`bench/peers/train_exports.py`, `make bench-train-parity`): as many tensors and "
            "numbers are trained as in PyTorch, and losses, weights and running statistics lie within four times what one rounding of the weights before "
            "each step makes of PyTorch's own.\n\n")
    results.write_section("Training beside PyTorch, from exports",
                          text + results.table(["network, exporter", "tensors", "numbers", "first loss", "last loss", "largest share of a bound"], rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", default="")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(args.threads)
    rows, found, level = [], [], 0
    for case in CASES:
        if args.only not in case.name:
            continue
        problems, facts = compare(args.hone, case, args.steps, args.threads)
        level += not problems
        share = f"{facts['share']:.2f}" if facts else "-"
        print(f"{case.name:38} {'level' if not problems else 'NOT LEVEL':9} largest share of a bound {share}", flush=True)
        for line in problems:
            print("   ", line)
        found.append({"name": case.name, "problems": problems, **facts})
        rows.append([case.name, *([facts["tensors"], facts["numbers"], f"{facts['first']:.4f}", f"{facts['last']:.4f}", share] if facts else "-" * 5)])
    print(f"{level} of {len(found)} level")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(found, indent=1) + "\n")
    if args.record:
        record(rows, level)
    raise SystemExit(0 if level == len(found) else 1)


if __name__ == "__main__":
    main()
