"""Models and their files."""

import os
from collections.abc import Sequence

from hone import _hone
from hone._hone import Graph, Model, SavedModel


def load(path: str | os.PathLike[str], format: str | None = None, inputs: Sequence[str] = ()) -> Model:
    """A model of a Hugging Face folder, an ONNX file, a GGUF file or a file that hone wrote.

    `format` is the name of an importer, where files do not tell; `inputs` are what the graph takes, where files leave
    that open. Weights stay in their files until they are read: the files must not change.
    """
    return _hone._load(os.fspath(path), format or "", list(inputs))


def save(model: Model | Graph, path: str | os.PathLike[str]) -> SavedModel:
    """Writes a model, or a graph by itself, into one file, by the path's ending: ".safetensors" or ".onnx".

    It is opened again and compared before it is put in its place.
    """
    return (model if isinstance(model, Model) else Model(model)).save(os.fspath(path))
