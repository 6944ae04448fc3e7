"""Makes trained neural networks smaller and faster, and measures them.

    import hone
    model = hone.load("all-MiniLM-L6-v2")
    small = hone.quantize(model, "mxint8").model
    y = small(**small.text_inputs(["a text"]))
    hone.save(small, "small.safetensors")

Nothing here prints, ends the process, or loads NumPy or torch before an array of theirs is used.
"""

from hone import _pickling, _results, _tasks, typing
from hone._errors import Cancelled, Error, FormatError, InternalError, MemoryError
from hone._files import load, save
from hone._format import Format
from hone._hone import (
    Context,
    Graph,
    Model,
    Node,
    Session,
    Tensor,
    Tokenizer,
    Value,
    __version__,
    expand_formats,
    info,
    list_devices,
    list_formats,
    list_importers,
    list_ops,
    list_passes,
    op_info,
    set_log_sink,
    set_process_memory_limit,
)
from hone._outputs import Outputs
from hone._passes import run_passes
from hone._results import *  # noqa: F403
from hone._tasks import *  # noqa: F403

__all__ = [
    "Cancelled",
    "Context",
    "Error",
    "Format",
    "FormatError",
    "Graph",
    "InternalError",
    "MemoryError",
    "Model",
    "Node",
    "Outputs",
    "Session",
    "Tensor",
    "Tokenizer",
    "Value",
    "__version__",
    "expand_formats",
    "info",
    "list_devices",
    "list_formats",
    "list_importers",
    "list_ops",
    "list_passes",
    "load",
    "op_info",
    "run_passes",
    "save",
    "set_log_sink",
    "set_process_memory_limit",
    "typing",
    *_results.__all__,
    *_tasks.__all__,
]
