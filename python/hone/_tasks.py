"""Tasks on models. Written by generate_api from the tables of options."""

from collections.abc import Mapping, Sequence

from hone import _hone
from hone._hone import AllocateResult, BenchResult, EvaluateResult, PruneResult, QuantizeResult, SweepResult, TrainResult, Graph, Model, Session
from hone._task import Data, Progress, Told, made, run_once, run_task
from hone._outputs import Outputs
from hone.typing import ArrayLike

__all__ = ["compile", "run", "allocate", "bench", "evaluate", "prune", "quantize", "sweep", "train"]


def compile(
    model: Model | Graph,
    *,
    device: str | None = None,
    isa: str | None = None,
    no_fallback: bool = False,
    backend: str = "cpu",
    optimise: int = 2,
    threads: int = 1,
    verify: bool = False,
    cache: str | None = None,
    no_cache: bool = False,
    no_fusion: bool = False,
    no_winograd: bool = False,
    no_pass: str | Sequence[str] = (),
    compute: str | None = None,
    trust_code: bool = False,
    memory_limit: int = 0,
) -> Session:
    """A model, or a graph, made ready to run. Raises Error for options that are not accepted, and
    devices that are not there.

    Options:
        device: Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is
            --isa avx512; auto: a GPU where there is one, else the CPU (default: cpu)
        isa: Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then
            +feature or -feature, as in avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default:
            host)
        no_fallback: Refuse, and list, steps that the device has no kernel for, which kernels of the
            host run otherwise, on copies, and where there are none the interpreter
        backend: cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums
            in double (cpu, cuda, reference)
        optimise: 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
        threads: Threads to use
        verify: Verify the graph after every pass
        cache: Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
        no_cache: Neither read nor write machine code on disk
        no_fusion: Give each node a kernel of its own
        no_winograd: Sums of products as they are written: no Winograd convolutions, whose rounding
            errors are larger
        no_pass: Leave a pass out (repeatable)
        compute: Type that products read activations in: f32 or bf16; sums are f32 (default: as
            stored in the model)
        trust_code: Run the machine code that the model's file carries (hone compile): it is a
            program, and can do whatever hone can
        memory_limit: Bytes of weights as laid out, arenas, scratch memory and outputs that callers
            keep; beyond them is a MemoryError. 0: the limit of the process alone, which holds
            always
    """
    return made(_hone._compile, locals())


def run(
    model: Model | Graph,
    inputs: Mapping[str, ArrayLike],
    *,
    device: str | None = None,
    isa: str | None = None,
    no_fallback: bool = False,
    backend: str = "cpu",
    optimise: int = 2,
    threads: int = 1,
    verify: bool = False,
    cache: str | None = None,
    no_cache: bool = False,
    no_fusion: bool = False,
    no_winograd: bool = False,
    no_pass: str | Sequence[str] = (),
    compute: str | None = None,
    trust_code: bool = False,
    memory_limit: int = 0,
) -> Outputs:
    """One run of a model, or a graph: compile(), and the session's run() of `inputs`.

    Options:
        device: Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is
            --isa avx512; auto: a GPU where there is one, else the CPU (default: cpu)
        isa: Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then
            +feature or -feature, as in avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default:
            host)
        no_fallback: Refuse, and list, steps that the device has no kernel for, which kernels of the
            host run otherwise, on copies, and where there are none the interpreter
        backend: cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums
            in double (cpu, cuda, reference)
        optimise: 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
        threads: Threads to use
        verify: Verify the graph after every pass
        cache: Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
        no_cache: Neither read nor write machine code on disk
        no_fusion: Give each node a kernel of its own
        no_winograd: Sums of products as they are written: no Winograd convolutions, whose rounding
            errors are larger
        no_pass: Leave a pass out (repeatable)
        compute: Type that products read activations in: f32 or bf16; sums are f32 (default: as
            stored in the model)
        trust_code: Run the machine code that the model's file carries (hone compile): it is a
            program, and can do whatever hone can
        memory_limit: Bytes of weights as laid out, arenas, scratch memory and outputs that callers
            keep; beyond them is a MemoryError. 0: the limit of the process alone, which holds
            always
    """
    return run_once(_hone._compile, locals())


