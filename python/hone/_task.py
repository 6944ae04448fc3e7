"""How functions of tasks, whose keywords are options, call the module."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from hone._hone import Graph, Model, Session, Tensor
from hone._outputs import Outputs
from hone.typing import ArrayLike

Told: TypeAlias = Callable[[str], object] | None
Progress: TypeAlias = bool | Told
Data: TypeAlias = str | os.PathLike[str] | Mapping[str, ArrayLike] | None
Result = TypeVar("Result")


def made(function: Callable[..., Result], given: dict[str, Any]) -> Result:
    """Calls function(model, options) with what a signature was given."""
    options = dict(given)
    return function(_checked(options.pop("model"), (Model, Graph)), options)


def run_once(function: Callable[..., Session], given: dict[str, Any]) -> Outputs:
    """Calls run(inputs) of the session that function(model, options) makes."""
    options = dict(given)
    inputs = options.pop("inputs")
    return made(function, options).run(inputs)


def run_task(function: Callable[..., Result], given: dict[str, Any]) -> Result:
    """Calls function(value, options, progress, warning) with what a signature was given."""
    options = dict(given)
    progress, warning = options.pop("progress"), options.pop("warning")
    value = _models(options.pop("models")) if "models" in options else _checked(options.pop("model"), (Model,))
    with _files_of_arrays(options):
        if progress is True:
            return _with_bar(function, value, options, warning)
        return function(value, options, progress or None, warning)


@contextmanager
def _files_of_arrays(options: dict[str, Any]) -> Iterator[None]:
    """Arrays by name that are given where a file may stand, as a file."""
    arrays = {name: value for name, value in options.items() if isinstance(value, Mapping)}
    if not arrays:
        yield
        return
    from tempfile import TemporaryDirectory

    import numpy

    with TemporaryDirectory() as folder:
        for name, named in arrays.items():
            options[name] = os.path.join(folder, f"{name}.npz")
            contents: dict[str, Any] = {key: Tensor(array).numpy() for key, array in named.items()}
            numpy.savez(options[name], allow_pickle=False, **contents)
        yield


def _checked(model: object, types: tuple[type, ...]) -> object:
    if isinstance(model, types):
        return model
    names = " or ".join(f"hone.{t.__name__}" for t in types)
    raise TypeError(f"model: expected a {names}, found {type(model).__name__}; hone.load(path) opens one")


def _models(models: object) -> list[object]:
    several = models if isinstance(models, Sequence) else [models]
    return [_checked(model, (Model,)) for model in several]


def _with_bar(function: Callable[..., Result], value: object, options: dict[str, Any], warning: Told) -> Result:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ModuleNotFoundError:
        raise ModuleNotFoundError("progress=True needs the package tqdm; progress may be a function, too") from None
    with tqdm(unit="step") as bar:

        def show(next_step: str) -> None:
            bar.set_description_str(next_step)
            bar.update()

        return function(value, options, show, warning)
