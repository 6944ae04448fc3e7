"""Quantized weights in the layouts of other tools, written by those tools: the fixtures of tests/io/weight_layouts_test.cc.

Each file holds small weights as compressed-tensors and torchao store them (gpt-oss's MXFP4 comes from compressed-tensors' codes,
since its own code only reads), and beside every weight X.weight what the tool's own functions say of it: X.codes (unsigned codes, or
signed ones of formats without zero points), X.scales and X.decoded, one f32 product per element.

usage: interop_fixtures.py DIRECTORY          writes compressed_tensors.safetensors, torchao.safetensors, mxfp4.safetensors
       interop_fixtures.py --read FOLDER      the tools read a folder that hone exported; prints a checksum per weight
"""
import argparse
import json
import pathlib

import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
from compressed_tensors.compressors.pack_quantized.helpers import unpack_from_int32
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from safetensors import safe_open
from safetensors.torch import save_file


def compressor(name):
    return BaseCompressor.get_value_from_registry(name)


def ranges(w, group):
    by_group = w.float().reshape(w.shape[0], -1, group)
    return by_group.amin(-1), by_group.amax(-1)


def add_integers(out, name, w, bits, group, symmetric, scale_dtype):
    args = QuantizationArgs(num_bits=bits, type="int", symmetric=symmetric, strategy="group" if group else "channel", group_size=group)
    low, high = ranges(w, group or w.shape[1])
    scale, zero_point = calculate_qparams(low, high, args)
    state = {"weight": w.to(scale_dtype), "weight_scale": scale.to(scale_dtype)}
    if not symmetric:
        state["weight_zero_point"] = zero_point.to(torch.int8)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    stored = compressor("pack-quantized").compress(state, scheme)
    codes = unpack_from_int32(stored["weight_packed"], bits, w.shape)
    zeros = 0 if symmetric else zero_point.to(torch.int32).repeat_interleave(group or w.shape[1], 1)
    factor = stored["weight_scale"].float().repeat_interleave(group or w.shape[1], 1)
    out.update({f"{name}.{key}": value.contiguous() for key, value in stored.items()})
    out[f"{name}.codes"] = (codes.to(torch.int32) if symmetric else codes.to(torch.int32) + (1 << (bits - 1))).contiguous()
    out[f"{name}.decoded"] = ((codes.to(torch.int32) - zeros).float() * factor).contiguous()
    return args


def add_fp4(out, name, w, kind, group):
    args = QuantizationArgs(num_bits=4, type="float", symmetric=True, strategy="group" if kind == "mxfp4" else "tensor_group",
                            group_size=group, scale_dtype=torch.uint8 if kind == "mxfp4" else torch.float8_e4m3fn)
    low, high = ranges(w, group)
    state = {"weight": w}
    if kind == "nvfp4":
        state["weight_global_scale"] = generate_gparam(w.min().float(), w.max().float()).reshape(1)
    scale, _ = calculate_qparams(low, high, args, global_scale=state.get("weight_global_scale"))
    state["weight_scale"] = scale
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    stored = compressor(f"{kind}-pack-quantized").compress(state, scheme)
    values = unpack_fp4_from_uint8(stored["weight_packed"], *w.shape, dtype=torch.float32)
    packed = stored["weight_packed"].to(torch.int32)
    out.update({f"{name}.{key}": value.contiguous() for key, value in stored.items()})
    out[f"{name}.codes"] = torch.stack((packed & 15, packed >> 4), -1).reshape(w.shape).contiguous()
    if kind == "mxfp4":
        factor = torch.exp2(stored["weight_scale"].float() - 127)
    else:
        factor = stored["weight_scale"].float() * (1 / stored["weight_global_scale"])
    out[f"{name}.decoded"] = (values * factor.repeat_interleave(group, 1)).contiguous()