def allocate(
    model: Model,
    *,
    formats: str | Sequence[str] = (),
    budget: str | None = None,
    lambda_: float | None = None,
    data: Data = None,
    metric: str | Sequence[str] = (),
    data_split: str | None = None,
    data_limit: int | None = None,
    score_output: str | None = None,
    max_length: int | None = None,
    data_format: str | None = None,
    data_text: str | None = None,
    data_text2: str | None = None,
    data_label: str | None = None,
    data_labels: str | None = None,
    data_target: str | None = None,
    data_tokens: str | None = None,
    data_tags: str | None = None,
    data_group_column: str | None = None,
    data_split_column: str | None = None,
    data_separator: str = " ",
    data_no_header: bool = False,
    data_classes: str | Sequence[str] = (),
    data_channels: int = 3,
    data_validation_file: str | None = None,
    data_test_file: str | None = None,
    data_validation_fraction: float = 0,
    data_test_fraction: float = 0,
    data_split_seed: int = 0,
    for_: str = "safetensors",
    batch: int = 1,
    seq: int | None = None,
    dim: str | Sequence[str] = (),
    front: bool = False,
    measure_all: bool = False,
    trials: int = 8,
    measurements: str | None = None,
    seconds: float = 10,
    seed: int = 1,
    to: str | None = None,
    rule: str | Sequence[str] = (),
    skip: str | Sequence[str] = (),
    activations: str | None = None,
    method: str = "gptq",
    damping: float = 0.01,
    activation_order: bool = True,
    bias_correction: bool = False,
    equalise_layers: bool = False,
    smooth_quant: bool = False,
    awq_scaling: bool = False,
    rotate_hadamard: bool = False,
    alpha: float = 0.5,
    on_nonfinite: str = "error",
    calib: Data = None,
    calib_batch: int = 16,
    compute: str = "bf16",
    device: str | None = None,
    isa: str | None = None,
    no_fallback: bool = False,
    backend: str = "cpu",
    optimise: int = 2,
    threads: int = 1,
    verify: bool = False,
    cache: str | None = None,
    no_cache: bool = False,
    no_fusion: bool = False,
    no_winograd: bool = False,
    no_pass: str | Sequence[str] = (),
    trust_code: bool = False,
    progress: Progress = None,
    warning: Told = None,
) -> AllocateResult:
    """Raises Error where no choice meets the budget, and where data, options and model do not fit
    each other.

    Options:
        formats: Formats to choose from, e.g. mxint{3,4,6,8},int4.g32; required
        budget: avg-bits=4.5, bytes=12MB (of the whole file), latency=0.7x (of the original's time),
            latency=12ms (both of the file as written and measured) or drop=0.5% (as few bits as
            lose no more of the metric, as of squeeze --max-drop)
        lambda_: Instead of a budget: minimize what is lost (1 - accuracy or another metric; without
            labels the output error) plus this times average bits
        data: What choices are compared on, and, on samples that are held out from that, judged by:
            a file as of --calib, or a data set (default: that of --calib; where the method learns,
            it learns from the other half)
        metric: What answers to data with labels are judged by: accuracy, cross_entropy, f1_macro,
            f1, f1_micro, kl, mae, mcc, mrr, mse, pearson, perplexity, recall, same_token, spearman
            (default: what suits them)
        data_split: Split to read: train, validation or test (default: test, else validation, else
            all rows)
        data_limit: Largest number of rows to read, drawn by a seed
        score_output: The model's output that metrics are of (default: the one that fits)
        max_length: Tokens that texts are cut to (default: as in training, else what the model
            takes)
        data_format: the reader, where the path does not tell
        data_text: column of the text, or of the first of two
        data_text2: column of the second text
        data_label: column of the class
        data_labels: column of any number of classes
        data_target: column of the number to predict
        data_tokens: column of words, each of which has a class
        data_tags: column of the classes of words
        data_group_column: column of what must not be in two splits, such as an author
        data_split_column: column that says train, validation or test
        data_separator: what stands between the classes or words of one cell
        data_no_header: the first line is a row; columns are called 1, 2, ...
        data_classes: the classes in order, where those that occur are not all or not in that order
        data_channels: channels of decoded images: 1 gray, 3 color
        data_validation_file: file or folder with the rows for validation
        data_test_file: file or folder with the rows for the test
        data_validation_fraction: share of the rows to validate on, from 0 to 1
        data_test_fraction: share of the rows to test on, from 0 to 1
        data_split_seed: random seed that decides which rows those are
        for_: The kind of file that the plan is for: its size is held to a budget of bytes
            (safetensors, onnx)
        batch: Size of the first dimension of the inputs
        seq: Size of the inputs' second dimension (default: 128, or what the model can take when
            that is less; what its weights and windows ask for comes first)
        dim: Size of a dimension by name, e.g. S=64; it overrides --batch and --seq
        front: What is chosen for other budgets too, as table and plot
        measure_all: Measure each tensor in every format; otherwise one measurement a tensor scales
            its layers' errors
        trials: Choices measured to refine the solution
        measurements: File in which measurements are remembered between runs
        seconds: Longest time that one measurement of times takes
        seed: Random seed for the refinement and for the order of rounds
        to: number format of the weights, e.g. mxint8
        rule: address=format, where the last match wins: a regular expression on names, op:NAME or
            name:NAME; LAYER.in and LAYER.bias are a layer's input and bias; the format may be keep
        skip: regular expression on names of tensors that are kept
        activations: number format of the inputs of linear, conv, matmul and attention. int8 and
            uint8.asym, of the tensor or of each row (g1x0), and mxint8 are multiplied as integers
            by such weights (mxint8 by linear's), and round the inputs of layers with weights alone;
            others are simulated; int8@min-max: by a scale that calibration data choose (min-max,
            moving-average, percentile, mse, entropy)
        method: how to round weights: nearest, scale-search or gptq (needs calibration data)
        damping: gptq adds this share of the inputs' mean square to that of each, above 0 to 100
        activation_order: gptq rounds weights of large inputs first
        bias_correction: biases take up the mean error of rounded weights (needs calibration data)
        equalise_layers: first give the weights of consecutive layers the same ranges
        smooth_quant: move outliers of activations that are rounded into the weights first (needs
            calibration data)
        awq_scaling: enlarge weights of large activations before rounding (needs calibration data)
        rotate_hadamard: compute on blocks of 32 to 128 channels that are rotated by a Hadamard
            matrix
        alpha: how far smooth-quant moves outliers, from 0 to 1
        on_nonfinite: what to do with NaN and infinite weights: error, saturate or keep
        calib: calibration data: .txt with a text a line, .npz with arrays named like the inputs, or
            .npy
        calib_batch: samples of the calibration data that run at once
        compute: Type that products of the written model read activations in: f32 or bf16
        device: Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is
            --isa avx512; auto: a GPU where there is one, else the CPU (default: cpu)
        isa: Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then
            +feature or -feature, as in avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default:
            host)
        no_fallback: Refuse, and list, steps that the device has no kernel for, which kernels of the
            host run otherwise, on copies, and where there are none the interpreter
        backend: cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums
            in double (cpu, cuda, reference)
        optimise: 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
        threads: Threads to use
        verify: Verify the graph after every pass
        cache: Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
        no_cache: Neither read nor write machine code on disk
        no_fusion: Give each node a kernel of its own
        no_winograd: Sums of products as they are written: no Winograd convolutions, whose rounding
            errors are larger
        no_pass: Leave a pass out (repeatable)
        trust_code: Run the machine code that the model's file carries (hone compile): it is a
            program, and can do whatever hone can
        progress: called with what comes next; True: a bar of tqdm
        warning: called with what one should know, a sentence at a time
    """
    return run_task(_hone._allocate, locals())


