"""Add small ONNX node tests to ARCHIVE (tests/data/onnx.tar) for what older collections of the standard's do not hold.

usage: onnx_fixtures.py ARCHIVE [--known DIR]

test_NAME/{model.onnx,test_data_set_0/{input,output}_N.pb}, in the layout of the standard's own tests:
- operators of the main domain, and versions of them, that --known (the node tests of ONNX 1.12: opset 17) lacks, up to
  opset 28, and of ai.onnx.ml and ai.onnx.preview; inputs and outputs come from the `onnx` package's backend cases and
  its reference evaluator;
- operators of com.microsoft and further ones of ai.onnx.ml, whose outputs come from ONNX Runtime, or from NumPy where
  its CPU provider lacks them.
Cases that differ from a known one only in their opset are kept once for each operator and version. What ARCHIVE has
already stays as it is; to take a case out, or to make it anew, unpack, remove it, and pack (onnx_archive.py).
"""
import argparse
import json
import math
import pathlib
import tempfile
import warnings

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import onnx_archive

NEWEST = 28
DOMAINS = {"", "ai.onnx.ml", "ai.onnx.preview"}
MOST_BYTES = 6_000  # of one case; larger ones are listed in LARGE
LARGE = {
    "attention_3d_diff_heads_with_past_and_present", "attention_3d_with_past_and_present_qk_matmul_softmax",
    "attention_4d_gqa_with_past_and_present_fp16", "attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal",
    "attention_4d_diff_heads_with_past_and_present_mask4d", "attention_3d_gqa", "attention_4d_gqa_causal",
    "attention_4d_with_past_and_present_qk_matmul_bias",
}
# Random results; decoders of image files.
LEFT_OUT = ("bernoulli", "image_decoder", "training_dropout")
# In bf16, which one rounding at the end is more exact than.
ROUNDED_AT_EVERY_STEP = {"attention_3d_causal_bf16", "attention_4d_attn_mask_causal_bf16", "attention_4d_causal_bf16"}
# Any of their versions may carry a case: it gets the lowest that has its types and attributes.
BY_TYPES = {"QuantizeLinear", "DequantizeLinear", "Cast", "CastLike"}

parser = argparse.ArgumentParser()
parser.add_argument("archive", type=pathlib.Path)
parser.add_argument("--known", type=pathlib.Path, default=pathlib.Path("/usr/share/libonnx-testdata/data/node"))
args = parser.parse_args()
unpacked = tempfile.TemporaryDirectory()
cases = pathlib.Path(unpacked.name)


def proto_of(value, type_proto):
    """The serialisable form of an input or output: tensors, sequences and optionals."""
    if isinstance(value, onnx.TensorProto):
        return value
    kind = type_proto.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value)
    if kind == "optional_type":
        return numpy_helper.from_optional(value)
    return numpy_helper.from_array(np.asarray(value))


def write(name, model, inputs, outputs, rtol=1e-3, atol=1e-7):
    data = cases / f"test_{name}" / "test_data_set_0"
    if data.exists():
        return
    data.mkdir(parents=True)
    if (rtol, atol) != (1e-3, 1e-7):  # other than those that every reader of such folders assumes
        (data.parent / "data.json").write_text(json.dumps({"rtol": rtol, "atol": atol}) + "\n")
    (data.parent / "model.onnx").write_bytes(model.SerializeToString())
    for kind, values, infos in (("input", inputs, model.graph.input), ("output", outputs, model.graph.output)):
        for i, (value, info) in enumerate(zip(values, infos)):
            (data / f"{kind}_{i}.pb").write_bytes(proto_of(value, info.type).SerializeToString())


def bytes_of(model, *lists):
    return len(model.SerializeToString()) + sum(
        len(proto_of(v, i.type).SerializeToString())
        for values, infos in zip(lists, (model.graph.input, model.graph.output)) for v, i in zip(values, infos))


# --- the main domain ------------------------------------------------------------------------------------------------

def type_text(type_proto):
    kind = type_proto.WhichOneof("value")
    if kind == "sequence_type":
        return f"seq({type_text(type_proto.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_text(type_proto.optional_type.elem_type)})"
    names = {"FLOAT": "float", "DOUBLE": "double"}
    name = T.DataType.Name(type_proto.tensor_type.elem_type)
    return f"tensor({names.get(name, name.lower())})"


def accepted(model, opset):
    """Whether the schemas of `opset` have the attributes and the types of the model's nodes."""
    model.opset_import[0].version = opset
    try:
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
    except Exception:  # noqa: BLE001 - the checker's own errors have no common base
        return False
    types = {v.name: type_text(v.type) for v in [*model.graph.input, *model.graph.output]}
    for node in model.graph.node:
        schema = onnx.defs.get_schema(node.op_type, opset)
        allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
        for names, formals in ((node.input, schema.inputs), (node.output, schema.outputs)):
            for i, name in enumerate(names):
                formal = formals[min(i, len(formals) - 1)]
                if name in types and types[name] not in allowed.get(formal.type_str, {formal.type_str}):
                    return False
    return True


