"""The library hone. Import `hone`, which has all of this."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import hone._outputs
import hone.typing



class _OwnMemory:
    """The memory of an array that a run made."""

def _tensor_of_bytes(dtype: str, shape: Sequence[int], elements: bytes) -> Tensor: ...

class Tensor:
    """
    Elements of one type or number format. Made of an array, it reads that array's memory where it lies. NumPy and torch read it likewise, by the buffer protocol and by DLPack.
    """

    def __init__(self, array: hone.typing.ArrayLike, dtype: str | None = None) -> None:
        """
        Of an array, without a copy unless `dtype` is another type; or of numbers or texts in lists.
        """

    @property
    def dtype(self) -> str:
        """"f32"; what reading an element gives."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes, in elements."""

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""

    @property
    def type(self) -> str:
        """"f32[2,384]", "mxint8[30522,384]"."""

    @property
    def format(self) -> str:
        """The number format of packed elements; else empty."""

    @property
    def is_packed(self) -> bool:
        """In a number format, such as mxint8."""

    @property
    def is_read_only(self) -> bool:
        """In memory that nobody may write."""

    @property
    def size(self) -> int:
        """How many elements there are."""

    @property
    def nbytes(self) -> int:
        """Of the elements, or of all planes of a packed tensor."""

    def to(self, dtype: str) -> Tensor:
        """Each element rounded to the nearest of that type."""

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """The same elements in another shape."""

    def contiguous(self) -> Tensor:
        """Itself, or a copy in row-major order."""

    def tobytes(self) -> bytes:
        """Elements in row-major order."""

    def tolist(self) -> object:
        """Elements as numbers or texts, in lists."""

    def numpy(self) -> object:
        """
        An array of NumPy of the same memory where nobody else has it. Types that NumPy lacks need ml_dtypes.
        """

    def __dlpack__(self, *, stream: object | None = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> object:
        """The tensor for another library, without a copy."""

    def __dlpack_device__(self) -> tuple[int, int]: ...

    def __len__(self) -> int: ...

    def __repr__(self) -> str: ...

    def __copy__(self) -> Tensor: ...

    def __deepcopy__(self, memo: object) -> Tensor: ...

class MeasuredChoice:
    """One choice of formats for all weights, measured."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str:
        """"the plan", "all in mxint4\""""

    @property
    def average_bits(self) -> float:
        """of everything that is stored"""

    @property
    def bytes(self) -> int:
        """of the weights"""

    @property
    def selecting(self) -> OutputQuality: ...

    @property
    def held_out(self) -> OutputQuality: ...

class AllocatedTensor:
    """One weight of the plan, alone in its format."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str: ...

    @property
    def format(self) -> str: ...

    @property
    def bytes(self) -> int: ...

    @property
    def layer_error(self) -> float:
        """of its layer's output, relative"""

    @property
    def output_error(self) -> float:
        """of the model's outputs"""

    @property
    def is_measured(self) -> bool:
        """else the output error is an estimate"""

class AllocateResult:
    """A plan, beside one format for all and the original."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def rule(self) -> list[str]:
        """
        The plan, as QuantizeOptions has it: quantize() makes the model of these.
        """

    @property
    def skip(self) -> list[str]:
        """
        The plan, as QuantizeOptions has it: quantize() makes the model of these.
        """

    @property
    def method(self) -> str:
        """
        The plan, as QuantizeOptions has it: quantize() makes the model of these.
        """

    @property
    def activations(self) -> str:
        """
        The plan, as QuantizeOptions has it: quantize() makes the model of these.
        """

    @property
    def compute(self) -> str:
        """
        The plan, as QuantizeOptions has it: quantize() makes the model of these.
        """

    @property
    def file_bytes(self) -> int:
        """of the file that this model makes"""

    @property
    def data(self) -> str:
        """what choices were measured on, in words"""

    @property
    def metric(self) -> str:
        """what they were judged by; empty: the output error"""

    @property
    def chosen(self) -> MeasuredChoice:
        """
        The plan, as QuantizeOptions has it: quantize() makes the model of these.
        """

    @property
    def original(self) -> MeasuredChoice:
        """
        The plan, as QuantizeOptions has it: quantize() makes the model of these.
        """

    @property
    def uniform(self) -> list[MeasuredChoice]:
        """by format"""

    @property
    def front(self) -> list[MeasuredChoice]:
        """on demand: for other budgets"""

    @property
    def tensors(self) -> list[AllocatedTensor]:
        """
        The plan, as QuantizeOptions has it: quantize() makes the model of these.
        """

    @property
    def measured(self) -> int:
        """recalled: from AllocateOptions::measurements"""

    @property
    def recalled(self) -> int:
        """recalled: from AllocateOptions::measurements"""

class SpeedComparison:
    """One model beside the first."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def ratio(self) -> float:
        """the first model's time by its own: above 1 it takes less"""

    @property
    def ci95(self) -> Interval:
        """of the ratio"""

    @property
    def cosine(self) -> float:
        """of its first output with the first model's"""

    @property
    def may_claim(self) -> bool:
        """the two compute the same, so that speeds may be compared at all"""

    @property
    def verdict(self) -> str:
        """what may be said, in words"""

class TimedModel:
    """The times of one model. Nanoseconds are of one run."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str:
        """of the files of its weights"""

    @property
    def sha256(self) -> str:
        """of the files of its weights"""

    @property
    def file_bytes(self) -> int: ...

    @property
    def weight_bytes(self) -> int: ...

    @property
    def arena_bytes(self) -> int: ...

    @property
    def batch(self) -> int: ...

    @property
    def median_ns(self) -> float: ...

    @property
    def min_ns(self) -> float: ...

    @property
    def p90_ns(self) -> float: ...

    @property
    def p99_ns(self) -> float: ...

    @property
    def median_ci95_ns(self) -> Interval: ...

    @property
    def samples_ns(self) -> list[float]:
        """in the order of rounds, which all models share"""

    @property
    def comparison(self) -> SpeedComparison | None:
        """with the first model; of itself none"""

class BenchResult:
    """Several models, timed in turn."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def models(self) -> list[TimedModel]: ...

    @property
    def evaluation(self) -> EvaluateResult | None:
        """where there are data"""

    @property
    def notes(self) -> list[str]:
        """what one should know, in sentences"""

class Interval:
    """From its low to its high end, at 95 % confidence."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

class Figure:
    """One metric of one model."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str:
        """"accuracy\""""

    @property
    def title(self) -> str:
        """"accuracy\""""

    @property
    def value(self) -> float:
        """a share is from 0 to 1"""

    @property
    def ci95(self) -> Interval | None:
        """none: too few samples, or a program's own number"""

    @property
    def samples(self) -> int:
        """that it is computed from"""

    @property
    def is_share(self) -> bool:
        """people read it in per cent"""

    @property
    def larger_is_better(self) -> bool:
        """else smaller is"""

class FigureDifference:
    """A figure less that of the first model, on the same samples."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def value(self) -> float: ...

    @property
    def ci95(self) -> Interval | None: ...

class EvaluatedModel:
    """What the answers of one model are worth."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str:
        """of the files of its weights"""

    @property
    def sha256(self) -> str:
        """of the files of its weights"""

    @property
    def file_bytes(self) -> int: ...

    @property
    def figures(self) -> list[Figure]: ...

    @property
    def differences(self) -> list[FigureDifference]:
        """by figure; of the first model none"""

class EvaluateResult:
    """Several models on the same rows."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def data(self) -> str:
        """"1,000 rows of test of reviews.csv\""""

    @property
    def models(self) -> list[EvaluatedModel]: ...

    @property
    def class_names(self) -> list[str]: ...

    @property
    def notes(self) -> list[str]:
        """what one must know of the data, in sentences"""

class OutputQuality:
    """
    How far what a changed model computes is from the original's, and what its answers are worth.
    """

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def error(self) -> float:
        """
        of the outputs: sum of squared differences over the sum of their squares
        """

    @property
    def error_ci95(self) -> Interval | None:
        """none: too few samples"""

    @property
    def metric(self) -> float | None:
        """where the data have labels: NaN where outputs are not finite"""

    @property
    def metric_ci95(self) -> Interval | None: ...

    @property
    def difference(self) -> FigureDifference | None:
        """of the metric to the original's, on the same samples"""

class FormatFamily:
    """A family of formats."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str:
        """"mxint<W>\""""

    @property
    def doc(self) -> str:
        """what it is, and where it comes from"""

    @property
    def examples(self) -> list[str]:
        """"mxint8", "mxint4\""""

class FormatInfo:
    """A format by its text."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def text(self) -> str:
        """canonical: "int4.g128\""""

    @property
    def family(self) -> str:
        """"int<W>\""""

    @property
    def bits(self) -> float:
        """an element at large sizes, with its share of scales"""

    @property
    def is_plain(self) -> bool:
        """an element type: packing gives a plain tensor"""

    @property
    def changes_only(self) -> bool:
        """it rounds values and has no codes: pack() refuses it"""

class EncodeCounts:
    """What packing could not represent, in elements."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def nan(self) -> int:
        """of the values themselves"""

    @property
    def inf(self) -> int:
        """of the values themselves"""

    @property
    def saturated(self) -> int:
        """half a step or more beyond the largest code"""

    @property
    def flushed_to_zero(self) -> int:
        """not zero before, zero after"""

class OperandInfo:
    """
    An operand of an operation. Those that may be absent follow those that may not; what there are several of comes last.
    """

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str: ...

    @property
    def count(self) -> str: ...

    @property
    def factor(self) -> bool:
        """products of its elements with those of the other factors are summed"""

    @property
    def argument(self) -> bool:
        """its values say what the operation does, as attributes do"""

    @property
    def weight(self) -> bool:
        """a constant here is a weight, which may be stored in a number format"""

    @property
    def bias(self) -> bool:
        """added to each row of the sums"""

    @property
    def indices(self) -> bool:
        """its elements say which rows of the first operand are read"""

class AttributeInfo:
    """An attribute that an operation takes."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str:
        """
        integer number string integers numbers strings dim shape dtype format tensor
        """

    @property
    def required(self) -> bool: ...

    @property
    def doc(self) -> str: ...

class OpInfo:
    """An operation."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str: ...

    @property
    def doc(self) -> str: ...

    @property
    def operands(self) -> list[OperandInfo]: ...

    @property
    def attributes(self) -> list[AttributeInfo]: ...

    @property
    def results(self) -> int:
        """-1: as many as the operands and attributes ask for"""

    @property
    def bodies(self) -> int:
        """graphs that each node owns: of if, loop and scan"""

    @property
    def pointwise(self) -> bool:
        """each element of the result depends on one element of each operand"""

class OptionInfo:
    """An option of a pass."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str: ...

    @property
    def doc(self) -> str: ...

    @property
    def kind(self) -> str:
        """text flag integer number list"""

    @property
    def default_value(self) -> str:
        """as text; empty: none"""

    @property
    def required(self) -> bool: ...

class PassInfo:
    """A pass: a function from graphs to graphs."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str: ...

    @property
    def doc(self) -> str: ...

    @property
    def options(self) -> list[OptionInfo]:
        """its own; given as "name.option\""""

class FormatShare:
    """Constants of one format or element type."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def format(self) -> str:
        """"mxint8", "f32\""""

    @property
    def tensors(self) -> int: ...

    @property
    def elements(self) -> int: ...

    @property
    def bytes(self) -> int: ...

class ModelInfo:
    """What a model holds, and what a run costs."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def parameters(self) -> int:
        """of constants, literals left out"""

    @property
    def weight_bytes(self) -> int:
        """of constants, literals left out"""

    @property
    def formats(self) -> list[FormatShare]:
        """most bytes first"""

    @property
    def ops(self) -> dict[str, int]:
        """nodes by operation"""

    @property
    def sizes(self) -> dict[str, int]:
        """what symbols stood for in what follows"""

    @property
    def flops(self) -> float:
        """floating-point operations of one run"""

    @property
    def flops_by_op(self) -> dict[str, float]: ...

class ImporterInfo:
    """What opens files of one kind."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str:
        """"onnx\""""

    @property
    def doc(self) -> str:
        """"onnx\""""

    @property
    def endings(self) -> str:
        """of such files' names, with a space between"""

class SavedModel:
    """What save() wrote."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def bytes(self) -> int:
        """of all files"""

    @property
    def files(self) -> list[str]:
        """the model, and for a large ONNX file its weights"""

    @property
    def check(self) -> str:
        """what opening it again found, a sentence"""

    @property
    def notes(self) -> list[str]:
        """what one should know of the file, in sentences"""

class TextRange:
    """What a token covers of its text, in bytes: [begin, end)."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def begin(self) -> int: ...

    @property
    def end(self) -> int: ...

class Tokens:
    """One text as a model reads it. All lists are of one length."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def ids(self) -> list[int]: ...

    @property
    def types(self) -> list[int]:
        """which text of a pair a token belongs to"""

    @property
    def ranges(self) -> list[TextRange]:
        """empty ranges of the model's own tokens"""

    @property
    def left_out(self) -> int:
        """tokens that max_length left no room for"""

class PrunedPart:
    """One weight, family of channels, or layer."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str: ...

    @property
    def all(self) -> int:
        """weights, or units"""

    @property
    def gone(self) -> int:
        """weights, or units"""

    @property
    def kept_because(self) -> str:
        """why nothing of it went; empty: something did"""

class StageTraining:
    """The training after one stage."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def steps(self) -> int: ...

    @property
    def data_rows(self) -> int: ...

    @property
    def seconds(self) -> float: ...

    @property
    def best(self) -> ValidationResult | None:
        """none: nothing to validate on"""

class PruneResult:
    """A pruned model, and what went."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def model(self) -> Model:
        """Model::save() writes it with the storage that was asked for"""

    @property
    def is_smaller(self) -> bool:
        """parts went; else their weights are 0"""

    @property
    def parts(self) -> list[PrunedPart]: ...

    @property
    def weights_before(self) -> int: ...

    @property
    def weights_after(self) -> int: ...

    @property
    def whole_bytes(self) -> int:
        """of all weights; sparse: zeros as a bitmap"""

    @property
    def sparse_bytes(self) -> int:
        """of all weights; sparse: zeros as a bitmap"""

    @property
    def training(self) -> list[StageTraining]:
        """by stage, where there was one"""

    @property
    def notes(self) -> list[str]:
        """in sentences"""

class QuantizedTensor:
    """One constant, or the inputs of one layer."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str:
        """of the constant; address of the inputs: LAYER.in"""

    @property
    def shape(self) -> list[int]:
        """of a constant as it is packed"""

    @property
    def before(self) -> str:
        """formats or element types; equal where nothing changed"""

    @property
    def after(self) -> str:
        """formats or element types; equal where nothing changed"""

    @property
    def decided_by(self) -> str:
        """"to mxint8", the text of a rule, "skip …\""""

    @property
    def elements(self) -> int: ...

    @property
    def bytes_before(self) -> int: ...

    @property
    def bytes_after(self) -> int: ...

    @property
    def sqnr_db(self) -> float | None:
        """
        of the new values against those that were rounded; none where nothing changed
        """

class QuantizeResult:
    """A quantized model, and what became of each tensor."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def model(self) -> Model:
        """with what rode along"""

    @property
    def tensors(self) -> list[QuantizedTensor]: ...

    @property
    def activations(self) -> list[QuantizedTensor]:
        """inputs of layers; sizes are 0"""

    @property
    def weight_bytes_before(self) -> int:
        """of all constants"""

    @property
    def weight_bytes_after(self) -> int:
        """of all constants"""

class SearchResult:
    """What all studies of a search found."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def model(self) -> str:
        """what candidates are made of"""

    @property
    def data(self) -> str:
        """what they were judged on, in words; empty: on no data"""

    @property
    def studies(self) -> list[Study]: ...

class Port:
    """An input or an output of a session."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str:
        """by which it is given and got"""

    @property
    def type(self) -> str:
        """"f32[B,S,384]\""""

    @property
    def dtype(self) -> str: ...

    @property
    def shape(self) -> list[str]:
        """dimensions: numbers and formulas of symbols"""

class SessionStatistics:
    """What making a session, and its runs so far, took."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def prepare_ms(self) -> float:
        """passes; plans; code; laying weights out"""

    @property
    def specialise_ms(self) -> float:
        """passes; plans; code; laying weights out"""

    @property
    def compile_ms(self) -> float:
        """passes; plans; code; laying weights out"""

    @property
    def prepack_ms(self) -> float:
        """passes; plans; code; laying weights out"""

    @property
    def kernels_compiled(self) -> int: ...

    @property
    def kernels_cached(self) -> int: ...

    @property
    def prepacked_bytes(self) -> int:
        """weights as laid out for kernels"""

    @property
    def direct_weight_bytes(self) -> int:
        """weights that kernels read where they lie"""

    @property
    def arena_bytes(self) -> int:
        """of the last set of sizes"""

    @property
    def scratch_bytes(self) -> int:
        """of the last set of sizes"""

    @property
    def output_bytes(self) -> int:
        """of the last set of sizes"""

    @property
    def notes(self) -> list[str]:
        """what one should know, in sentences"""

class DeviceInfo:
    """
    Devices that this library has, as SessionOptions::device takes them, whether they are there or not.
    """

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str: ...

    @property
    def doc(self) -> str: ...

    @property
    def variants(self) -> str:
        """what may stand behind a colon; empty: nothing"""

class StudyTrial:
    """One trial."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def number(self) -> int:
        """in its study, from 0"""

    @property
    def state(self) -> str:
        """as Optuna spells it: "COMPLETE", "PRUNED", "FAIL", …"""

    @property
    def parameters(self) -> dict[str, str]:
        """as people read them: "0.001", "mxint4\""""

    @property
    def values(self) -> list[float]:
        """of a complete one: one for each objective"""

    @property
    def figures(self) -> dict[str, float]:
        """what a search of hone's measured of it: bytes, bits, accuracy, …"""

class Study:
    """One study, as far as it has come."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def name(self) -> str: ...

    @property
    def objectives(self) -> list[str]:
        """their names"""

    @property
    def directions(self) -> list[str]:
        """of each: "MINIMIZE" or "MAXIMIZE\""""

    @property
    def trials(self) -> list[StudyTrial]:
        """by number"""

    @property
    def best(self) -> list[int]:
        """numbers of the best, or of the front of several objectives"""

    @property
    def notes(self) -> list[str]:
        """of a search: what one should know, in sentences"""

class SweptVariant:
    """One variant of the model, measured."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def format(self) -> str:
        """of a sweep over formats: "int8.f4\""""

    @property
    def method(self) -> str:
        """of a sweep over sparsities: "l1\""""

    @property
    def sparsity(self) -> float:
        """likewise"""

    @property
    def trained(self) -> bool:
        """in the format, or after pruning"""

    @property
    def selecting(self) -> OutputQuality: ...

    @property
    def held_out(self) -> OutputQuality: ...

    @property
    def average_bits(self) -> float:
        """of formats: of everything that is stored"""

    @property
    def bytes(self) -> int:
        """of the weights; of a sweep over sparsities with zeros as a bitmap"""

    @property
    def parameters(self) -> int:
        """of a sweep over sparsities: weights that the model has"""

class SweepResult:
    """
    Variants in the order of measuring: with training each one as it is, then trained.
    """

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def data(self) -> str:
        """what they were measured on, in words"""

    @property
    def metric(self) -> str:
        """what they were judged by; empty: the output error"""

    @property
    def variants(self) -> list[SweptVariant]: ...

    @property
    def original(self) -> SweptVariant | None:
        """as it is; of a sweep over sparsities only with training"""

    @property
    def original_trained(self) -> SweptVariant | None:
        """as long as the variants, with training"""

    @property
    def best(self) -> int | None:
        """of a sweep over formats: of `variants`, where choices are compared"""

    @property
    def measured(self) -> int:
        """recalled: from SweepOptions::measurements"""

    @property
    def recalled(self) -> int:
        """recalled: from SweepOptions::measurements"""

class TrainingEntry:
    """What was written down of a step, or of a validation."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def step(self) -> int:
        """how many updates were made"""

    @property
    def epoch(self) -> float:
        """how often the data were seen"""

    @property
    def split(self) -> str:
        """"train", "validation\""""

    @property
    def seconds(self) -> float:
        """of work since training began"""

    @property
    def values(self) -> dict[str, float]:
        """loss, rate, accuracy, …"""

class ValidationResult:
    """Figures on the rows that are kept for validation."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def step(self) -> int: ...

    @property
    def loss(self) -> float: ...

    @property
    def metric(self) -> float: ...

    @property
    def metric_ci95(self) -> Interval | None:
        """none: of a validation on the way"""

class TrainResult:
    """A trained model, and how it came about."""

    __match_args__: tuple[str, ...]

    def __repr__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: a table."""

    def to_dict(self) -> dict[str, Any]:
        """
        The attributes by name; those that are results are dicts, too. Models stay models.
        """

    @property
    def model(self) -> Model:
        """with the best weights of those that were validated, else the last"""

    @property
    def classes(self) -> list[str]:
        """their names, where labels have some"""

    @property
    def trained_elements(self) -> int: ...

    @property
    def data_rows(self) -> int: ...

    @property
    def steps(self) -> int: ...

    @property
    def seconds(self) -> float: ...

    @property
    def best(self) -> ValidationResult | None:
        """none: nothing to validate on"""

    @property
    def last(self) -> ValidationResult | None:
        """none: nothing to validate on"""

    @property
    def ended(self) -> str:
        """why before the last step; empty: it did not"""

    @property
    def history(self) -> list[TrainingEntry]: ...

    @property
    def notes(self) -> list[str]:
        """in sentences"""

def list_formats() -> list[FormatFamily]:
    """All families of number formats, in the order of their names."""

def expand_formats(patterns: Sequence[str]) -> list[str]:
    """Every format of patterns such as "int{4..8}.f4,mxint4", each once."""

def parse_format(text: str) -> FormatInfo:
    """A format by its text. FormatError where the text is none."""

def _pack(x: hone.typing.ArrayLike, format: str) -> Tensor: ...

def _unpack(packed: Tensor) -> Tensor: ...

def _round(x: hone.typing.ArrayLike, format: str) -> Any: ...

def _array_like(tensor: Tensor, like: object) -> Any: ...

def _planes(packed: Tensor) -> dict[str, Tensor]: ...

def _packed_of_planes(format: str, shape: Sequence[int], codes: hone.typing.ArrayLike, scales: hone.typing.ArrayLike | None, zero_points: hone.typing.ArrayLike | None, global_: hone.typing.ArrayLike | None) -> Tensor: ...

class Graph:
    """
    What a model computes: nodes of operations on typed values, operands before their users. Ids, types and names that do not fit are an Error, which changes nothing.
    """

    def __init__(self, name: str = 'main') -> None:
        """An empty graph."""

    @staticmethod
    def parse(text: str, constants: Mapping[str, hone.typing.ArrayLike] = {}) -> Graph:
        """
        A graph of its text; arrays for constants that the text only names. Error with line and column.
        """

    def text(self) -> str:
        """The graph as text, which parse() reads."""

    @property
    def name(self) -> str:
        """Its name in the text."""

    def add_input(self, label: str, type: str) -> Value:
        """What each run is given: of type "i64[B,S]"."""

    def add_parameter(self, label: str, initial: hone.typing.ArrayLike) -> Value:
        """What the session owns; Session.set_parameters() changes it."""

    def add_state(self, label: str, initial: str | hone.typing.ArrayLike) -> Value:
        """
        What a context keeps from run to run: it begins as the array, or, of a type alone, as Context.set_state() says.
        """

    def add_constant(self, value: hone.typing.ArrayLike, label: str = '') -> Value:
        """
        An array, which is read where it lies and must not change; without a label, a literal.
        """

    def add_node(self, op: str, operands: Sequence[Value | None], attributes: Mapping[str, object] = {}, name: str = '', bodies: list[Graph] = []) -> tuple[Value, ...]:
        """
        A node of any operation, at the end: its results, whose types the operation's rule gives. Attributes that are None are left out.
        """

    def op(self, op: str, /, *operands: Value | None, **attributes: object) -> Any:
        """
        add_node() in short: one result as a Value, several as a tuple of them.
        """

    def set_insertion_point(self, before: Node | None) -> None:
        """
        Nodes that are added from now on stand before that one; None: at the end.
        """

    def add_output(self, value: Value, label: str) -> None:
        """What a run gives, by its name for callers."""

    def add_update(self, target: Value, value: Value) -> None:
        """After a run `target`, a parameter or state, is `value`."""

    @property
    def inputs(self) -> list[Value]:
        """Inputs, parameters and state, in order."""

    @property
    def constants(self) -> list[Value]:
        """In the order of their creation."""

    @property
    def nodes(self) -> list[Node]:
        """Operands precede users."""

    @property
    def outputs(self) -> dict[str, Value]:
        """By their labels."""

    @property
    def updates(self) -> list[tuple[Value, Value]]:
        """Parameters or state, and what they are after a run."""

    def find_value(self, name: str) -> Value | None:
        """By its name in the text."""

    def find_constant(self, label: str) -> Value | None:
        """By its label."""

    @property
    def symbols(self) -> list[str]:
        """That stand for sizes of inputs, in order of appearance."""

    @property
    def metadata(self) -> dict[str, str]:
        """Texts that travel with the model; a copy."""

    def set_outputs(self, outputs: Mapping[str, Value]) -> None:
        """Other outputs by their labels; updates stay."""

    def set_metadata(self, key: str, text: str) -> None:
        """An empty text removes the key."""

    def erase_unused_constants(self) -> None:
        """Constants that nobody reads go."""

    def infer_types(self) -> None:
        """Gives all results their types, after new ones of inputs or constants."""

    def verify(self) -> None:
        """Checks types, order, names and attributes."""

    def after_passes(self, passes: Sequence[str], options: Mapping[str, Sequence[str]] = {}) -> Graph:
        """
        A graph after passes, one after the other; this one stays. Options are lists of texts by "pass.option".
        """

    def with_sizes(self, sizes: Mapping[str, int]) -> Graph:
        """The graph with sizes in place of symbols: {"B": 1}."""

    def __str__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: the text."""

    def __repr__(self) -> str: ...

    def __copy__(self) -> Graph: ...

    def __deepcopy__(self, memo: object) -> Graph: ...

class Value:
    """A value of a graph: an input, a constant, or a result of a node."""

    @property
    def graph(self) -> Graph:
        """The graph it is of."""

    @property
    def name(self) -> str:
        """In the graph's text, without %."""

    @property
    def label(self) -> str:
        """Of an input: for callers; of a constant: of the tensor in files."""

    @property
    def type(self) -> str:
        """"f32[B,S,384]"; "f32[*]" of an open rank."""

    @property
    def dtype(self) -> str:
        """"f32"."""

    @property
    def shape(self) -> list[str] | None:
        """
        Dimensions as texts: numbers and formulas of symbols. None where the rank is open.
        """

    @property
    def kind(self) -> str:
        """"input", "parameter", "state", "constant" or "result"."""

    @property
    def node(self) -> Node | None:
        """The node that computes it, of a result; else None."""

    @property
    def users(self) -> list[tuple[Node, int]]:
        """Nodes that read it, and as which operand."""

    @property
    def tensor(self) -> Tensor:
        """What a constant holds. Error for other values."""

    def set_tensor(self, array: hone.typing.ArrayLike) -> None:
        """
        Gives a constant another value. Graph.infer_types() gives results their types after that.
        """

    def set_type(self, type: str) -> None:
        """
        Gives an input another type. Graph.infer_types() gives results theirs after that.
        """

    def set_label(self, label: str) -> None:
        """Gives an input or constant another label."""

    def rename(self, name: str) -> None:
        """With a suffix where the name is taken."""

    def replace_by(self, value: Value) -> None:
        """
        In all nodes and outputs. Error, and no change, where types do not fit.
        """

    def erase(self) -> None:
        """Of an input. Error that names its users."""

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class Node:
    """A node of a graph: one use of an operation."""

    @property
    def graph(self) -> Graph:
        """The graph it is of."""

    @property
    def op(self) -> str:
        """Name of the operation."""

    @property
    def operands(self) -> tuple[Value | None, ...]:
        """What it reads; None where one is absent."""

    @property
    def results(self) -> tuple[Value, ...]:
        """What it computes."""

    @property
    def attributes(self) -> dict[str, int | float | str | list[int] | list[float] | list[str] | Tensor]:
        """A copy; set_attribute() changes one."""

    @property
    def bodies(self) -> list[Graph]:
        """Copies of the graphs that it owns."""

    def set_operand(self, operand: int, value: Value | None) -> None:
        """Error, and no change, where the type does not fit."""

    def set_attribute(self, name: str, value: object) -> None:
        """Error, and no change, where the operation does not take it."""

    def erase(self) -> None:
        """Error that lists the users of its results."""

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

def list_ops() -> list[OpInfo]:
    """All operations in the order of their names."""

def op_info(name: str) -> OpInfo:
    """An operation; Error with the nearest names where there is none."""

def list_passes() -> list[PassInfo]:
    """All passes in the order of their names."""

class Model:
    """
    A graph, and what rides along: tokenizer, configuration, names of classes.
    """

    def __init__(self, graph: Graph) -> None:
        """Of a graph, with nothing that rides along."""

    @property
    def name(self) -> str:
        """The last part of the path; empty: it was made in memory."""

    @property
    def path(self) -> str:
        """Where it was opened."""

    @property
    def sha256(self) -> str:
        """Of the files of its weights; reads them."""

    @property
    def file_bytes(self) -> int:
        """Of these files."""

    @property
    def unused(self) -> list[str]:
        """Tensors of the files that no part of the graph reads."""

    @property
    def labels(self) -> list[str]:
        """Of its classes, in the order of their numbers."""

    @property
    def file_names(self) -> list[str]:
        """Of what rides along: "tokenizer.json"."""

    def file(self, name: str) -> bytes:
        """The content of what rides along."""

    @property
    def graph(self) -> Graph:
        """A copy of its graph. Changes of it are brought in by setting it."""

    @graph.setter
    def graph(self, arg: Graph, /) -> None: ...

    @property
    def has_tokenizer(self) -> bool:
        """Whether a vocabulary rides along."""

    @property
    def tokenizer(self) -> Tokenizer:
        """Error where no vocabulary rides along."""

    @property
    def max_tokens(self) -> int:
        """That the model takes of a text; 0: not known."""

    def text_inputs(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """Texts as the model's inputs, cut to max_tokens."""

    def save(self, path: str) -> SavedModel:
        """
        Writes one file, by the path's ending: ".safetensors" with all that rides along, or ".onnx". It is opened again and compared before it is put in its place.
        """

    def __call__(self, *inputs: hone.typing.ArrayLike, **named: hone.typing.ArrayLike) -> hone._outputs.Outputs:
        """
        One run of the model as compile() makes it ready, once: inputs in order, or by name.
        """

    def __copy__(self) -> Model: ...

    def __deepcopy__(self, memo: object) -> Model: ...

    def __str__(self) -> str: ...

    def _repr_html_(self) -> str:
        """What notebooks show: the table of info()."""

    def __repr__(self) -> str: ...

def info(model: Model, sizes: Mapping[str, int] = {}) -> ModelInfo:
    """
    What a model holds, and what a run costs. Sizes by symbol; what is not named is 1 for batches and what is usual for others.
    """

def list_importers() -> list[ImporterInfo]:
    """What opens files, in the order of their names."""

def _load(path: str, format: str, inputs: Sequence[str]) -> Model: ...

class Tokenizer:
    """Texts to the ids of tokens, and back."""

    def encode(self, text: str, pair: str | None = None, max_length: int = 0, own_tokens: bool = True) -> Tokens:
        """
        A text, or a pair. At most max_length tokens are kept; 0: all. own_tokens puts the model's own around.
        """

    def decode(self, ids: Sequence[int], skip_special: bool = True) -> str:
        """The text of ids."""

class Context:
    """
    Memory of its own for one run at a time, the handle by which another thread ends that run, and the state that one run leaves for the next.
    """

    def __init__(self) -> None: ...

    def cancel(self) -> None:
        """The run under way ends and throws Cancelled; a later one works."""

    def set_state(self, name: str, value: hone.typing.ArrayLike) -> None:
        """State by the name that graphs give it. Error while a run is under way."""

    def state(self, name: str) -> Tensor:
        """State by its name; Error where there is none."""

    def clear_state(self) -> None:
        """Forgets all state."""

class Session:
    """
    A compiled model. Sizes that the model leaves open are those of the inputs of each run. Any number of threads may call it at once.
    """

    @property
    def inputs(self) -> list[Port]:
        """What each run is given."""

    @property
    def outputs(self) -> list[Port]:
        """What each run gives."""

    def run(self, inputs: Mapping[str, hone.typing.ArrayLike], context: Context | None = None, outputs: Mapping[str, hone.typing.ArrayLike] | None = None) -> hone._outputs.Outputs:
        """
        One run: arrays by name in, arrays of the same library out, none copied. `outputs` are arrays that results are written into. Error that names the input for a missing, unknown or unfitting one.
        """

    def __call__(self, *inputs: hone.typing.ArrayLike, **named: hone.typing.ArrayLike) -> hone._outputs.Outputs:
        """run() with inputs in order, or by name."""

    def prepare(self, sizes: Mapping[str, int]) -> None:
        """Makes runs of these sizes, by symbol, ready ahead of the first."""

    @property
    def parameter_names(self) -> list[str]:
        """Of what the session owns."""

    def parameter(self, name: str) -> Tensor:
        """The value of a parameter."""

    def set_parameters(self, values: Mapping[str, hone.typing.ArrayLike]) -> None:
        """
        New values by name. Error, and no change, for unknown names and other types.
        """

    def close(self) -> None:
        """
        Refuses new runs, cancels those under way and returns when they have ended.
        """

    @property
    def graph(self) -> Graph:
        """As it runs: after the passes."""

    @property
    def statistics(self) -> SessionStatistics:
        """Up to now."""

    def __repr__(self) -> str: ...

@overload
def _compile(model: Model, options: dict[str, Any]) -> Session: ...

@overload
def _compile(graph: Graph, options: dict[str, Any]) -> Session: ...

def list_devices() -> list[DeviceInfo]:
    """Devices that this library has, whether they are there or not."""

def _allocate(value: Model, options: dict[str, Any], progress: object | None, warning: object | None) -> AllocateResult: ...

def _bench(value: Sequence[Model], options: dict[str, Any], progress: object | None, warning: object | None) -> BenchResult: ...

def _evaluate(value: Sequence[Model], options: dict[str, Any], progress: object | None, warning: object | None) -> EvaluateResult: ...

def _prune(value: Model, options: dict[str, Any], progress: object | None, warning: object | None) -> PruneResult: ...

def _quantize(value: Model, options: dict[str, Any], progress: object | None, warning: object | None) -> QuantizeResult: ...

def _sweep(value: Model, options: dict[str, Any], progress: object | None, warning: object | None) -> SweepResult: ...

def _train(value: Model, options: dict[str, Any], progress: object | None, warning: object | None) -> TrainResult: ...

__version__: str

def set_log_sink(function: Callable[[bool, str], object] | None) -> None:
    """
    Where messages go that belong to no task, whether each is a warning and its text: a cache that cannot be written, say. None, as at first, drops them.
    """

def set_process_memory_limit(bytes: int) -> None:
    """
    A limit on what the whole process may take, in bytes, beside those of sessions; 0: what the machine has free.
    """