def bench(
    models: Model | Sequence[Model],
    *,
    batch: int = 1,
    seq: int | None = None,
    dim: str | Sequence[str] = (),
    device: str | None = None,
    isa: str | None = None,
    no_fallback: bool = False,
    backend: str = "cpu",
    optimise: int = 2,
    threads: int = 1,
    verify: bool = False,
    cache: str | None = None,
    no_cache: bool = False,
    no_fusion: bool = False,
    no_winograd: bool = False,
    no_pass: str | Sequence[str] = (),
    trust_code: bool = False,
    compute: str | None = None,
    input: str | Sequence[str] = (),
    data: Data = None,
    metric: str | Sequence[str] = (),
    data_batch: int = 16,
    cmd_seconds: float = 600,
    data_split: str | None = None,
    data_limit: int | None = None,
    score_output: str | None = None,
    max_length: int | None = None,
    data_format: str | None = None,
    data_text: str | None = None,
    data_text2: str | None = None,
    data_label: str | None = None,
    data_labels: str | None = None,
    data_target: str | None = None,
    data_tokens: str | None = None,
    data_tags: str | None = None,
    data_group_column: str | None = None,
    data_split_column: str | None = None,
    data_separator: str = " ",
    data_no_header: bool = False,
    data_classes: str | Sequence[str] = (),
    data_channels: int = 3,
    data_validation_file: str | None = None,
    data_test_file: str | None = None,
    data_validation_fraction: float = 0,
    data_test_fraction: float = 0,
    data_split_seed: int = 0,
    seconds: float = 20,
    seed: int = 1,
    no_probe: bool = False,
    protocol: str = "fair",
    check_finite: bool = False,
    progress: Progress = None,
    warning: Told = None,
) -> BenchResult:
    """Rounds of all models, interleaved in random orders. What only a fresh process shows is left
    out. Raises Error where the models do not take the same inputs or give the same outputs, and
    where there is no model.

    Options:
        batch: Size of the first dimension of the inputs
        seq: Size of the inputs' second dimension (default: 128, or what the model can take when
            that is less; what its weights and windows ask for comes first)
        dim: Size of a dimension by name, e.g. S=64; it overrides --batch and --seq
        device: Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is
            --isa avx512; auto: a GPU where there is one, else the CPU (default: cpu)
        isa: Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then
            +feature or -feature, as in avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default:
            host)
        no_fallback: Refuse, and list, steps that the device has no kernel for, which kernels of the
            host run otherwise, on copies, and where there are none the interpreter
        backend: cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums
            in double (cpu, cuda, reference)
        optimise: 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
        threads: Threads to use
        verify: Verify the graph after every pass
        cache: Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
        no_cache: Neither read nor write machine code on disk
        no_fusion: Give each node a kernel of its own
        no_winograd: Sums of products as they are written: no Winograd convolutions, whose rounding
            errors are larger
        no_pass: Leave a pass out (repeatable)
        trust_code: Run the machine code that the model's file carries (hone compile): it is a
            program, and can do whatever hone can
        compute: Type that products read activations in: f32 or bf16; sums are f32 (default: as
            stored in the model)
        input: An input from a file: name=x.npy; default: seeded data of the model's own shapes
        data: Data set to judge answers on: a file or folder
        metric: accuracy, cross_entropy, f1_macro, f1, f1_micro, kl, mae, mcc, mrr, mse, pearson,
            perplexity, recall, same_token, spearman, retrieval, agreement (with the first model) or
            cmd:PROGRAM, which is given the answers as a file of JSON lines and prints a number;
            several with commas (default: what suits the data)
        data_batch: Rows of the data that run at once
        cmd_seconds: Longest that the program of cmd: may take
        data_split: Split to read: train, validation or test (default: test, else validation, else
            all rows)
        data_limit: Largest number of rows to read, drawn by a seed
        score_output: The model's output that metrics are of (default: the one that fits)
        max_length: Tokens that texts are cut to (default: as in training, else what the model
            takes)
        data_format: the reader, where the path does not tell
        data_text: column of the text, or of the first of two
        data_text2: column of the second text
        data_label: column of the class
        data_labels: column of any number of classes
        data_target: column of the number to predict
        data_tokens: column of words, each of which has a class
        data_tags: column of the classes of words
        data_group_column: column of what must not be in two splits, such as an author
        data_split_column: column that says train, validation or test
        data_separator: what stands between the classes or words of one cell
        data_no_header: the first line is a row; columns are called 1, 2, ...
        data_classes: the classes in order, where those that occur are not all or not in that order
        data_channels: channels of decoded images: 1 gray, 3 color
        data_validation_file: file or folder with the rows for validation
        data_test_file: file or folder with the rows for the test
        data_validation_fraction: share of the rows to validate on, from 0 to 1
        data_test_fraction: share of the rows to test on, from 0 to 1
        data_split_seed: random seed that decides which rows those are
        seconds: Longest measured part
        seed: Random seed for generated inputs and for the order of rounds
        no_probe: Leave out what needs fresh processes: compile times, first result, memory
        protocol: fair: warm-up, interleaved rounds, medians; lab: also the mean of five runs,
            compilation included, and what the difference is (fair, lab)
        check_finite: Look at every result of the first run; name the first step that computes NaN
            or an infinity
        progress: called with what comes next; True: a bar of tqdm
        warning: called with what one should know, a sentence at a time
    """
    return run_task(_hone._bench, locals())