def lower(model):
    """Sets the opset to one that is supported; False where none accepts the model."""
    version = min(model.opset_import[0].version, NEWEST)
    by_types = all(n.op_type in BY_TYPES for n in model.graph.node)
    model.ir_version = min(model.ir_version, 11 if version <= 23 else 14)
    return any(accepted(model, v) for v in (range(18, NEWEST + 1) if by_types else [version]))


def versions(model):
    opset = model.opset_import[0].version
    return {(n.op_type, onnx.defs.get_schema(n.op_type, opset).since_version) for n in model.graph.node}


def without_opset(model):
    plain = onnx.ModelProto()
    plain.graph.CopyFrom(model.graph)
    for info in plain.graph.input:  # older files give their inputs' types with other names of dimensions
        info.ClearField("type")
    for info in plain.graph.output:
        info.ClearField("type")
    return plain.SerializeToString()


def write_standard():
    np.random.seed(0)
    from onnx.backend.test.case.node import collect_testcases
    seen = set()
    for case in sorted(collect_testcases(None), key=lambda c: (bytes_of(c.model, *c.data_sets[0]), c.name)):
        model, name = case.model, case.name.removeprefix("test_")
        inputs, outputs = case.data_sets[0]
        if "expanded" in name or name.startswith(LEFT_OUT) or name in ROUNDED_AT_EVERY_STEP:
            continue
        domains = {o.domain for o in model.opset_import}
        if not domains <= DOMAINS:
            continue
        if domains != {""}:
            if bytes_of(model, inputs, outputs) <= MOST_BYTES:
                write(name, model, inputs, outputs, case.rtol, case.atol)
            continue
        known = args.known / case.name / "model.onnx"
        if not lower(model) or (bytes_of(model, inputs, outputs) > MOST_BYTES and name not in LARGE):
            continue
        if known.exists():
            older = onnx.load(known)
            if versions(older) == versions(model):
                continue
            if without_opset(older) == without_opset(model):
                if versions(model) <= seen:
                    continue
                seen |= versions(model)
        write(name, model, inputs, outputs, case.rtol, case.atol)


# --- single nodes ---------------------------------------------------------------------------------------------------

