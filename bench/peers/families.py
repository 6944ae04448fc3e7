"""Small folders of every family of Hugging Face models, with what transformers computes on them: the goldens of tests/data/families.

usage: families.py FOLDER [--only TEXT]...

Each case is a folder as save_pretrained writes it, and golden.safetensors beside it: the inputs as "in.NAME", and the outputs as "out.NAME" in f64, computed
in f64, each with "bound.NAME": how far an f32 computation of the same may lie from it, as it follows from what rounding costs PyTorch on this very folder.
Weights are strict: every tensor is drawn (norms, biases and running statistics too), wide enough for outputs of order 1 to 5, so that a scale, an
order or a position that is wrong shows. Families register themselves in families_*.py.
"""
import argparse
import dataclasses
import hashlib
import os
import pathlib
import shutil
import sys
from collections.abc import Callable

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
import transformers
from safetensors.numpy import save_file

MOST_BYTES = 100_000  # of a golden's folder
# Sums in another order round elsewhere: no more than so many times what PyTorch's own f32 loses, and two roundings of the largest value at least. Bounds of the
# worst case, carried through each node, exceed the values after two layers.
SLACK, LEAST = 8, 2.0**-22


@dataclasses.dataclass
class Case:
    name: str
    make: Callable[[], torch.nn.Module]
    inputs: Callable[[np.random.Generator], dict]  # name -> array
    outputs: dict  # our name -> attribute of the model's output, or a function of the model and its inputs
    call: dict = dataclasses.field(default_factory=dict)  # further arguments of forward()
    processor: object = None  # saved beside the model
    largest: float = 12.0  # outputs must reach 0.25 and stay below


CASES: list[Case] = []


def seed_of(*parts):
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8], "little")


def strict(case, name, shape):
    """A tensor of normal or uniform numbers by what it is: the sum over a row of inputs keeps its size."""
    rng = np.random.default_rng(seed_of(case, name))
    if name.endswith("num_batches_tracked"):
        return None
    if name.endswith("running_var"):
        return rng.uniform(0.5, 1.5, shape)
    if name.endswith("running_mean"):
        return rng.normal(0, 0.3, shape)
    if name.endswith("logit_scale"):
        return np.array(1.3)
    if name.endswith("bias") or name.endswith("position_bias"):
        return rng.normal(0, 0.3, shape)
    if len(shape) < 2:  # norms and scales of layers, either sign
        return rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape, p=[0.2, 0.8])
    if "embed" in name and "projection" not in name and "patch" not in name or "token" in name or "attn_bias" in name:
        return rng.normal(0, 0.8, shape)
    return rng.normal(0, 1.4 / np.sqrt(np.prod(shape[1:])), shape)


def draw(case, model):
    state = model.state_dict()
    for name, old in state.items():
        if not old.is_floating_point():
            continue
        new = strict(case, name, tuple(old.shape))
        if new is not None:
            state[name] = torch.from_numpy(np.asarray(new, np.float32).reshape(tuple(old.shape)))
    model.load_state_dict(state)
    return model


def settle(case, model, inputs):
    """Statistics of batch norms near those of the inputs: otherwise what deep networks give hangs on their last biases alone."""
    norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    if not norms:
        return
    for norm in norms:
        norm.train()
        norm.reset_running_stats()
        norm.momentum = None  # the mean of all batches: of this one
    with torch.no_grad():
        model(**{k: torch.from_numpy(v) for k, v in inputs.items()}, **case.call)
        for i, norm in enumerate(norms):
            rng = np.random.default_rng(seed_of(case.name, str(i)))
            norm.running_mean += norm.running_var.sqrt() * torch.from_numpy(rng.normal(0, 0.2, norm.num_features)).float()
            norm.running_var *= torch.from_numpy(rng.uniform(0.7, 1.4, norm.num_features)).float()
            norm.eval()


def outputs_of(case, model, inputs, dtype):
    tensors = {k: torch.from_numpy(v) for k, v in inputs.items()}
    model = model.to(dtype)
    tensors = {k: v.to(dtype) if v.is_floating_point() else v for k, v in tensors.items()}
    result = {}
    with torch.no_grad():
        given = None
        for name, what in case.outputs.items():
            if callable(what):
                value = what(model, tensors)
            else:
                given = model(**tensors, **case.call) if given is None else given
                value = given[what]
            result[name] = value.double().numpy()
    return result


def write(case, folder):
    torch.manual_seed(1)
    model = draw(case.name, case.make()).eval().float()
    inputs = case.inputs(np.random.default_rng(seed_of(case.name, "inputs")))
    settle(case, model, inputs)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    if case.processor is not None:
        case.processor.save_pretrained(folder)
    rounded = outputs_of(case, model, inputs, torch.float32)
    outputs = outputs_of(case, model, inputs, torch.float64)
    largest = max(np.abs(v).max() for v in outputs.values())
    if not 0.25 <= largest <= case.largest:
        raise SystemExit(f"{case.name}: outputs reach {largest}; 0.25 to {case.largest} is wanted")
    golden = {f"in.{k}": v for k, v in inputs.items()} | {f"out.{k}": v for k, v in outputs.items()}
    for name, value in outputs.items():
        lost = np.abs(rounded[name] - value).max()
        golden[f"bound.{name}"] = np.array(max(SLACK * lost, LEAST * np.abs(value).max()))
    save_file({k: np.ascontiguousarray(v) for k, v in golden.items()}, folder / "golden.safetensors")
    (folder / "generation_config.json").unlink(missing_ok=True)
    size = sum(f.stat().st_size for f in folder.iterdir())
    if size > MOST_BYTES:
        raise SystemExit(f"{case.name}: {size} bytes; at most {MOST_BYTES}")
    print(f"{case.name}: {size} bytes, outputs up to {largest:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[])
    args = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for module in sorted(pathlib.Path(__file__).parent.glob("families_*.py")):
        __import__(module.stem)
    for case in CASES:
        if not args.only or any(text in case.name for text in args.only):
            write(case, args.folder / case.name)


if __name__ == "__main__":
    sys.modules["families"] = sys.modules["__main__"]  # the tables fill one list
    main()