def evaluate(
    models: Model | Sequence[Model],
    data: Data = None,
    *,
    metric: str | Sequence[str] = (),
    batch: int = 16,
    cmd_seconds: float = 600,
    split: str | None = None,
    limit: int | None = None,
    score_output: str | None = None,
    max_length: int | None = None,
    format: str | None = None,
    text: str | None = None,
    text2: str | None = None,
    label: str | None = None,
    labels: str | None = None,
    target: str | None = None,
    tokens: str | None = None,
    tags: str | None = None,
    group_column: str | None = None,
    split_column: str | None = None,
    separator: str = " ",
    no_header: bool = False,
    classes: str | Sequence[str] = (),
    channels: int = 3,
    validation_file: str | None = None,
    test_file: str | None = None,
    validation_fraction: float = 0,
    test_fraction: float = 0,
    split_seed: int = 0,
    seed: int = 1,
    answers: str = "by-name",
    least_score: float = 0.5,
    least_iou: float = 0.5,
    neighbours: int = 10,
    window: int = 0,
    stride: int = 0,
    device: str | None = None,
    isa: str | None = None,
    no_fallback: bool = False,
    backend: str = "cpu",
    optimise: int = 2,
    threads: int = 1,
    verify: bool = False,
    cache: str | None = None,
    no_cache: bool = False,
    no_fusion: bool = False,
    no_winograd: bool = False,
    no_pass: str | Sequence[str] = (),
    trust_code: bool = False,
    compute: str | None = None,
    progress: Progress = None,
    warning: Told = None,
) -> EvaluateResult:
    """The first model is what the others are compared with. Raises Error where the data do not fit
    the metrics or a model, and where there is no model.

    Options:
        data: Data set to judge answers on: a file or folder; required
        metric: accuracy, cross_entropy, f1_macro, f1, f1_micro, kl, mae, mcc, mrr, mse, pearson,
            perplexity, recall, same_token, spearman, retrieval, agreement (with the first model) or
            cmd:PROGRAM, which is given the answers as a file of JSON lines and prints a number;
            several with commas (default: what suits the data)
        batch: Rows of the data that run at once
        cmd_seconds: Longest that the program of cmd: may take
        split: Split to read: train, validation or test (default: test, else validation, else all
            rows)
        limit: Largest number of rows to read, drawn by a seed
        score_output: The model's output that metrics are of (default: the one that fits)
        max_length: Tokens that texts are cut to (default: as in training, else what the model
            takes)
        format: the reader, where the path does not tell
        text: column of the text, or of the first of two
        text2: column of the second text
        label: column of the class
        labels: column of any number of classes
        target: column of the number to predict
        tokens: column of words, each of which has a class
        tags: column of the classes of words
        group_column: column of what must not be in two splits, such as an author
        split_column: column that says train, validation or test
        separator: what stands between the classes or words of one cell
        no_header: the first line is a row; columns are called 1, 2, ...
        classes: the classes in order, where those that occur are not all or not in that order
        channels: channels of decoded images: 1 gray, 3 color
        validation_file: file or folder with the rows for validation
        test_file: file or folder with the rows for the test
        validation_fraction: share of the rows to validate on, from 0 to 1
        test_fraction: share of the rows to test on, from 0 to 1
        split_seed: random seed that decides which rows those are
        seed: Random seed for drawn rows and for intervals
        answers: What agreement compares: classes, embeddings, boxes, or by-name (as the names of
            the outputs say)
        least_score: Agreement of boxes: least score of a box that counts
        least_iou: Agreement of boxes: least overlap (IoU) of two that are the same
        neighbours: Agreement of embeddings: how many nearest neighbors to compare
        window: Of a language model: read texts whole, in windows of so many tokens, each with a
            cache; 0: cut them (--max-length)
        stride: Tokens from one window to the next; 0: as many as a window has
        device: Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is
            --isa avx512; auto: a GPU where there is one, else the CPU (default: cpu)
        isa: Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then
            +feature or -feature, as in avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default:
            host)
        no_fallback: Refuse, and list, steps that the device has no kernel for, which kernels of the
            host run otherwise, on copies, and where there are none the interpreter
        backend: cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums
            in double (cpu, cuda, reference)
        optimise: 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
        threads: Threads to use
        verify: Verify the graph after every pass
        cache: Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
        no_cache: Neither read nor write machine code on disk
        no_fusion: Give each node a kernel of its own
        no_winograd: Sums of products as they are written: no Winograd convolutions, whose rounding
            errors are larger
        no_pass: Leave a pass out (repeatable)
        trust_code: Run the machine code that the model's file carries (hone compile): it is a
            program, and can do whatever hone can
        compute: Type that products read activations in: f32 or bf16; sums are f32 (default: as
            stored in the model)
        progress: called with what comes next; True: a bar of tqdm
        warning: called with what one should know, a sentence at a time
    """
    return run_task(_hone._evaluate, locals())


