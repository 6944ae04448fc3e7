"""Small networks, with inputs for each."""

import torch
from torch import nn


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.groups, self.head = nn.Conv2d(8, 16, 3, stride=2), nn.GroupNorm(4, 16), nn.Linear(16, 5)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.first(x))), 2)
        x = nn.functional.silu(self.groups(self.second(x)))
        return self.head(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Upsampling(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 8, 3, padding=1, stride=2), nn.ConvTranspose2d(8, 4, 2, stride=2)

    def forward(self, x):
        y = self.down(x)
        wide = nn.functional.interpolate(y, scale_factor=2, mode="nearest")
        return torch.cat([self.up(nn.functional.gelu(y)), wide], 1).softmax(1), y.mean((2, 3))


class Encoder(nn.Module):
    """Two layers of self-attention with a mask, and a classifier."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 32, padding_idx=0)
        layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, activation="gelu", batch_first=True)
        self.layers, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, 4)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return self.head(self.layers(self.table(ids), mask=mask).mean(1))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.LayerNorm(32), nn.Linear(32, 6))

    def forward(self, x, labels):
        logits = self.layers(x)
        return nn.functional.cross_entropy(logits, labels), logits


def networks():
    torch.manual_seed(0)
    return {
        "convolutional": (Convolutional(), (torch.randn(2, 3, 16, 16),)),
        "upsampling": (Upsampling(), (torch.randn(2, 3, 16, 16),)),
        "encoder": (Encoder(), (torch.randint(0, 50, (2, 9)),)),
        "classifier": (Classifier(), (torch.randn(4, 16), torch.tensor([1, 5, -100, 0]))),
    }
