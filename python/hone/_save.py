"""Models into files."""

import os

from hone._hone import Graph, Model, SavedModel


def save(model: Model | Graph, path: str | os.PathLike[str]) -> SavedModel:
    """Writes a model, or a graph by itself, into one file, by the path's ending: ".safetensors" or ".onnx"."""
    return (model if isinstance(model, Model) else Model(model)).save(os.fspath(path))