def prune(
    model: Model,
    *,
    sparsity: float = -1,
    method: str = "l1",
    structure: str = "none",
    scope: str = "local",
    rule: str | Sequence[str] = (),
    skip: str | Sequence[str] = (),
    seed: int = 1,
    schedule: str = "one-shot",
    stages: int = 4,
    score_rate: float = 0.001,
    data: Data = None,
    batch: int = 16,
    train_config: str | None = None,
    store: str = "whole",
    device: str | None = None,
    isa: str | None = None,
    no_fallback: bool = False,
    backend: str = "cpu",
    optimise: int = 2,
    threads: int = 1,
    verify: bool = False,
    cache: str | None = None,
    no_cache: bool = False,
    no_fusion: bool = False,
    no_winograd: bool = False,
    no_pass: str | Sequence[str] = (),
    progress: Progress = None,
    warning: Told = None,
) -> PruneResult:
    """Nothing is written. Raises Error where options, data and model do not fit each other.

    Options:
        sparsity: share of the weights, or units, that goes (0.5)
        method: the score: random, l1, l2, movement, snip, wanda or sparsegpt
        structure: none: single weights; 2:4 and the like; heads, neurons, channels or layers
        scope: local: each layer loses the share; global: the lowest of all go
        rule: prune only layers whose weight's name this regular expression matches
        skip: layers that are left as they are: a regular expression
        seed: random seed of the score random
        schedule: one-shot, gradual (more in each stage, by a cubic curve) or iterative (a share of
            what is left in each stage, and the weights begin anew as they were)
        stages: stages of a schedule, with training after each
        score_rate: learning rate of the descent that the score movement follows
        data: What scores, and training, learn from: texts, arrays or a data set; for snip and
            movement with labels
        batch: Samples of the data that run at once
        train_config: TOML file with the keys of hone train: trains what is left, after each stage;
            zeros stay
        store: whole, or sparse: a bitmap and the values that are left, where that is smaller
        device: Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is
            --isa avx512; auto: a GPU where there is one, else the CPU (default: cpu)
        isa: Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then
            +feature or -feature, as in avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default:
            host)
        no_fallback: Refuse, and list, steps that the device has no kernel for, which kernels of the
            host run otherwise, on copies, and where there are none the interpreter
        backend: cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums
            in double (cpu, cuda, reference)
        optimise: 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
        threads: Threads to use
        verify: Verify the graph after every pass
        cache: Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
        no_cache: Neither read nor write machine code on disk
        no_fusion: Give each node a kernel of its own
        no_winograd: Sums of products as they are written: no Winograd convolutions, whose rounding
            errors are larger
        no_pass: Leave a pass out (repeatable)
        progress: called with what comes next; True: a bar of tqdm
        warning: called with what one should know, a sentence at a time
    """
    return run_task(_hone._prune, locals())


def quantize(
    model: Model,
    to: str | None = None,
    *,
    rule: str | Sequence[str] = (),
    skip: str | Sequence[str] = (),
    activations: str | None = None,
    method: str = "nearest",
    damping: float = 0.01,
    activation_order: bool = True,
    bias_correction: bool = False,
    equalise_layers: bool = False,
    smooth_quant: bool = False,
    awq_scaling: bool = False,
    rotate_hadamard: bool = False,
    alpha: float = 0.5,
    on_nonfinite: str = "error",
    calib: Data = None,
    calib_batch: int = 16,
    compute: str | None = None,
    progress: Progress = None,
    warning: Told = None,
) -> QuantizeResult:
    """Raises Error for a rule that matches nothing, a format that does not fit a tensor, options
    that need calibration data where there are none, and where nothing at all is asked for. Nothing
    is written; Model::save() does that.

    Options:
        to: number format of the weights, e.g. mxint8
        rule: address=format, where the last match wins: a regular expression on names, op:NAME or
            name:NAME; LAYER.in and LAYER.bias are a layer's input and bias; the format may be keep
        skip: regular expression on names of tensors that are kept
        activations: number format of the inputs of linear, conv, matmul and attention. int8 and
            uint8.asym, of the tensor or of each row (g1x0), and mxint8 are multiplied as integers
            by such weights (mxint8 by linear's), and round the inputs of layers with weights alone;
            others are simulated; int8@min-max: by a scale that calibration data choose (min-max,
            moving-average, percentile, mse, entropy)
        method: how to round weights: nearest, scale-search or gptq (needs calibration data)
        damping: gptq adds this share of the inputs' mean square to that of each, above 0 to 100
        activation_order: gptq rounds weights of large inputs first
        bias_correction: biases take up the mean error of rounded weights (needs calibration data)
        equalise_layers: first give the weights of consecutive layers the same ranges
        smooth_quant: move outliers of activations that are rounded into the weights first (needs
            calibration data)
        awq_scaling: enlarge weights of large activations before rounding (needs calibration data)
        rotate_hadamard: compute on blocks of 32 to 128 channels that are rotated by a Hadamard
            matrix
        alpha: how far smooth-quant moves outliers, from 0 to 1
        on_nonfinite: what to do with NaN and infinite weights: error, saturate or keep
        calib: calibration data: .txt with a text a line, .npz with arrays named like the inputs, or
            .npy
        calib_batch: samples of the calibration data that run at once
        compute: Type that products of the written model read activations in: f32 or bf16
        progress: called with what comes next; True: a bar of tqdm
        warning: called with what one should know, a sentence at a time
    """
    return run_task(_hone._quantize, locals())


