"""Gradients of whole networks in hone beside PyTorch's: ResNet-18, MobileNetV3, a BERT, a block of GPT-2 and an LSTM.

Each network is exported to ONNX; hone takes one step of plain SGD with a rate of 1024 on one batch, so that the gradient is what a weight
moved by over 1024, and PyTorch computes the same in f64. The bound of each weight follows from what rounding does to this very network:
four times the largest error that PyTorch's own f32 makes against f64 over three runs, in two of which weights and inputs are moved by one
rounding, and one rounding of the weight itself over the rate. A gradient off by 1 % in its largest element must not pass.

usage: gradients.py HONE [--only NAME]... [--backend cpu|reference]                          (from the root of the checkout)
Exit code 1 when a gradient is outside its bound, or when no fault would have been found.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from safetensors.numpy import load_file
from torch import nn

RATE, CLASSES = 1024.0, 5
EPS = 2.0**-24


class Logits(nn.Module):
    """A network of Hugging Face, the mean of its features and a layer."""

    def __init__(self, body, width):
        super().__init__()
        self.body, self.classifier = body, nn.Linear(width, CLASSES)

    def forward(self, input_ids):
        return self.classifier(self.body(input_ids).last_hidden_state.mean(1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.classifier = nn.LSTM(12, 24, 2, batch_first=True, bidirectional=True), nn.Linear(48, CLASSES)

    def forward(self, x):
        return self.classifier(self.lstm(x)[0].mean(1))


def images(n, side):
    return {"x": torch.randn(n, 3, side, side)}


def words(n, length):
    return {"input_ids": torch.randint(1, 90, (n, length))}


def resnet18():
    from torchvision.models import resnet18
    return resnet18(num_classes=CLASSES), images(6, 64)


def mobilenet_v3():
    from torchvision.models import mobilenet_v3_small
    return mobilenet_v3_small(num_classes=CLASSES, dropout=0.0), images(6, 96)


def bert():
    from transformers import BertConfig, BertModel
    return Logits(BertModel(BertConfig(vocab_size=100, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96,
                                       max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                       attn_implementation="eager"), add_pooling_layer=False), 48), words(4, 20)


def gpt2_block():
    from transformers import GPT2Config, GPT2Model
    config = GPT2Config(vocab_size=100, n_embd=48, n_layer=1, n_head=4, n_positions=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                        use_cache=False, attn_implementation="eager")
    return Logits(GPT2Model(config), 48), words(4, 20)


def lstm():
    return Recurrent(), {"x": torch.randn(4, 9, 12)}


NETWORKS = {f.__name__: f for f in (resnet18, mobilenet_v3, bert, gpt2_block, lstm)}


def gradients(network, inputs, labels, dtype, moved=None):
    """By the names of weights, in f64; `moved`: a generator that moves weights and inputs by one rounding."""
    def near(value):
        if moved is None or not value.is_floating_point():
            return value
        return value * (1 + EPS * (2 * torch.randint(0, 2, value.shape, generator=moved) - 1).to(value.dtype))

    state = {name: value.clone() for name, value in network.state_dict().items()}
    network.to(dtype).train()
    network.load_state_dict({name: near(value.double()).to(dtype) if value.is_floating_point() else value for name, value in state.items()})
    network.zero_grad()
    given = [near(v.double()).to(dtype) if v.is_floating_point() else v for v in inputs.values()]
    nn.functional.cross_entropy(network(*given), labels).backward()
    found = {name: p.grad.double().numpy().copy() for name, p in network.named_parameters() if p.grad is not None}
    network.to(torch.float32).load_state_dict(state)
    return found


def step_of_hone(hone, network, inputs, labels, backend, folder):
    path, data, out = folder / "model.onnx", folder / "data.npz", folder / "out.safetensors"
    network.eval()
    torch.onnx.export(network, tuple(inputs.values()), str(path), input_names=list(inputs), output_names=["logits"], dynamo=True,
                      opset_version=18, external_data=False, verbose=False, optimize=False,
                      dynamic_shapes=tuple({0: torch.export.Dim.DYNAMIC} for _ in inputs))
    np.savez(data, y=labels.numpy(), **{name: value.numpy() for name, value in inputs.items()})
    done = subprocess.run([hone, "train", path, "--data", data, "--label", "y", "--head", "keep", "--optimizer", "sgd", "--rate", str(RATE),
                           "--decay", "0", "--batch", str(len(labels)), "--steps", "1", "--schedule", "constant",
                           *(f"--classes={i}" for i in range(CLASSES)), "--backend", backend, "-o", out], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"hone train: {done.stderr}")
    return load_file(out)


def gradient_of(name, before, after, exact):
    """What hone has moved, in PyTorch's layout; None where the export has the weight under another name or in another shape.

    Products may keep a matrix turned: of a square one, the side that is nearer to the gradient counts.
    """
    value = after.get(name)
    if value is None:
        return None
    sides = [side for side in (value, value.T) if side.shape == before.shape]
    moved = [(before.astype(np.float64) - side.astype(np.float64)) / RATE for side in sides]
    return min(moved, key=lambda m: np.abs(m - exact).max()) if moved else None


def as_exported(arrays, after):
    """Weights of PyTorch's LSTMs as ONNX has them, directions together and gates in its order; biases under the names that folding gives."""
    def gates(a):  # input, forget, cell, output -> input, output, forget, cell
        return np.concatenate([np.split(a, 4)[i] for i in (0, 3, 1, 2)])

    made = {name: a for name, a in arrays.items() if not name.startswith("lstm.")}
    biases = sorted((name for name in after if name.startswith("val_")), key=lambda name: int(name[4:]))
    for layer in range(sum(name.startswith("lstm.weight_ih") for name in arrays) // 2):
        def both(kind):
            return [gates(arrays[f"lstm.{kind}_l{layer}{end}"]) for end in ("", "_reverse")]

        made |= {f"lstm.{kind}_l{layer}.folded": np.stack(both(kind)) for kind in ("weight_ih", "weight_hh")}
        made[biases[layer]] = np.concatenate([np.stack(both("bias_ih")), np.stack(both("bias_hh"))], 1)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone", type=pathlib.Path)
    parser.add_argument("--only", action="append", choices=list(NETWORKS))
    parser.add_argument("--backend", default="cpu", choices=["cpu", "reference"])
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    failed = False
    for label in args.only or NETWORKS:
        torch.manual_seed(1)
        network, inputs = NETWORKS[label]()
        labels = torch.arange(len(next(iter(inputs.values())))) % CLASSES
        before = {name: p.detach().numpy().copy() for name, p in network.named_parameters()}
        exact = gradients(network, inputs, labels, torch.float64)
        f32 = [gradients(network, inputs, labels, torch.float32, moved) for moved in (None, *(torch.Generator().manual_seed(i) for i in (1, 2)))]
        with tempfile.TemporaryDirectory() as folder:
            after = step_of_hone(args.hone, network, inputs, labels, args.backend, pathlib.Path(folder))
        exact, before, *f32 = (as_exported(arrays, after) for arrays in (exact, before, *f32))
        worst, outside, missing, compared, blind = (0.0, ""), [], [], 0, []
        for name, gradient in exact.items():
            found = gradient_of(name, before[name], after, gradient)
            if found is None:
                missing.append(name)
                continue
            compared += gradient.size
            rounding = max(np.abs(run[name] - gradient).max() for run in f32)
            bound = 4 * max(rounding, EPS * np.abs(gradient).max()) + EPS * np.abs(before[name]).max() / RATE
            error = np.abs(found - gradient).max()
            worst = max(worst, (error / bound, name))
            if not error <= bound:
                outside.append(f"{name}: {error:.2e}, bound {bound:.2e}, largest {np.abs(gradient).max():.2e}")
            if np.abs(gradient).max() * 0.01 <= bound:
                blind.append(name)
        all_weights = sum(g.size for g in exact.values())
        print(f"{label:14} {compared:9} of {all_weights} weights compared; largest error {worst[0]:.2f} of its bound ({worst[1]}); "
              f"{len(blind)} of {len(exact)} tensors too small for a fault of 1 %", flush=True)
        for line in outside[:8]:
            print("   outside:", line)
        if missing:
            print("   not compared, named otherwise in the export:", ", ".join(missing[:6]))
        failed |= bool(outside) or compared < 0.5 * all_weights or len(blind) > len(exact) / 2
    return failed


sys.exit(main())
