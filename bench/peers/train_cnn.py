"""Trains a small CNN on Fashion-MNIST (Debian's package dataset-fashion-mnist) and writes, into a folder, cnn.onnx with
calibration.npz (1,024 training images) and test.npz (10,000 test images), each with `images` and `labels`.

    build/venv/bin/python bench/peers/train_cnn.py build/models/fashion-cnn
"""
import gzip
import pathlib
import sys

import numpy as np
import torch
from torch import nn

SOURCE = pathlib.Path("/usr/share/datasets/fashion-mnist")


def read(kind):
    with gzip.open(SOURCE / f"{kind}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(SOURCE / f"{kind}-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return ((images / 255.0 - 0.286) / 0.353).astype(np.float32), labels.astype(np.int64)


def block(inputs, outputs, stride):
    return [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]


def network():
    return nn.Sequential(*block(1, 32, 1), *block(32, 32, 2), *block(32, 64, 1), *block(64, 64, 2), *block(64, 128, 1),
                         *block(128, 128, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 64), nn.ReLU(),
                         nn.Linear(64, 10))


def accuracy(model, images, labels):
    model.eval()
    with torch.inference_mode():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in zip(images.split(1000), labels.split(1000)))
    return right / len(labels)


def main(folder, epochs=4, batch=128):
    torch.manual_seed(1)
    torch.set_num_threads(2)
    train, test = read("train"), read("t10k")
    images, labels = map(torch.from_numpy, train)
    model = network()
    steps = len(images) // batch
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, epochs * steps)
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(len(images))
        for i in range(steps):
            x, y = images[order[i * batch:(i + 1) * batch]], labels[order[i * batch:(i + 1) * batch]]
            if i % 2:
                x = x.flip(3)
            loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch + 1}: test accuracy {accuracy(model, *map(torch.from_numpy, test)):.4f}", flush=True)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "calibration.npz", images=train[0][:1024], labels=train[1][:1024])
    np.savez(folder / "test.npz", images=test[0], labels=test[1])
    torch.onnx.export(model.eval(), (images[:1],), folder / "cnn.onnx", input_names=["images"], output_names=["logits"],
                      dynamic_shapes={"input": {0: torch.export.Dim("N")}}, external_data=False)


if __name__ == "__main__":
    main(sys.argv[1])