def sweep(
    model: Model,
    *,
    formats: str | Sequence[str] = (),
    sparsity: str | None = None,
    methods: str | Sequence[str] = (),
    structure: str = "none",
    scope: str = "local",
    data: Data = None,
    metric: str | Sequence[str] = (),
    data_split: str | None = None,
    data_limit: int | None = None,
    score_output: str | None = None,
    max_length: int | None = None,
    data_format: str | None = None,
    data_text: str | None = None,
    data_text2: str | None = None,
    data_label: str | None = None,
    data_labels: str | None = None,
    data_target: str | None = None,
    data_tokens: str | None = None,
    data_tags: str | None = None,
    data_group_column: str | None = None,
    data_split_column: str | None = None,
    data_separator: str = " ",
    data_no_header: bool = False,
    data_classes: str | Sequence[str] = (),
    data_channels: int = 3,
    data_validation_file: str | None = None,
    data_test_file: str | None = None,
    data_validation_fraction: float = 0,
    data_test_fraction: float = 0,
    data_split_seed: int = 0,
    with_activations: bool = False,
    train: bool = False,
    train_config: str | None = None,
    measurements: str | None = None,
    to: str | None = None,
    rule: str | Sequence[str] = (),
    skip: str | Sequence[str] = (),
    activations: str | None = None,
    method: str = "nearest",
    damping: float = 0.01,
    activation_order: bool = True,
    bias_correction: bool = False,
    equalise_layers: bool = False,
    smooth_quant: bool = False,
    awq_scaling: bool = False,
    rotate_hadamard: bool = False,
    alpha: float = 0.5,
    on_nonfinite: str = "error",
    calib: Data = None,
    calib_batch: int = 16,
    compute: str = "f32",
    device: str | None = None,
    isa: str | None = None,
    no_fallback: bool = False,
    backend: str = "cpu",
    optimise: int = 2,
    threads: int = 1,
    verify: bool = False,
    cache: str | None = None,
    no_cache: bool = False,
    no_fusion: bool = False,
    no_winograd: bool = False,
    no_pass: str | Sequence[str] = (),
    trust_code: bool = False,
    progress: Progress = None,
    warning: Told = None,
) -> SweepResult:
    """Raises Error where neither or both of formats and sparsities are given, and where data and
    model do not fit.

    Options:
        formats: Formats and patterns, e.g. 'int{4..32}.f{2,4,8},mxint{2..8}'
        sparsity: Prune instead, to these shares: 0.1:0.9, 0.5:0.9:0.05 or 0.5,0.75
        methods: Scores to prune by, e.g. random,l1 (hone prune --help lists them)
        structure: What is pruned: none, heads, neurons, channels or layers
        scope: local or global
        data: What quality is measured on, half of it to choose by and half to report: a file as of
            --calib, or a data set (default: that of --calib; where the method learns, it learns
            from the other half)
        metric: What answers to data with labels are judged by: accuracy, cross_entropy, f1_macro,
            f1, f1_micro, kl, mae, mcc, mrr, mse, pearson, perplexity, recall, same_token, spearman
            (default: what suits them)
        data_split: Split to read: train, validation or test (default: test, else validation, else
            all rows)
        data_limit: Largest number of rows to read, drawn by a seed
        score_output: The model's output that metrics are of (default: the one that fits)
        max_length: Tokens that texts are cut to (default: as in training, else what the model
            takes)
        data_format: the reader, where the path does not tell
        data_text: column of the text, or of the first of two
        data_text2: column of the second text
        data_label: column of the class
        data_labels: column of any number of classes
        data_target: column of the number to predict
        data_tokens: column of words, each of which has a class
        data_tags: column of the classes of words
        data_group_column: column of what must not be in two splits, such as an author
        data_split_column: column that says train, validation or test
        data_separator: what stands between the classes or words of one cell
        data_no_header: the first line is a row; columns are called 1, 2, ...
        data_classes: the classes in order, where those that occur are not all or not in that order
        data_channels: channels of decoded images: 1 gray, 3 color
        data_validation_file: file or folder with the rows for validation
        data_test_file: file or folder with the rows for the test
        data_validation_fraction: share of the rows to validate on, from 0 to 1
        data_test_fraction: share of the rows to test on, from 0 to 1
        data_split_seed: random seed that decides which rows those are
        with_activations: The inputs of products in each format too
        train: Train the model in each format as well, beside quantizing it, or after pruning, where
            zeros stay: for one epoch on the training rows of --data, or as --train-config says
        train_config: TOML file with the keys of hone train --config
        measurements: File in which measurements are remembered between runs (default:
            measurements.txt in --output)
        to: number format of the weights, e.g. mxint8
        rule: address=format, where the last match wins: a regular expression on names, op:NAME or
            name:NAME; LAYER.in and LAYER.bias are a layer's input and bias; the format may be keep
        skip: regular expression on names of tensors that are kept
        activations: number format of the inputs of linear, conv, matmul and attention. int8 and
            uint8.asym, of the tensor or of each row (g1x0), and mxint8 are multiplied as integers
            by such weights (mxint8 by linear's), and round the inputs of layers with weights alone;
            others are simulated; int8@min-max: by a scale that calibration data choose (min-max,
            moving-average, percentile, mse, entropy)
        method: how to round weights: nearest, scale-search or gptq (needs calibration data)
        damping: gptq adds this share of the inputs' mean square to that of each, above 0 to 100
        activation_order: gptq rounds weights of large inputs first
        bias_correction: biases take up the mean error of rounded weights (needs calibration data)
        equalise_layers: first give the weights of consecutive layers the same ranges
        smooth_quant: move outliers of activations that are rounded into the weights first (needs
            calibration data)
        awq_scaling: enlarge weights of large activations before rounding (needs calibration data)
        rotate_hadamard: compute on blocks of 32 to 128 channels that are rotated by a Hadamard
            matrix
        alpha: how far smooth-quant moves outliers, from 0 to 1
        on_nonfinite: what to do with NaN and infinite weights: error, saturate or keep
        calib: calibration data: .txt with a text a line, .npz with arrays named like the inputs, or
            .npy
        calib_batch: samples of the calibration data that run at once
        compute: Type that products of the written model read activations in: f32 or bf16
        device: Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is
            --isa avx512; auto: a GPU where there is one, else the CPU (default: cpu)
        isa: Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then
            +feature or -feature, as in avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default:
            host)
        no_fallback: Refuse, and list, steps that the device has no kernel for, which kernels of the
            host run otherwise, on copies, and where there are none the interpreter
        backend: cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums
            in double (cpu, cuda, reference)
        optimise: 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
        threads: Threads to use
        verify: Verify the graph after every pass
        cache: Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
        no_cache: Neither read nor write machine code on disk
        no_fusion: Give each node a kernel of its own
        no_winograd: Sums of products as they are written: no Winograd convolutions, whose rounding
            errors are larger
        no_pass: Leave a pass out (repeatable)
        trust_code: Run the machine code that the model's file carries (hone compile): it is a
            program, and can do whatever hone can
        progress: called with what comes next; True: a bar of tqdm
        warning: called with what one should know, a sentence at a time
    """
    return run_task(_hone._sweep, locals())