def write_compressed_tensors(path, random):
    out = {}
    bf16, f16, f32 = torch.bfloat16, torch.float16, torch.float32
    for name, shape, bits, group, symmetric, dtype in [("int4", (6, 64), 4, 32, True, bf16), ("uint4", (10, 64), 4, 32, False, bf16),
                                                       ("int8", (5, 48), 8, None, True, f16), ("int3", (3, 96), 3, 32, True, f32),
                                                       ("uint8", (4, 32), 8, 16, False, f32), ("narrow", (3, 44), 4, None, True, bf16)]:
        add_integers(out, name, torch.randn(shape, generator=random), bits, group, symmetric, dtype)
    add_fp4(out, "mxfp4", torch.randn((4, 64), generator=random), "mxfp4", 32)
    add_fp4(out, "nvfp4", torch.randn((4, 64), generator=random), "nvfp4", 16)
    save_file(out, path)


def write_mxfp4(path, random):
    out = {}
    add_fp4(out, "x", torch.randn((6, 64), generator=random), "mxfp4", 32)
    blocks, scales = out["x.weight_packed"].reshape(2, 3, 2, 16), out["x.weight_scale"].reshape(2, 3, 2)
    save_file({"experts.up_blocks": blocks, "experts.up_scales": scales, "experts.codes": out["x.codes"].reshape(2, 3, 64).contiguous(),
               "experts.decoded": out["x.decoded"].reshape(2, 3, 64).contiguous()}, path)


def write_torchao(path, random):
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
    from torchao.quantization import Int8Tensor, IntxUnpackedToInt8Tensor, MappingType, PerRow
    w = torch.randn((6, 64), generator=random).to(torch.bfloat16)
    intx = IntxUnpackedToInt8Tensor.from_hp
    weights = {"int8": Int8Tensor.from_hp(w, PerRow()), "int4": intx(w, (1, 32), torch.int4), "int6": intx(w, (1, 64), torch.int6),
               "uint4": intx(w, (1, 32), torch.int4, mapping_type=MappingType.ASYMMETRIC)}
    tensors, metadata = flatten_tensor_state_dict({f"{name}.weight": t for name, t in weights.items()})
    for name, t in weights.items():
        group = t.block_size[1]
        codes, zeros = t.qdata.to(torch.int32), t.zero_point.to(torch.int32).repeat_interleave(group, 1)
        tensors[f"{name}.codes"] = codes + 8 if name == "uint4" else codes
        tensors[f"{name}.decoded"] = (codes - zeros).float() * t.scale.float().repeat_interleave(group, 1)
    save_file({k: v.contiguous() for k, v in tensors.items()}, path, metadata=metadata)


def read_folder(folder):
    """Decodes with the tools' own readers. One line per weight: name, sum and sum of magnitudes of the decoded values."""
    scheme = json.loads((folder / "config.json").read_text())["quantization_config"]
    file = safe_open(folder / "model.safetensors", "pt")
    tensors = {name: file.get_tensor(name) for name in file.keys()}
    decoded = {}
    if scheme["quant_method"] == "compressed-tensors":
        for group in QuantizationConfig.model_validate(scheme).config_groups.values():
            for layer in group.targets:
                state = {key[len(layer) + 1:]: value for key, value in tensors.items() if key.startswith(layer + ".weight")}
                decoded[layer] = compressor(group.format).decompress(state, group)["weight"]
    elif scheme["quant_method"] == "torchao":
        from torchao.prototype.safetensors.safetensors_support import unflatten_tensor_state_dict
        metadata = {key: value for key, value in file.metadata().items() if key != "format"}
        for name, t in unflatten_tensor_state_dict(tensors, metadata)[0].items():
            if hasattr(t, "qdata"):
                decoded[name.removesuffix(".weight")] = t.dequantize()
    for name, value in sorted(decoded.items()):
        print(f"{name} {value.double().sum():.9g} {value.double().abs().sum():.9g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=pathlib.Path)
    parser.add_argument("--read", action="store_true")
    args = parser.parse_args()
    if args.read:
        read_folder(args.path)
    else:
        args.path.mkdir(parents=True, exist_ok=True)
        generator = torch.Generator().manual_seed(1)
        write_compressed_tensors(args.path / "compressed_tensors.safetensors", generator)
        write_mxfp4(args.path / "mxfp4.safetensors", generator)
        write_torchao(args.path / "torchao.safetensors", generator)
