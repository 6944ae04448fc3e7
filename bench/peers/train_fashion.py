"""The CNN of train_cnn.py on Fashion-MNIST in PyTorch, for a comparison with `hone train` (bench/training.py): AdamW whose biases and norms do not
decay, one-cycle rate, label smoothing, images mirrored as often as not, each batch in one part. Prints a JSON line.

usage: train_fashion.py start SEED OUT.onnx            the network as it begins, without anything folded
       train_fashion.py train SEED EPOCHS [--threads 2]   training and the accuracy on the test images
"""
import argparse
import json
import time

import torch
from torch import nn

from train_cnn import accuracy, network, read

BATCH, RATE, DECAY, SMOOTHING = 128, 4e-3, 0.01, 0.05


def seeded(seed):
    torch.manual_seed(seed)
    return network()


def write_start(seed, path):
    torch.onnx.export(seeded(seed).eval(), (torch.zeros(2, 1, 28, 28),), path, input_names=["images"], output_names=["logits"],
                      dynamic_shapes={"input": {0: torch.export.Dim("N")}}, external_data=False, optimize=False, verbose=False)


def train(seed, epochs):
    images, labels = map(torch.from_numpy, read("train"))
    model = seeded(seed)
    weights = list(model.parameters())
    optimizer = torch.optim.AdamW([{"params": [w for w in weights if w.dim() > 1], "weight_decay": DECAY},
                                   {"params": [w for w in weights if w.dim() < 2], "weight_decay": 0.0}])
    steps = -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, epochs * steps, cycle_momentum=False)
    begin = time.perf_counter()
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(images)).split(BATCH):
            x = images[rows]
            x = torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x.flip(3), x)
            loss = nn.functional.cross_entropy(model(x), labels[rows], label_smoothing=SMOOTHING)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    seconds = time.perf_counter() - begin
    print(json.dumps({"accuracy": accuracy(model, *map(torch.from_numpy, read("t10k"))), "seconds": seconds}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["start", "train"])
    parser.add_argument("seed", type=int)
    parser.add_argument("more", help="OUT.onnx, or EPOCHS")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.what == "start":
        write_start(args.seed, args.more)
    else:
        train(args.seed, int(args.more))


if __name__ == "__main__":
    main()
