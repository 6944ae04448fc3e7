"""ResNet and MobileNetV3 in plain torch under torchvision's names, with the weights of a model that `hone build` wrote."""
import json

import torch
from safetensors.torch import load_file
from torch import nn


class Residual(nn.Module):
    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = width * (4 if bottleneck else 1)
        shapes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)] if bottleneck else [
            (inputs, width, 3, stride), (width, width, 3, 1)]
        self.parts = len(shapes)
        for i, (a, b, kernel, step) in enumerate(shapes, 1):
            setattr(self, f"conv{i}", nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(b))
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for i in range(1, self.parts + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.parts:
                y = torch.relu(y)
        return torch.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, bottleneck = config["widths"][0], config["block"] == "bottleneck"
        self.small = config["stem"] == "small"
        kernel, stride = (3, 1) if self.small else (7, 2)
        self.conv1 = nn.Conv2d(config["num_channels"], width, kernel, stride, kernel // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        channels, self.stages = width, len(config["depths"])
        for stage, (depth, width) in enumerate(zip(config["depths"], config["widths"])):
            blocks = []
            for block in range(depth):
                blocks.append(Residual(channels, width, 2 if stage > 0 and block == 0 else 1, bottleneck))
                channels = width * (4 if bottleneck else 1)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(channels, config["num_classes"])

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        if not self.small:
            x = nn.functional.max_pool2d(x, 3, 2, 1)
        for stage in range(1, self.stages + 1):
            x = getattr(self, f"layer{stage}")(x)
        return self.fc(x.mean((2, 3)))


def normed(inputs, outputs, kernel, stride=1, groups=1, activation=None):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs, eps=1e-3)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


class Squeeze(nn.Module):
    def __init__(self, channels):
        super().__init__()
        quarter = channels // 4
        squeezed = max(8, (quarter + 4) // 8 * 8)
        squeezed += 8 if squeezed < .9 * quarter else 0
        self.fc1, self.fc2 = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        return x * nn.functional.hardsigmoid(self.fc2(torch.relu(self.fc1(x.mean((2, 3), keepdim=True)))))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, kernel, wide, outputs, squeezes, activation, stride):
        super().__init__()
        act = {"relu": nn.ReLU, "hardswish": nn.Hardswish}[activation]
        layers = [normed(inputs, wide, 1, activation=act)] if wide != inputs else []
        layers.append(normed(wide, wide, kernel, stride, wide, act))
        layers += [Squeeze(wide)] if squeezes else []
        self.block = nn.Sequential(*layers, normed(wide, outputs, 1))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.block(x) if self.adds else self.block(x)


class MobileNetV3(nn.Module):
    def __init__(self, config):
        super().__init__()
        channels = config["stem_width"]
        features = [normed(config["num_channels"], channels, 3, 2, activation=nn.Hardswish)]
        for row in config["blocks"]:
            features.append(InvertedResidual(channels, *row))
            channels = row[2]
        features.append(normed(channels, 6 * channels, 1, activation=nn.Hardswish))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Linear(6 * channels, config["hidden_size"]), nn.Hardswish(), nn.Dropout(.2),
                                        nn.Linear(config["hidden_size"], config["num_classes"]))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def load(path):
    """The network of a file that `hone build` wrote, ready for inference."""
    tensors = load_file(path)
    config = json.loads(bytes(tensors["hone.file.config.json"].numpy()))
    model = {"ResNet": ResNet, "MobileNetV3": MobileNetV3}[config["architectures"][0]](config)
    state = {name: t for name, t in tensors.items() if not name.startswith("hone.file.")}
    result = model.load_state_dict(state, strict=False)
    missing = [name for name in result.missing_keys if not name.endswith("num_batches_tracked")]
    if missing or result.unexpected_keys:
        raise SystemExit(f"{path}: missing {missing}, unexpected {result.unexpected_keys}")
    return model.eval()
