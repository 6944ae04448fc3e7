"""Tensors, graphs and models in pickles: elements as bytes, models as the file that save() writes."""

import copyreg
import os
from typing import Any

from hone import _hone
from hone._hone import Graph, Model, Tensor


def _tensor(dtype: str, shape: tuple[int, ...], elements: bytes) -> Tensor:
    return _hone._tensor_of_bytes(dtype, shape, elements)


def _texts(shape: tuple[int, ...], elements: list[str]) -> Tensor:
    return (Tensor(elements) if elements else Tensor([], dtype="string")).reshape(shape)


def _packed(format: str, shape: tuple[int, ...], planes: dict[str, bytes]) -> Tensor:
    return _hone._packed_of_planes(
        format, shape, planes["codes"], planes["scales"], planes["zero_points"], planes["global"]
    )


def _reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    if tensor.is_packed:
        planes = {name: plane.tobytes() for name, plane in _hone._planes(tensor).items()}
        return _packed, (tensor.format, tensor.shape, planes)
    if tensor.dtype == "string":
        return _texts, (tensor.shape, tensor.reshape([tensor.size]).tolist())
    return _tensor, (tensor.dtype, tensor.shape, tensor.tobytes())


def _model(content: bytes) -> Model:
    """The file may go: the model keeps what it has mapped."""
    from tempfile import TemporaryDirectory  # loads much, which few need

    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        with open(path, "wb") as file:
            file.write(content)
        return _hone._load(path, "", [])


def _graph(content: bytes) -> Graph:
    return _model(content).graph


def _content(model: Model) -> bytes:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        model.save(path)
        with open(path, "rb") as file:
            return file.read()


copyreg.pickle(Tensor, _reduce_tensor)
copyreg.pickle(Model, lambda model: (_model, (_content(model),)))
copyreg.pickle(Graph, lambda graph: (_graph, (_content(Model(graph)),)))
