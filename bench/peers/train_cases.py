"""Small seeded networks for train_exports.py: one idea each. A case is a function that gives a module and its inputs for `rows` rows.

The decorator says how it is exported ("dynamo", "legacy", or both: two cases), whether sizes beside the batch are open, with which optimizer it
is trained, and what hone is told to freeze: tables that the module does not train, which a file can't tell from weights.
"""
import dataclasses
import math
from typing import Callable

import torch
from torch import nn
from torch.nn import functional as F

CLASSES = 5


@dataclasses.dataclass
class Case:
    name: str
    make: Callable
    exporter: str
    open_sizes: bool = False
    numbers: bool = False  # one number a row instead of a class
    optimizer: str = "sgd"
    rate: float = 0.05
    frozen: tuple = ()
    training: bool = False  # exported in training mode


CASES = []


def case(*exporters, **facts):
    def note(make):
        for exporter in exporters:
            CASES.append(Case(f"{make.__name__}, {exporter}", make, exporter, **facts))
        return make
    return note


class Sized(nn.Module):
    """Features, averaged over whatever lies behind the channels, and a last layer."""

    def __init__(self, body, width, outputs=CLASSES):
        super().__init__()
        self.body, self.head = body, nn.Linear(width, outputs)

    def forward(self, x):
        return self.head(self.body(x).flatten(2).mean(2))


def rows_of(*shape):
    return lambda rows: {"x": torch.randn(rows, *shape)}


images, volumes, signals = rows_of(3, 8, 8), rows_of(2, 4, 6, 6), rows_of(3, 12)


def tokens(rows, length=7, vocabulary=20):
    return {"x": torch.randint(0, vocabulary, (rows, length))}


# --- perceptrons and regressors ------------------------------------------------------------------------------------------

@case("legacy", "dynamo", optimizer="adamw", rate=1e-2)
def perceptron(rows):
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, CLASSES)), rows_of(6)(rows)


@case("legacy", "dynamo", numbers=True)
def regressor(rows):
    """One output: its bias is one number."""
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 1)), rows_of(6)(rows)


@case("dynamo", numbers=True)
def fresh_regressor(rows):
    """Weights of ones and biases of zeros, as many models begin."""
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    nn.init.zeros_(model[0].bias), nn.init.zeros_(model[2].bias), nn.init.ones_(model[2].weight)
    return model, rows_of(6)(rows)


@case("dynamo")
def shared_layer(rows):
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.shared, self.last = nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, CLASSES)

        def forward(self, x):
            x = torch.tanh(self.first(x))
            return self.last(torch.tanh(self.shared(torch.tanh(self.shared(x)))))
    return Twice(), rows_of(6)(rows)


# --- convolutions --------------------------------------------------------------------------------------------------------

@case("legacy", "dynamo")
def conv2d(rows):
    return Sized(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3)), 8), images(rows)


@case("legacy")
def conv1d(rows):
    return Sized(nn.Sequential(nn.Conv1d(3, 8, 3, padding=2, dilation=2), nn.SiLU(), nn.AvgPool1d(2)), 8), signals(rows)


@case("legacy", "dynamo")
def conv3d(rows):
    return Sized(nn.Sequential(nn.Conv3d(2, 6, 3, padding=1), nn.ReLU(), nn.Conv3d(6, 6, (1, 3, 3), stride=(1, 2, 2))), 6), volumes(rows)


@case("dynamo")
def depthwise_conv(rows):
    return Sized(nn.Sequential(nn.Conv2d(3, 8, 1), nn.Hardswish(), nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.ReLU6(), nn.Conv2d(8, 8, 1, groups=2)),
                 8), images(rows)


@case("dynamo")
def conv_transpose(rows):
    return Sized(nn.Sequential(nn.Conv2d(3, 6, 3, stride=2), nn.ReLU(), nn.ConvTranspose2d(6, 6, 3, stride=2, padding=1, output_padding=1)), 6), images(rows)


@case("legacy")
def conv_transpose_1d(rows):
    return Sized(nn.Sequential(nn.ConvTranspose1d(3, 6, 4, stride=2, groups=3), nn.ReLU()), 6), signals(rows)


# --- norms ---------------------------------------------------------------------------------------------------------------

@case("dynamo")
def batch_norm(rows):
    return Sized(nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, bias=False), nn.BatchNorm2d(8)), 8), images(rows)


@case("legacy", training=True)
def batch_norm_in_training_mode(rows):
    return Sized(nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU()), 8), images(rows)


@case("legacy", training=True)
def conv3d_batch_norm(rows):
    return Sized(nn.Sequential(nn.Conv3d(2, 6, 3, padding=1, bias=False), nn.BatchNorm3d(6), nn.ReLU()), 6), volumes(rows)