def single(name, op, inputs, outputs=1, domain="", version=NEWEST, evaluate=None, constants=(), domain_version=1,
           **attributes):
    """One node; `inputs` by name (None: absent). Values of `outputs` (a number or names, "" for absent) come from
    `evaluate`: of inputs → list of arrays, or of the model by ONNX Runtime (com.microsoft) or the reference."""
    names = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(op, [k if v is not None else "" for k, v in inputs.items()], names, domain=domain,
                            **attributes)
    given = {k: v for k, v in inputs.items() if v is not None and k not in constants}
    wanted = [n for n in names if n]

    def model_with(output_infos):
        graph = helper.make_graph(
            [node], f"test_{name}", [info_of(k, v) for k, v in given.items()], output_infos,
            [numpy_helper.from_array(inputs[k], k) for k in constants])
        imports = [helper.make_opsetid("", version)] + ([helper.make_opsetid(domain, domain_version)] if domain else [])
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    if evaluate:
        values = evaluate(**inputs)
    elif domain:
        import onnxruntime
        onnxruntime.set_default_logger_severity(3)
        untyped = model_with([onnx.ValueInfoProto(name=n) for n in wanted])
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(untyped.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        values = session.run(None, given)
    else:
        from onnx.reference import ReferenceEvaluator
        untyped = model_with([onnx.ValueInfoProto(name=n) for n in wanted])
        values = ReferenceEvaluator(untyped).run(None, given)
    # Sums of ONNX Runtime are those of f32, in an order of its own.
    write(name, model_with([info_of(n, v) for n, v in zip(wanted, values)]), given.values(), values,
          atol=1e-5 if domain else 1e-7)


def info_of(name, value):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def f32(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def u8(*shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


def i8(*shape):
    return rng.integers(-128, 128, shape, dtype=np.int8)


def of(value, dtype=np.float32):
    return np.array(value, dtype)


def write_small_standard():
    """Cases whose originals are large, and versions between the newest and the known ones."""
    single("mish_small", "Mish", {"x": f32(2, 3)}, version=18)
    x = f32(1, 2, 5, 5)
    single("lppool_2d_pads_small", "LpPool", {"x": x}, version=18, kernel_shape=[3, 3], pads=[1, 1, 1, 1], p=3)
    single("lppool_2d_strides_small", "LpPool", {"x": x}, version=22, kernel_shape=[2, 2], strides=[2, 2])
    single("averagepool_3d_small", "AveragePool", {"x": f32(1, 1, 4, 4, 4)}, version=19, kernel_shape=[2, 2, 2],
           dilations=[2, 1, 1], pads=[1, 0, 0, 1, 0, 0], count_include_pad=1)
    single("maxpool_3d_small", "MaxPool", {"x": f32(1, 1, 4, 4, 4)}, version=22, kernel_shape=[2, 2, 2],
           strides=[2, 2, 2])

    half = {"x": f32(2, 5, scale=9).astype(np.float16), "scale": of([.11, .23], np.float16)}
    single("quantizelinear_float16", "QuantizeLinear", {**half, "zero": of([3, 7], np.uint8)}, version=19, axis=0)
    single("quantizelinear_float16_precision", "QuantizeLinear", half, axis=0, precision=T.FLOAT)
    single("dequantizelinear_output_dtype", "DequantizeLinear", {"x": i8(2, 5), "scale": of(.1)},
           output_dtype=T.FLOAT16)
    single("dequantizelinear_blocked_last_block_is_cut", "DequantizeLinear",
           {"x": i8(2, 5), "scale": f32(2, 3), "zero": i8(2, 3)}, version=21, block_size=2,
           evaluate=lambda x, scale, zero: [
               (x - zero.repeat(2, 1)[:, :5].astype(np.float32)) * scale.repeat(2, 1)[:, :5]])

    def group_norm_18(x, scale, bias):  # one factor for each group; since version 21 one for each channel
        groups = x.reshape(2, 2, -1)
        normal = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-5)
        return [(normal * scale[None, :, None] + bias[None, :, None]).reshape(x.shape).astype(np.float32)]

    single("group_normalization_opset18", "GroupNormalization", {"x": f32(2, 4, 3), "scale": f32(2), "bias": f32(2)},
           version=18, evaluate=group_norm_18, num_groups=2)


# --- com.microsoft --------------------------------------------------------------------------------------------------

MS = "com.microsoft"


def ms(name, op, inputs, outputs=1, **more):
    single(f"ms_{name}", op, inputs, outputs, domain=MS, version=17, **more)


def write_quantized():
    a, b = u8(2, 3, 4), u8(3, 4)
    scales = {"a": of(.1), "b": of(.05), "y": of(.12)}
    ms("qlinear_add", "QLinearAdd", {"a": a, "a_scale": scales["a"], "a_zero": of(120, np.uint8), "b": b,
                                     "b_scale": scales["b"], "b_zero": of(9, np.uint8), "y_scale": scales["y"],
                                     "y_zero": of(130, np.uint8)})
    ms("qlinear_add_int8", "QLinearAdd", {"a": i8(2, 4), "a_scale": scales["a"], "a_zero": of(0, np.int8),
                                          "b": i8(2, 1), "b_scale": scales["b"], "b_zero": of(-9, np.int8),
                                          "y_scale": scales["y"], "y_zero": of(3, np.int8)})
    ms("qlinear_mul", "QLinearMul", {"a": a, "a_scale": scales["a"], "a_zero": of(120, np.uint8), "b": b,
                                     "b_scale": scales["b"], "b_zero": of(9, np.uint8), "y_scale": of(.5),
                                     "y_zero": of(100, np.uint8)})
    one = {"x": u8(3, 5), "x_scale": of(.05), "x_zero": of(128, np.uint8), "y_scale": of(1 / 256),
           "y_zero": of(0, np.uint8)}
    ms("qlinear_sigmoid", "QLinearSigmoid", one)
    ms("qlinear_leaky_relu", "QLinearLeakyRelu", {**one, "y_scale": of(.04), "y_zero": of(40, np.uint8)}, alpha=.2)
    image = {"x": u8(2, 3, 4, 4), "x_scale": of(.05), "x_zero": of(128, np.uint8), "y_scale": of(.0237),
             "y_zero": of(110, np.uint8)}
    ms("qlinear_global_average_pool", "QLinearGlobalAveragePool", image)
    ms("qlinear_global_average_pool_nhwc", "QLinearGlobalAveragePool", {**image, "x": u8(2, 4, 4, 3)},
       channels_last=1)
    ms("qlinear_average_pool", "QLinearAveragePool", image, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    ms("qlinear_average_pool_include_pad", "QLinearAveragePool", image, kernel_shape=[2, 2], pads=[1, 1, 0, 0],
       count_include_pad=1)
    ms("qlinear_concat", "QLinearConcat", {"y_scale": of(.1), "y_zero": of(7, np.uint8), "a": u8(2, 3),
                                           "a_scale": of(.05), "a_zero": of(100, np.uint8), "b": u8(2, 2),
                                           "b_scale": of(.2), "b_zero": of(3, np.uint8)}, axis=1,
       constants=("y_scale", "y_zero", "a_scale", "a_zero", "b_scale", "b_zero"))
    soft = {"x": u8(2, 3, 4), "x_scale": of(.05), "x_zero": of(128, np.uint8), "y_scale": of(1 / 256),
            "y_zero": of(0, np.uint8)}
    ms("qlinear_softmax", "QLinearSoftmax", soft, axis=-1, opset=13)
    dynamic = {"a": f32(3, 8), "b": i8(8, 4), "b_scale": of(.02)}
    ms("dynamic_quantize_matmul", "DynamicQuantizeMatMul", dynamic)
    ms("dynamic_quantize_matmul_channels", "DynamicQuantizeMatMul",
       {**dynamic, "b": u8(8, 4), "b_scale": of([.01, .02, .03, .04]), "b_zero": of([1, 128, 99, 200], np.uint8),
        "bias": f32(4)})
    ms("matmul_integer_to_float", "MatMulIntegerToFloat",
       {"a": u8(3, 8), "b": i8(8, 4), "a_scale": of(.02), "b_scale": of(.03)})
    ms("matmul_integer_to_float_channels", "MatMulIntegerToFloat",
       {"a": u8(2, 3, 8), "b": u8(8, 4), "a_scale": of(.02), "b_scale": of([.01, .02, .03, .04]),
        "a_zero": of(117, np.uint8), "b_zero": of([1, 128, 99, 200], np.uint8), "bias": f32(4)})
    ms("quantize_linear_int16", "QuantizeLinear", {"x": f32(2, 3, scale=300), "scale": of(.05),
                                                  "zero": of(-4, np.int16)})
    ms("quantize_linear_axis", "QuantizeLinear", {"x": f32(2, 3), "scale": of([.01, .02, .03]),
                                                 "zero": of([1, 2, 3], np.uint8)}, axis=1)
    ms("dequantize_linear_uint16", "DequantizeLinear", {"x": rng.integers(0, 65536, (2, 3), dtype=np.uint16),
                                                       "scale": of(.05), "zero": of(32768, np.uint16)})
    ms("qgemm", "QGemm", {"a": u8(3, 8), "a_scale": of(.02), "a_zero": of(117, np.uint8), "b": i8(4, 8),
                          "b_scale": of(.03), "b_zero": of(2, np.int8), "c": rng.integers(-99, 99, 4, dtype=np.int32),
                          "y_scale": of(.1), "y_zero": of(128, np.uint8)}, transB=1, alpha=.5)
    write_matmul_nbits()


def write_matmul_nbits():
    for bits, k, n, block, zero, bias in ((4, 32, 9, 16, None, False), (4, 40, 9, 16, "packed", False),
                                          (4, 64, 5, 32, "packed", True), (4, 64, 5, 32, "float", True),
                                          (8, 32, 9, 16, "packed", False), (2, 32, 9, 16, None, False)):
        blocks, per_byte = math.ceil(k / block), 8 // bits
        inputs = {"a": f32(2, k), "b": u8(n, blocks, block * bits // 8), "scales": f32(n * blocks, scale=.1)}
        inputs["zero"] = {"packed": u8(n * math.ceil(blocks / per_byte)), "float": f32(n * blocks) + 8,
                          None: None}[zero]
        if bias:
            inputs |= {"g_idx": None, "bias": f32(n)}
        if inputs["zero"] is None and not bias:
            del inputs["zero"]
        ms(f"matmul_nbits_{bits}_block{block}_zero_{zero or 'none'}{'_bias' if bias else ''}", "MatMulNBits", inputs,
           K=k, N=n, bits=bits, block_size=block, constants=("b", "scales") + (("zero",) if zero else ()))
    ms("gather_block_quantized", "GatherBlockQuantized",
       {"data": u8(20, 16), "indices": of([[0, 4], [2, 19]], np.int64), "scales": f32(20, 2)}, bits=4, block_size=16,
       gather_axis=0, quantize_axis=1, constants=("data", "scales"))
    ms("gather_block_quantized_zero", "GatherBlockQuantized",
       {"data": u8(5, 16), "indices": of([1, 3], np.int64), "scales": f32(5, 2), "zero": u8(5, 1)}, bits=4,
       block_size=16, gather_axis=0, quantize_axis=1, constants=("data", "scales", "zero"))


def write_activations():
    x = f32(2, 3, 8)
    ms("gelu", "Gelu", {"x": x})
    ms("fast_gelu", "FastGelu", {"x": x, "bias": f32(8)})
    ms("bias_gelu", "BiasGelu", {"x": x, "bias": f32(8)})
    ms("quick_gelu", "QuickGelu", {"x": x}, alpha=1.5)
    ms("bias_split_gelu", "BiasSplitGelu", {"x": f32(2, 3, 8), "bias": f32(8)}, evaluate=lambda x, bias: [
        ((x + bias)[..., :4] * .5 * (x + bias)[..., 4:] * (1 + np.vectorize(math.erf)((x + bias)[..., 4:] / 2**.5)))
        .astype(np.float32)])
    ms("bias_add", "BiasAdd", {"x": x, "bias": f32(8), "skip": f32(2, 3, 8)},
       evaluate=lambda x, bias, skip: [x + bias + skip])
    ms("expand_dims", "ExpandDims", {"x": f32(2, 3), "axis": of(1, np.int32)}, constants=("axis",))
    ms("trilu", "Trilu", {"x": f32(3, 4), "k": of(1, np.int64)}, upper=0)
    ms("range", "Range", {"start": of(1), "limit": of(3), "delta": of(.5)})
    ms("pad", "Pad", {"x": f32(2, 3), "pads": of([0, 1, 1, 0], np.int64), "value": of([7])}, mode="constant")
    ms("unique", "Unique", {"x": of([2, 1, 1, 3, 2])}, 3)


def write_normalisations():
    x, gamma, beta = f32(2, 3, 8), f32(8), f32(8)
    single("layer_normalization_opset1", "LayerNormalization", {"x": x, "scale": gamma, "b": beta}, version=16,
           domain="", epsilon=1e-3, evaluate=lambda x, scale, b: [
               ((x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3) * scale + b)
               .astype(np.float32)])

    def rms(x, scale):
        return [(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale).astype(np.float32)]

    single("simplified_layer_normalization", "SimplifiedLayerNormalization", {"x": x, "scale": gamma}, version=16,
           evaluate=rms, axis=-1, epsilon=1e-5)
    skip = {"x": x, "skip": f32(2, 3, 8), "gamma": gamma}
    ms("skip_layer_normalization", "SkipLayerNormalization", {**skip, "beta": beta, "bias": f32(8)},
       ["y", "", "", "sum"], epsilon=1e-5)
    ms("skip_layer_normalization_broadcast", "SkipLayerNormalization", {**skip, "skip": f32(1, 3, 8)})
    ms("skip_simplified_layer_normalization", "SkipSimplifiedLayerNormalization", {**skip, "bias": f32(8)},
       ["y", "", "", "sum"])
    ids = {"input_ids": of([[1, 2, 3], [4, 0, 2]], np.int32), "segment_ids": of([[0, 1, 1], [0, 0, 1]], np.int32),
           "word": f32(5, 8), "position": f32(4, 8), "segment": f32(2, 8), "gamma": gamma, "beta": beta}
    ms("embed_layer_normalization", "EmbedLayerNormalization", ids, 2)
    ms("embed_layer_normalization_mask", "EmbedLayerNormalization",
       {**ids, "mask": of([[1, 1, 0], [1, 1, 1]], np.int32), "position_ids": of([[2, 1, 0], [0, 3, 1]], np.int32)}, 3)
    ms("embed_layer_normalization_no_segment", "EmbedLayerNormalization",
       {**ids, "segment_ids": None, "segment": None}, 2)

    def group_norm(x, gamma, beta):
        groups = x.reshape(x.shape[0], -1, 2, 3)  # NHWC: 2 groups of 3 channels
        normal = (groups - groups.mean((1, 3), keepdims=True)) / np.sqrt(groups.var((1, 3), keepdims=True) + 1e-5)
        y = normal.reshape(x.shape) * gamma + beta
        return [(y / (1 + np.exp(-y))).astype(np.float32)]

    ms("group_norm", "GroupNorm", {"x": f32(2, 2, 4, 6), "gamma": f32(6), "beta": f32(6)}, evaluate=group_norm,
       groups=2, activation=1, channels_last=1)


def write_products():
    ms("fused_matmul", "FusedMatMul", {"a": f32(2, 4, 3), "b": f32(2, 5, 4)}, alpha=.5, transA=1, transB=1)
    ms("fused_matmul_trans_batch", "FusedMatMul", {"a": f32(3, 2, 4), "b": f32(2, 4, 5)}, transBatchA=1)
    ms("fused_gemm", "FusedGemm", {"a": f32(3, 4), "b": f32(5, 4), "c": f32(5)}, transB=1, alpha=.5, beta=2.0,
       activation="LeakyRelu", activation_alpha=.1)
    image, weights = f32(1, 2, 5, 5), f32(4, 2, 3, 3)
    ms("fused_conv_relu", "FusedConv", {"x": image, "w": weights, "b": f32(4)}, activation="Relu", pads=[1, 1, 1, 1])
    ms("fused_conv_hard_sigmoid_sum", "FusedConv", {"x": image, "w": weights, "b": f32(4), "z": f32(1, 4, 3, 3)},
       activation="HardSigmoid", activation_params=[.2, .4])
    ms("fused_conv_clip", "FusedConv", {"x": image, "w": weights}, activation="Clip", activation_params=[-.5, 1.5],
       strides=[2, 2])

    def nhwc_conv(x, w, b):
        from onnx.reference import ReferenceEvaluator
        graph = helper.make_graph([helper.make_node("Conv", ["x", "w", "b"], ["y"], strides=[2, 2])], "c", [
            helper.make_tensor_value_info(n, T.FLOAT, None) for n in "xwb"], [onnx.ValueInfoProto(name="y")])
        y = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])).run(
            None, {"x": x.transpose(0, 3, 1, 2), "w": w.transpose(0, 3, 1, 2), "b": b})[0]
        return [y.transpose(0, 2, 3, 1)]

    ms("nhwc_conv", "NhwcConv", {"x": f32(1, 5, 5, 2), "w": f32(4, 3, 3, 2), "b": f32(4)}, evaluate=nhwc_conv,
       strides=[2, 2])


def write_attention():
    x, weights, bias = f32(2, 3, 8), f32(8, 24, scale=.4), f32(24)
    plain = {"x": x, "weights": weights, "bias": bias}
    ms("attention", "Attention", {**plain, "mask_index": None}, num_heads=2)
    ms("attention_unidirectional_scale", "Attention", {**plain, "mask_index": None}, num_heads=2, unidirectional=1,
       scale=.3)
    ms("attention_mask_2d", "Attention", {**plain, "mask_index": of([[1, 1, 0], [1, 1, 1]], np.int32)}, num_heads=2)
    ms("attention_mask_lengths", "Attention", {**plain, "mask_index": of([2, 3], np.int32)}, num_heads=2)
    ms("attention_mask_ranges", "Attention", {**plain, "mask_index": of([3, 2, 1, 0], np.int32)}, num_heads=2)
    ms("attention_mask_3d", "Attention",
       {**plain, "mask_index": of([[[1, 0, 0], [1, 1, 0], [1, 1, 1]], [[1, 1, 1], [0, 1, 1], [1, 0, 1]]], np.int32)},
       num_heads=2)
    ms("attention_past", "Attention", {**plain, "mask_index": None, "past": f32(2, 2, 2, 4, 4)}, 2, num_heads=2,
       unidirectional=1)
    ms("attention_bias", "Attention", {**plain, "mask_index": None, "past": None, "attention_bias": f32(1, 2, 3, 3)},
       num_heads=2)
    ms("attention_hidden_sizes", "Attention", {"x": x, "weights": f32(8, 20, scale=.4), "bias": f32(20)}, num_heads=2,
       qkv_hidden_sizes=[8, 8, 4])
    q, k, v = f32(2, 3, 8), f32(2, 5, 8), f32(2, 5, 8)
    multi = {"q": q, "k": k, "v": v}
    ms("multi_head_attention", "MultiHeadAttention", multi, num_heads=2)
    ms("multi_head_attention_bias_mask", "MultiHeadAttention",
       {**multi, "bias": bias, "mask": of([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)}, num_heads=2)
    ms("multi_head_attention_lengths", "MultiHeadAttention", {**multi, "bias": None, "mask": of([3, 5], np.int32)},
       num_heads=2)
    ms("multi_head_attention_attention_bias", "MultiHeadAttention",
       {**multi, "bias": None, "mask": None, "attention_bias": f32(1, 2, 3, 5)}, num_heads=2, scale=.4)
    ms("multi_head_attention_past", "MultiHeadAttention",
       {**multi, "k": f32(2, 3, 8), "v": f32(2, 3, 8), "bias": None, "mask": None, "attention_bias": None,
        "past_key": f32(2, 2, 2, 4), "past_value": f32(2, 2, 2, 4)}, 3, num_heads=2, unidirectional=1)
    ms("multi_head_attention_4d_keys", "MultiHeadAttention", {**multi, "k": f32(2, 2, 5, 4), "v": f32(2, 2, 5, 4)},
       num_heads=2)
    group = {"q": f32(2, 3, 32), "k": f32(2, 3, 16), "v": f32(2, 3, 16), "past_key": None, "past_value": None,
             "seqlens_k": of([2, 2], np.int32), "total": of(3, np.int32)}
    ms("group_query_attention", "GroupQueryAttention", group, 3, num_heads=4, kv_num_heads=2,
       constants=("total",))
    ms("group_query_attention_packed", "GroupQueryAttention", {**group, "q": f32(2, 3, 64), "k": None, "v": None}, 3,
       num_heads=4, kv_num_heads=2, constants=("total",))
    ms("group_query_attention_window_softcap", "GroupQueryAttention", group, 3, num_heads=4, kv_num_heads=2,
       local_window_size=2, softcap=3.0, scale=.6, constants=("total",))
    token = {"q": f32(2, 1, 32), "k": f32(2, 1, 16), "v": f32(2, 1, 16), "past_key": f32(2, 2, 3, 8),
             "past_value": f32(2, 2, 3, 8), "seqlens_k": of([3, 3], np.int32), "total": of(4, np.int32)}
    ms("group_query_attention_past", "GroupQueryAttention", token, 3, num_heads=4, kv_num_heads=2)
    angles = f32(6, 8)  # ONNX Runtime rotates heads of a multiple of 16 columns
    cos, sin = np.cos(angles), np.sin(angles)
    ms("group_query_attention_rotary_past", "GroupQueryAttention",
       {**token, "past_key": f32(2, 1, 3, 16), "past_value": f32(2, 1, 3, 16), "cos": cos, "sin": sin}, 3,
       num_heads=2, kv_num_heads=1, do_rotary=1)
    ms("group_query_attention_rotary", "GroupQueryAttention", {**group, "cos": cos, "sin": sin}, 3, num_heads=2,
       kv_num_heads=1, do_rotary=1, rotary_interleaved=1, constants=("total",))
    cos, sin = np.cos(angles[:, :2]), np.sin(angles[:, :2])
    ms("rotary_embedding", "RotaryEmbedding", {"x": f32(2, 3, 8), "position_ids": of([[0, 1, 2], [3, 4, 5]], np.int64),
                                               "cos": cos, "sin": sin})
    ms("rotary_embedding_offset_interleaved", "RotaryEmbedding",
       {"x": f32(2, 2, 3, 4), "position_ids": of([2], np.int64), "cos": cos, "sin": sin}, interleaved=1)
    ms("rotary_embedding_partial", "RotaryEmbedding",
       {"x": f32(2, 3, 16), "position_ids": of([0], np.int64), "cos": cos, "sin": sin}, num_heads=2,
       rotary_embedding_dim=4)


def write_recurrent():
    """[directions, rows, 4 * hidden] as codes; a scale per direction or per column."""
    x, h = f32(3, 2, 5), 4
    for name, directions, per_column, more in (
            ("dynamic_quantize_lstm", 1, False, {}),
            ("dynamic_quantize_lstm_columns", 1, True, {}),
            ("dynamic_quantize_lstm_bidirectional", 2, False, {"direction": "bidirectional"})):
        shape = (directions, 4 * h) if per_column else (directions,)
        scale = (rng.random(shape) * .01 + .005).astype(np.float32)
        codes = lambda rows: rng.integers(-127, 128, (directions, rows, 4 * h)).astype(np.int8)
        zero = np.zeros(shape, np.int8)
        ms(name, "DynamicQuantizeLSTM",
           {"x": x, "w": codes(5), "r": codes(h), "b": f32(directions, 8 * h, scale=.3), "lengths": None,
            "h": f32(directions, 2, h), "c": f32(directions, 2, h), "p": None, "w_scale": scale, "w_zero": zero,
            "r_scale": scale[::-1].copy(), "r_zero": zero}, 3, hidden_size=h,
           constants=("w", "r", "w_scale", "w_zero", "r_scale", "r_zero"), **more)


ML = "ai.onnx.ml"


def ml(name, op, inputs, outputs=1, since=1, **more):
    single(f"ml_{name}", op, inputs, outputs, domain=ML, version=17, domain_version=since, **more)


def trees(values, weights, ids, kind, **more):
    """Two trees: x0 <= v0 ? 1 : (x1 > v1 ? 3 : 4), and x2 == v2 ? 1 : 2; leaves with `weights` for the targets `ids`."""
    values, weights = [float(v) for v in values], [float(w) for w in weights]
    return {"nodes_treeids": [0] * 5 + [1] * 3, "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
            "nodes_featureids": [0, 0, 1, 0, 0, 2, 0, 0], "nodes_values": values,
            "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "BRANCH_EQ", "LEAF", "LEAF"],
            "nodes_truenodeids": [1, 0, 3, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 0, 4, 0, 0, 2, 0, 0],
            "nodes_missing_value_tracks_true": [0, 0, 1, 0, 0, 0, 0, 0], f"{kind}_treeids": [0, 0, 0, 1, 1],
            f"{kind}_nodeids": [1, 3, 4, 1, 2], f"{kind}_ids": ids, f"{kind}_weights": weights, **more}


def write_ml():
    x = np.array([[0, 0, 1], [1, 0, 2], [1, 2, 1], [np.nan, 3, 1], [2, np.nan, 0]], np.float32)
    splits = [.5, 0, 1, 0, 0, 1, 0, 0]
    # every target has votes: ONNX Runtime adds base values to those that have, the standard to all
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        ml(f"tree_regressor_{aggregate.lower()}", "TreeEnsembleRegressor", {"x": x}, n_targets=2,
           aggregate_function=aggregate, base_values=[.25, -.5], **trees(splits, [1, 2, 3, 4, 5], [0, 0, 0, 1, 1], "target"))
    for post in ("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        ml(f"tree_regressor_{post.lower()}", "TreeEnsembleRegressor", {"x": x}, n_targets=2, post_transform=post,
           **trees(splits, [.1, .2, -.3, .4, 0], [0, 1, 0, 1, 0], "target"))
    for post in ("NONE", "SOFTMAX", "LOGISTIC"):
        ml(f"tree_classifier_{post.lower()}", "TreeEnsembleClassifier", {"x": x}, 2, post_transform=post,
           classlabels_int64s=[10, 20, 30], **trees(splits, [1, .5, .3, .4, .6], [0, 1, 2, 1, 0], "class"))
        for name, sign, label in (("share", 1, 0), ("signed", -1, 0), ("second", -1, 1)):
            ml(f"tree_classifier_binary_{name}_{post.lower()}", "TreeEnsembleClassifier", {"x": x}, 2,
               post_transform=post, classlabels_strings=["no", "yes"],
               **trees(splits, [.1, .7 * sign, .2, .05, .3 * sign], [label] * 5, "class"))
    words, numbers = np.array(["b", "?", "a"]), np.array([3, 1, 7], np.int64)
    ml("label_encoder_strings_to_integers", "LabelEncoder", {"x": words}, since=2, keys_strings=["a", "b"],
       values_int64s=[5, 6], default_int64=-9)
    ml("label_encoder_integers_to_strings", "LabelEncoder", {"x": numbers}, since=2, keys_int64s=[1, 3],
       values_strings=["one", "three"])
    ml("label_encoder_floats", "LabelEncoder", {"x": of([1, np.nan, 2])}, since=4, keys_floats=[1.0, np.nan],
       values_floats=[.5, .25], default_float=2.5)
    ml("array_feature_extractor", "ArrayFeatureExtractor", {"x": f32(2, 5), "y": of([[3, 0, 3]], np.int64)})
    ml("array_feature_extractor_vector", "ArrayFeatureExtractor", {"x": f32(5), "y": of([1], np.int64)})
    ml("binarizer", "Binarizer", {"x": of([-1, .5, .75])}, threshold=.5)
    ml("scaler", "Scaler", {"x": f32(2, 3)}, offset=[.5, 1, -1], scale=[2.0, .5, 1])
    ml("scaler_integers", "Scaler", {"x": numbers.reshape(1, 3)}, offset=[.5], scale=[2.0])
    for norm in ("MAX", "L1", "L2"):
        # ONNX Runtime divides by the largest element, the standard's reference by the largest magnitude
        ml(f"normalizer_{norm.lower()}", "Normalizer", {"x": abs(f32(2, 3))}, norm=norm)
    ml("imputer", "Imputer", {"x": of([[1, np.nan], [np.nan, 2]])}, imputed_value_floats=[5.0, 6], replaced_value_float=np.nan)
    ml("imputer_integers", "Imputer", {"x": of([[1, 0], [0, 2]], np.int64)}, imputed_value_int64s=[7, 8], replaced_value_int64=0)
    ml("linear_regressor", "LinearRegressor", {"x": f32(2, 3)}, coefficients=[1.0, 2, 3, -1, 0, 1], intercepts=[.5, 1], targets=2)
    ml("linear_classifier", "LinearClassifier", {"x": f32(4, 3)}, 2, coefficients=[1.0, 2, 3, -1, 0, 1, .5, .5, -2],
       intercepts=[.5, 1, 0], classlabels_ints=[7, 8, 9], post_transform="SOFTMAX")
    ml("linear_classifier_binary", "LinearClassifier", {"x": f32(4, 3)}, 2, coefficients=[-1.0, -2, -3, 1, 2, 3],
       intercepts=[-.5, .5], classlabels_strings=["no", "yes"], post_transform="LOGISTIC")
    ml("one_hot_encoder", "OneHotEncoder", {"x": numbers}, cats_int64s=[1, 2, 3], zeros=1)
    ml("feature_vectorizer", "FeatureVectorizer", {"x": f32(2, 2), "y": f32(2, 1)}, inputdimensions=[2, 1])


warnings.filterwarnings("ignore")
if args.archive.exists():
    onnx_archive.unpack(args.archive, cases)
for part in (write_standard, write_small_standard, write_quantized, write_activations, write_normalisations,
             write_products, write_attention, write_recurrent, write_ml):
    rng = np.random.default_rng(1)  # a new case changes none of the other parts
    part()
onnx_archive.pack(cases, args.archive)
