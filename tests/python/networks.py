"""Small models in memory, and programs in processes of their own."""

import os
import subprocess
import sys

import hone
import numpy as np


def two_layers(size: int = 64) -> hone.Graph:
    """f32[B,size] → relu of a layer → a layer of three classes."""
    rng = np.random.default_rng(1)
    graph = hone.Graph("two_layers")
    x = graph.add_input("x", f"f32[B,{size}]")
    for name, rows in (("hidden", size), ("head", 3)):
        weight = graph.add_constant(rng.standard_normal((rows, size), dtype=np.float32), f"{name}.weight")
        x = graph.op("linear", x, weight)
        if name == "hidden":
            x = graph.op("relu", x)
    graph.add_output(x, "y")
    return graph


def two_layers_in_numpy(graph: hone.Graph, x: np.ndarray) -> np.ndarray:
    hidden, head = (np.asarray(c.tensor) for c in graph.constants)
    return np.maximum(x @ hidden.T, 0) @ head.T


def long_run() -> tuple[hone.Session, dict[str, np.ndarray]]:
    """A session whose run takes many seconds, and its inputs."""
    graph = hone.Graph("long")
    x = graph.add_input("x", "f32[B]")
    for _ in range(300):
        x = graph.op("softmax", x)
    graph.add_output(x, "y")
    return hone.compile(graph, no_fusion=True, no_cache=True), {"x": np.zeros(4_000_000, np.float32)}


def python(program: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs a program of Python that has this folder and this package."""
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout, env=environment
    )