@case("legacy", "dynamo")
def group_norm(rows):
    return Sized(nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.ReLU()), 8), images(rows)


@case("legacy", "dynamo")
def instance_norm(rows):
    return Sized(nn.Sequential(nn.Conv2d(3, 8, 3), nn.InstanceNorm2d(8, affine=True), nn.ReLU(), nn.Conv2d(8, 8, 3)), 8), images(rows)


@case("legacy", "dynamo", optimizer="adamw", rate=1e-2)
def layer_norm(rows):
    return nn.Sequential(nn.Linear(6, 12), nn.LayerNorm(12), nn.ReLU(), nn.Linear(12, CLASSES)), rows_of(6)(rows)


@case("dynamo")
def norm_by_hand(rows):
    """Root mean square and a scale of ones, as language models write it; a fresh scale and shift of a layer behind it."""
    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(6, 12), nn.Linear(12, CLASSES)
            self.scale, self.gain, self.shift = nn.Parameter(torch.ones(12)), nn.Parameter(torch.ones(12)), nn.Parameter(torch.zeros(12))

        def forward(self, x):
            x = self.first(x)
            x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
            return self.last(torch.tanh(x) * self.gain + self.shift)
    return Norm(), rows_of(6)(rows)


# --- activations and tables ----------------------------------------------------------------------------------------------

@case("dynamo")
def prelu(rows):
    return Sized(nn.Sequential(nn.Conv2d(3, 8, 3), nn.PReLU(8), nn.Conv2d(8, 8, 3), nn.PReLU()), 8), images(rows)


@case("legacy")
def prelu_of_one(rows):
    return nn.Sequential(nn.Linear(6, 8), nn.PReLU(), nn.Linear(8, CLASSES)), rows_of(6)(rows)


class Table(nn.Module):
    def __init__(self, body=None, width=12, tied=False):
        super().__init__()
        self.table = nn.Embedding(CLASSES if tied else 20, width)
        self.body = body or nn.Identity()
        self.head = nn.Linear(width, CLASSES, bias=not tied)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, x):
        return self.head(self.body(self.table(x)).mean(1))


@case("legacy", "dynamo")
def embedding(rows):
    return Table(), tokens(rows)


@case("legacy", "dynamo")
def tied_table(rows):
    return Table(nn.Sequential(nn.Linear(12, 12), nn.Tanh()), tied=True), tokens(rows, vocabulary=CLASSES)


@case("dynamo", optimizer="adamw", rate=1e-2)
def positions(rows):
    """A table of positions that is added, and scales that begin as 1e-2."""
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.places, self.scale, self.layer = nn.Parameter(0.1 * torch.randn(1, 7, 12)), nn.Parameter(torch.full((12,), 1e-2)), nn.Linear(12, 12)

        def forward(self, x):
            x = x + self.places
            return x + self.scale * torch.tanh(self.layer(x))
    return Table(Positions()), tokens(rows)


# --- recurrent layers ----------------------------------------------------------------------------------------------------

class Recurrent(nn.Module):
    def __init__(self, layer, width):
        super().__init__()
        self.layer, self.head = layer, nn.Linear(width, CLASSES)

    def forward(self, x):
        return self.head(self.layer(x)[0].mean(1))


@case("legacy")
def lstm(rows):
    return Recurrent(nn.LSTM(4, 6, batch_first=True, bidirectional=True), 12), rows_of(5, 4)(rows)


@case("legacy", "dynamo")
def gru(rows):
    return Recurrent(nn.GRU(4, 6, 2, batch_first=True), 6), rows_of(5, 4)(rows)


@case("legacy")
def rnn(rows):
    return Recurrent(nn.RNN(4, 6, batch_first=True), 6), rows_of(5, 4)(rows)


# --- attention -----------------------------------------------------------------------------------------------------------

class Rotary(nn.Module):
    """Attention whose queries and keys are turned by tables of angles, which are buffers."""

    def __init__(self, width=12, heads=2, length=7):
        super().__init__()
        self.heads, side = heads, width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        angles = torch.outer(torch.arange(length).float(), 100.0 ** (-torch.arange(0, side, 2).float() / side)).repeat(1, 2)
        self.register_buffer("cos", angles.cos()), self.register_buffer("sin", angles.sin())

    def forward(self, x):
        def heads(y):
            return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        def turned(y):
            a, b = y.chunk(2, -1)
            return y * self.cos + torch.cat((-b, a), -1) * self.sin
        q, k, v = turned(heads(self.q(x))), turned(heads(self.k(x))), heads(self.v(x))
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1)
        return (weights @ v).transpose(1, 2).flatten(2)


@case("legacy", "dynamo", optimizer="adamw", rate=1e-2, frozen=("cos|sin=frozen",))
def rotary_attention(rows):
    return Table(Rotary()), tokens(rows)