def train(
    model: Model,
    data: Data = None,
    *,
    folder: str | None = None,
    resume: bool = False,
    skip_bad: bool = False,
    epochs: int = 3,
    steps: int = 0,
    batch: int = 32,
    parts: int = 1,
    window: int = 8,
    in_order: bool = False,
    max_length: int = 0,
    recompute: int = 0,
    optimizer: str = "adamw",
    rate: float = 0,
    decay: float = -1,
    optimizer_option: str | Sequence[str] = (),
    rule: str | Sequence[str] = (),
    decay_all: bool = False,
    clip_norm: float = 0,
    clip_value: float = 0,
    dropout: float = 0,
    dropout_layers: str | Sequence[str] = (),
    loss: str | None = None,
    class_weights: str | None = None,
    label_smoothing: float = 0,
    head: str = "auto",
    pooling: str = "auto",
    predictions: str | None = None,
    from_scratch: bool = False,
    lora: str | Sequence[str] = (),
    lora_rank: int = 8,
    lora_alpha: float = 0,
    lora_dropout: float = 0,
    rslora: bool = False,
    dora: bool = False,
    keep_zeros: bool = False,
    qat: str | Sequence[str] = (),
    learn_scales: bool = False,
    teacher: str | None = None,
    temperature: float = 2,
    distill_weight: float = 0.5,
    distill_layers: str | Sequence[str] = (),
    distill_layer_weight: float = 1,
    image_size: int = 0,
    crop_padding: int = 0,
    flip: bool = False,
    metric: str | None = None,
    validate_every: int = 0,
    checkpoint_every: int = 0,
    log_every: int = 10,
    patience: int = 0,
    seed: int = 1,
    schedule: str = "linear",
    warmup: float = 0,
    final_rate: float = 0,
    step_every: float = 0.3,
    step_factor: float = 0.1,
    format: str | None = None,
    text: str | None = None,
    text2: str | None = None,
    label: str | None = None,
    labels: str | None = None,
    target: str | None = None,
    tokens: str | None = None,
    tags: str | None = None,
    group_column: str | None = None,
    split_column: str | None = None,
    separator: str = " ",
    no_header: bool = False,
    classes: str | Sequence[str] = (),
    channels: int = 3,
    validation_file: str | None = None,
    test_file: str | None = None,
    validation_fraction: float = 0,
    test_fraction: float = 0,
    split_seed: int = 0,
    device: str | None = None,
    isa: str | None = None,
    no_fallback: bool = False,
    backend: str = "cpu",
    optimise: int = 2,
    threads: int = 1,
    verify: bool = False,
    cache: str | None = None,
    no_cache: bool = False,
    no_fusion: bool = False,
    no_winograd: bool = False,
    no_pass: str | Sequence[str] = (),
    compute: str | None = None,
    progress: Progress = None,
    warning: Told = None,
) -> TrainResult:
    """Raises Error before the first step where options, data and model do not fit each other; and
    for a loss that is no number, naming the first operation that computed one. Checkpoints and logs
    go into folder.

    Options:
        data: The data: a file or a folder
        folder: Folder for checkpoints and logs (default: OUTPUT without its ending, and .run)
        resume: Go on from the folder's last checkpoint, where there is one
        skip_bad: Leave out rows that can't be used
        epochs: how often all rows are seen
        steps: how many updates are made, instead of epochs
        batch: rows of one update
        parts: in how many parts the rows of an update run, one after the other, to spare memory
        window: batches of texts whose rows are sorted by length together, so that little is padded;
            1: none
        in_order: take rows in the data's order in every epoch, instead of another each time
        max_length: tokens that a text is cut to; 0: as many as the model takes
        recompute: compute activations again for the backward pass, and keep one of so many places
            where a single value goes on; 0: keep all
        optimizer: sgd, adam, adamw, lion or adafactor
        rate: the learning rate; 0: the optimizer's usual one
        decay: weight decay; -1: the optimizer's usual one
        optimizer_option: one of the optimizer's own, e.g. beta2=0.98
        rule: weights with a rule of their own: NAMES=frozen, NAMES=trained, NAMES=lazy or
            NAMES=rate:0.1,decay:0, where NAMES is a regular expression or op:NAME; the first that
            matches counts
        decay_all: let biases and weights of normalizations decay, too
        clip_norm: largest norm of all gradients together; 0: any
        clip_value: largest magnitude of an element of a gradient; 0: any
        dropout: share of what the last layer reads that is left out
        dropout_layers: layers whose inputs go through dropout instead: a regular expression of
            weights' names
        loss: cross-entropy, bce, mse or kl (default: what suits the labels)
        class_weights: weights of the classes in cross-entropy: "balanced", or a number for each
            class, separated by commas
        label_smoothing: cross-entropy: share of each row's target that all classes have alike
        head: the last layer: auto, keep, replace or add
        pooling: of an added layer behind features of words: auto (their mean), mean or first
        predictions: the output that labels are about (default: found)
        from_scratch: begin with random weights of this architecture
        lora: train low-rank adapters beside these layers, and the last layer, and nothing else: a
            regular expression of weights' names, or op:linear, op:conv, op:gather
        lora_rank: rank of the adapters
        lora_alpha: what adapters compute counts alpha / rank times; 0: once
        lora_dropout: share of what adapters read that is left out
        rslora: adapters count alpha / sqrt(rank) times
        dora: adapters learn the lengths of the weights' rows, too
        keep_zeros: weights that are 0 stay 0: those that were pruned
        qat: train weights, and what layers read, rounded to formats, and write them packed: a rule
            as of hone quantize, e.g. op:linear=int4.channel, op:conv.in=int8
        learn_scales: learn the scales of the formats of qat, too
        teacher: a model whose predictions are learned beside the labels, or what its layers compute
        temperature: what the predictions of both are divided by before they are compared
        distill_weight: share of the loss that the teacher's predictions make; the labels make the
            rest
        distill_layers: STUDENT=TEACHER, a layer that learns to compute what one of the teacher's
            does: the names of weights without .weight, or of attention, whose probabilities are
            compared
        distill_layer_weight: how often the mean squared differences of those layers count
        image_size: side that images are resized to; 0: as the model takes them
        crop_padding: black around training images, from which a part of their size is cut anywhere
        flip: mirror training images as often as not
        metric: what validation goes by, e.g. accuracy, f1, mcc, mse (default: what suits the
            labels)
        validate_every: steps between two validations; 0: after each epoch
        checkpoint_every: steps between two checkpoints; 0: after each epoch
        log_every: steps between two entries of the log
        patience: end after so many validations in a row that have not moved the metric on; 0: never
        seed: random seed for the order of rows, augmentation, dropout and new weights
        schedule: how the rate goes on after the warm-up: constant, linear, cosine, step or
            one-cycle
        warmup: steps in which the rate rises to its value; below 1: a share of all steps
        final_rate: where linear and cosine schedules end, as a share of the rate
        step_every: steps between two falls of the step schedule, counted from the first; below 1: a
            share of all
        step_factor: what the step schedule multiplies the rate by
        format: the reader, where the path does not tell
        text: column of the text, or of the first of two
        text2: column of the second text
        label: column of the class
        labels: column of any number of classes
        target: column of the number to predict
        tokens: column of words, each of which has a class
        tags: column of the classes of words
        group_column: column of what must not be in two splits, such as an author
        split_column: column that says train, validation or test
        separator: what stands between the classes or words of one cell
        no_header: the first line is a row; columns are called 1, 2, ...
        classes: the classes in order, where those that occur are not all or not in that order
        channels: channels of decoded images: 1 gray, 3 color
        validation_file: file or folder with the rows for validation
        test_file: file or folder with the rows for the test
        validation_fraction: share of the rows to validate on, from 0 to 1
        test_fraction: share of the rows to test on, from 0 to 1
        split_seed: random seed that decides which rows those are
        device: Device that runs the model: cpu[:VARIANT], cuda[:VARIANT], reference; cpu:avx512 is
            --isa avx512; auto: a GPU where there is one, else the CPU (default: cpu)
        isa: Instruction set to generate code for: avx2, avx512, avx512_bf16, amx or host, then
            +feature or -feature, as in avx2+avx_vnni, host-amx_bf16, host+amx_emulated (default:
            host)
        no_fallback: Refuse, and list, steps that the device has no kernel for, which kernels of the
            host run otherwise, on copies, and where there are none the interpreter
        backend: cpu: compiled code; cuda: code for an NVIDIA GPU; reference: slow and obvious, sums
            in double (cpu, cuda, reference)
        optimise: 0: as it is, interpreted; 1: canonical form, interpreted; 2: compiled
        threads: Threads to use
        verify: Verify the graph after every pass
        cache: Folder for machine code (default: $HONE_CACHE or ~/.cache/hone)
        no_cache: Neither read nor write machine code on disk
        no_fusion: Give each node a kernel of its own
        no_winograd: Sums of products as they are written: no Winograd convolutions, whose rounding
            errors are larger
        no_pass: Leave a pass out (repeatable)
        compute: Type that products read activations in: f32 or bf16; sums are f32 (default: as
            stored in the model)
        progress: called with what comes next; True: a bar of tqdm
        warning: called with what one should know, a sentence at a time
    """
    return run_task(_hone._train, locals())
