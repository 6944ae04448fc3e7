"""Tasks on models. Written by generate_api from the tables of options."""

from collections.abc import Sequence

from hone import _hone
from hone._hone import QuantizeResult, Graph, Model, Session
from hone._task import Progress, Told, made, run_task

__all__ = ["compile", "quantize"]


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
    """A model, or a graph, made ready to run. Throws Error for options that are not accepted, and
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
        compute: What products read activations in: f32 or bf16; sums are f32 (default: as stored in
            the model)
        trust_code: Run the machine code that the model's file carries (hone compile): it is a
            program, and can do whatever hone can
        memory_limit: Bytes of weights as laid out, arenas, scratch memory and outputs that callers
            keep; beyond them is a MemoryError. 0: the limit of the process alone, which holds
            always
    """
    return made(_hone._compile, locals())


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
    calib: str | None = None,
    calib_batch: int = 16,
    compute: str | None = None,
    progress: Progress = None,
    warning: Told = None,
) -> QuantizeResult:
    """Throws Error for a rule that matches nothing, a format that does not fit a tensor, options
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
        method: how weights are rounded: nearest, scale-search or gptq (needs calibration data)
        damping: gptq adds this share of the inputs' mean square to that of each, above 0 to 100
        activation_order: gptq rounds weights of large inputs first
        bias_correction: biases take up the mean error of rounded weights (needs calibration data)
        equalise_layers: give weights of consecutive layers the same ranges first
        smooth_quant: move outliers of activations that are rounded into the weights first (needs
            calibration data)
        awq_scaling: enlarge weights of large activations before rounding (needs calibration data)
        rotate_hadamard: compute on blocks of 32 to 128 channels that are rotated by a Hadamard
            matrix
        alpha: how far smooth-quant moves outliers, from 0 to 1
        on_nonfinite: what NaN and infinite weights are met with: error, saturate or keep
        calib: calibration data: .txt with a text a line, .npz with arrays named like the inputs, or
            .npy
        calib_batch: samples of it that run at once (16)
        compute: Store in the model what products read activations in: f32 or bf16
        progress: called with what comes next; True: a bar of tqdm
        warning: called with what one should know, a sentence at a time
    """
    return run_task(_hone._quantize, locals())