@case("legacy", optimizer="adamw", rate=1e-3)
def transformer_layer(rows):
    return Table(nn.TransformerEncoderLayer(12, 2, 24, dropout=0.0, batch_first=True)), tokens(rows)


@case("legacy", "dynamo", optimizer="adamw", rate=1e-3, open_sizes=True)
def attention_of_open_length(rows):
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.bias = nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, 12), nn.Parameter(torch.zeros(1, 32, 12))

        def forward(self, x):
            x = x + self.bias[:, :x.shape[1]]
            return torch.softmax(self.q(x) @ self.k(x).transpose(-1, -2) / math.sqrt(12), -1) @ self.v(x)
    return Table(Attention()), tokens(rows)


# --- resized maps --------------------------------------------------------------------------------------------------------

def conv(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 3, stride, 1)


class UNet(nn.Module):
    """One level: down, up to the size of what it is joined with, and joined."""

    def __init__(self, mode):
        super().__init__()
        self.mode, self.down, self.deep, self.up = mode, conv(3, 6), conv(6, 6, 2), conv(12, 6)

    def forward(self, x):
        side = torch.relu(self.down(x))
        deep = torch.relu(self.deep(side))
        more = {} if self.mode == "nearest" else {"align_corners": False}
        return self.up(torch.cat((F.interpolate(deep, size=side.shape[-2:], mode=self.mode, **more), side), 1))


class Pyramid(nn.Module):
    """A lateral map and an upsampled one, added."""

    def __init__(self):
        super().__init__()
        self.fine, self.coarse, self.lateral = conv(3, 6), conv(6, 6, 2), nn.Conv2d(6, 6, 1)

    def forward(self, x):
        fine = torch.relu(self.fine(x))
        return self.lateral(fine) + F.interpolate(self.coarse(fine), size=fine.shape[-2:])


@case("legacy", "dynamo", open_sizes=True)
def unet_nearest(rows):
    return Sized(UNet("nearest"), 6), images(rows)


@case("legacy", "dynamo", open_sizes=True)
def unet_bilinear(rows):
    return Sized(UNet("bilinear"), 6), images(rows)


@case("legacy", "dynamo", open_sizes=True)
def pyramid(rows):
    return Sized(Pyramid(), 6), images(rows)


class Upsampled(nn.Module):
    def __init__(self, layer, **how):
        super().__init__()
        self.layer, self.how = layer, how

    def forward(self, x):
        return F.interpolate(self.layer(x), scale_factor=2, **self.how).pow(2)


@case("dynamo", rate=0.01)
def upsampled_bicubic(rows):
    return Sized(Upsampled(conv(3, 6), mode="bicubic"), 6), images(rows)


@case("dynamo", rate=0.01)
def upsampled_trilinear(rows):
    return Sized(Upsampled(nn.Conv3d(2, 6, 3), mode="trilinear"), 6), volumes(rows)


@case("legacy", rate=0.01)
def upsampled_linear(rows):
    return Sized(Upsampled(nn.Conv1d(3, 6, 3), mode="linear", align_corners=True), 6), signals(rows)


# --- moved and chosen ----------------------------------------------------------------------------------------------------

@case("dynamo")
def padded_by_reflection(rows):
    return Sized(nn.Sequential(nn.Conv2d(3, 6, 3, padding=1, padding_mode="reflect"), nn.ReLU(), nn.ReplicationPad2d(1), nn.Conv2d(6, 6, 3)), 6), images(rows)


@case("legacy")
def padded_circularly(rows):
    return Sized(nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1, padding_mode="circular")), 6), images(rows)


@case("legacy", open_sizes=True)
def flipped(rows):
    class Flipped(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = conv(3, 6)

        def forward(self, x):
            y = torch.relu(self.layer(x))
            return y + 0.5 * torch.flip(y, (-1,)) * y[:, :, :, :1]
    return Sized(Flipped(), 6), images(rows)


@case("dynamo")
def shuffled_pixels(rows):
    return Sized(nn.Sequential(conv(3, 8), nn.PixelShuffle(2), nn.Tanh(), nn.Conv2d(2, 6, 3)), 6), images(rows)


class Branch(nn.Module):
    """Either of two layers, by the sum of the first one's result; weights are read inside the branches."""

    def __init__(self):
        super().__init__()
        self.first, self.one, self.other = nn.Linear(6, 8), nn.Linear(8, CLASSES), nn.Linear(8, CLASSES)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        if bool(x.sum() > 0):
            y = self.one(x)
        else:
            y = self.other(x)
        return y


@case("legacy")
def branches(rows):
    return torch.jit.script(Branch()), rows_of(6)(rows)
