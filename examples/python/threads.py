"""Many threads on one session: each call has memory of its own, and other threads of Python go on meanwhile.

python examples/python/threads.py
"""

from concurrent.futures import ThreadPoolExecutor

import hone
import numpy as np


def network(size: int) -> hone.Graph:
    rng = np.random.default_rng(0)
    graph = hone.Graph("layers")
    x = graph.add_input("x", f"f32[B,{size}]")
    for layer in range(4):
        weight = rng.standard_normal((size, size), dtype=np.float32) / np.float32(np.sqrt(size))
        x = graph.op("relu", graph.op("linear", x, graph.add_constant(weight, f"layers.{layer}.weight")))
    graph.add_output(x, "y")
    return graph


def main() -> None:
    session = hone.compile(network(256))
    requests = [np.full((rows, 256), rows, np.float32) for rows in range(1, 33)]
    expected = [session(x).y for x in requests]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda x: session(x).y, requests))
    assert all(np.array_equal(a, b) for a, b in zip(answers, expected))
    print(f"{len(answers)} answers are what one thread computes")


if __name__ == "__main__":
    main()
