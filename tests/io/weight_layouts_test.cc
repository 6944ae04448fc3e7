// Quantized weights as other tools store them. tests/data/io holds files that those tools wrote, with what their own
// functions say of the codes and values (bench/peers/interop_fixtures.py).
#include "io/weight_layouts/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/philox.h"
#include "io/hf_directory.h"
#include "io/safetensors.h"
#include "io/weight_layouts/stored_codes.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Tensors by name, as a layout reads them.
struct Stored {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> texts;
  Json scheme = {};

  Stored() = default;
  explicit Stored(const std::string& path) {
    const SafetensorsFile file(path);
    for (const SafetensorsEntry& entry : file.entries()) tensors[entry.name] = file.tensor(entry.name);
    texts = file.metadata();
  }
  explicit Stored(WrittenWeights written) : texts(std::move(written.metadata)), scheme(std::move(written.scheme)) {
    for (NamedTensor& t : written.tensors) tensors[t.name] = std::move(t.tensor);
  }

  template <class Map>
  static std::optional<typename Map::mapped_type> at(const Map& map, const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }
  Tensor read(const char* layout, const std::string& weight, const std::vector<int64_t>& shape) const {
    for (const WeightLayoutDef* def : weight_layouts::all())
      if (std::string_view(def->name) == layout)
        return def->read({[&](const std::string& name) { return at(tensors, name); },
                          [&](const std::string& name) { return at(texts, name); }, scheme},
                         weight, shape);
    throw Bug("no such layout");
  }
};

Stored fixture(const char* name) { return Stored(std::string(test::kTestData) + "/io/" + name + ".safetensors"); }

// The weight reads as the tool says, in this format.
void expect_as_said(const Stored& stored, const char* layout, const std::string& layer, const std::string& weight,
                    const std::string& format) {
  SCOPED_TRACE(layer);
  const Tensor& decoded = stored.tensors.at(layer + ".decoded");
  const Tensor tensor = stored.read(layout, weight, decoded.shape());
  EXPECT_EQ(to_string(*tensor.format()), format);
  EXPECT_EQ(unpack(tensor).to_floats(), decoded.to_floats());
  const uint32_t mask = (1u << tensor.format()->element.bits) - 1;  // signed codes are two's complement
  std::vector<uint32_t> said;
  for (int64_t code : stored.tensors.at(layer + ".codes").to_integers())
    said.push_back(static_cast<uint32_t>(code) & mask);
  EXPECT_EQ(codes_of(*tensor.format(), tensor.shape(), tensor.planes()), said);
}

TEST(CompressedTensors, WeightsOfTheirOwnLibraryAreReadBitForBit) {
  const Stored stored = fixture("compressed_tensors");
  const std::map<std::string, std::string> formats{{"int4", "int4.g32.s=bf16"},
                                                   {"uint4", "uint4.g32.s=bf16.asym"},
                                                   {"int8", "int8.channel.s=fp16"},
                                                   {"int3", "int3.g32"},
                                                   {"uint8", "uint8.g16.asym"},
                                                   {"narrow", "int4.channel.s=bf16"},
                                                   {"mxfp4", "mxfp4"},
                                                   {"nvfp4", "nvfp4"}};
  for (const auto& [layer, format] : formats)
    expect_as_said(stored, "compressed-tensors", layer, layer + ".weight", to_string(parse_format(format)));
}

TEST(Mxfp4, BlocksAndScalesAreReadBitForBit) {
  expect_as_said(fixture("mxfp4"), "mxfp4", "experts", "experts.up", "mxfp4");
}

TEST(Torchao, WeightsOfItsOwnLibraryAreReadBitForBit) {
  const Stored stored = fixture("torchao");
  for (const auto& [layer, format] : std::map<std::string, std::string>{{"int8", "int8.channel"},
                                                                        {"int4", "int4.g32.s=bf16"},
                                                                        {"int6", "int6.channel.s=bf16"},
                                                                        {"uint4", "uint4.g32.s=bf16.asym"}})
    expect_as_said(stored, "torchao", layer, layer + ".weight", to_string(parse_format(format)));
}

// What is written of a weight that was read is what was in the file, tensor by tensor.
TEST(WeightLayouts, FilesOfOtherToolsComeBackBitForBit) {
  for (const char* name : {"compressed_tensors", "mxfp4", "torchao"}) {
    const Stored stored = fixture(name);
    const WeightLayoutDef& layout =
        writable_layout(name == std::string("compressed_tensors") ? "compressed-tensors" : name);
    for (const auto& [key, decoded] : stored.tensors) {
      if (!key.ends_with(".decoded")) continue;
      const std::string layer = key.substr(0, key.rfind('.'));
      const std::string weight = layer == "experts" ? "experts.up" : layer + ".weight";
      const Tensor read = stored.read(layout.name, weight, decoded.shape());
      for (const NamedTensor& part : layout.write({{weight, read}}).tensors) {
        const Tensor& original = stored.tensors.at(part.name);
        if (part.name.ends_with("global_scale"))  // a divisor, of which hone keeps the reciprocal
          EXPECT_EQ(1 / part.tensor.as<float>()[0], 1 / original.as<float>()[0]);
        else EXPECT_TRUE(part.tensor.same_bits(original)) << part.name;
      }
    }
  }
}

TEST(WeightLayouts, PackedWeightsComeBackBitForBit) {
  const std::map<std::string, std::vector<std::string>> formats{
      {"compressed-tensors",
       {"int2.g32.s=fp16", "int3.channel", "int4.g64", "int4.g40.s=bf16", "int5.g16.s=bf16", "int8.g128",
        "uint2.g32.asym", "uint5.channel.asym", "uint8.g16.s=fp16.asym", "mxfp4", "nvfp4"}},
      {"mxfp4", {"mxfp4"}},
      {"torchao", {"int2.g32", "int3.channel.s=bf16", "int8.channel", "int8.g32.s=fp16", "uint7.g16.asym"}}};
  Philox random(1);
  std::vector<float> values(9 * 128);
  for (float& v : values) v = random.normal();
  for (const auto& [layout, strings] : formats)
    for (const std::string& format : strings) {
      SCOPED_TRACE(layout + " " + format);
      const Tensor weight = pack(parse_format(format), Tensor::of<float>({9, 128}, values));
      const Stored stored(writable_layout(layout).write({{"a.weight", weight}, {"a.bias", Tensor(DType::f32, {9})}}));
      EXPECT_TRUE(stored.tensors.contains("a.bias"));
      const Tensor read = stored.read(layout.c_str(), "a.weight", {9, 128});
      EXPECT_EQ(to_string(*read.format()), to_string(*weight.format()));
      EXPECT_TRUE(read.same_bits(weight));
    }
}

TEST(WeightLayouts, FormatsWithoutRoomAreNamedTogether) {
  const Tensor plain(DType::f32, {2, 64});
  const auto error = [&](const char* layout, std::map<std::string, Tensor> weights) {
    return error_of([&] { writable_layout(layout).write(weights); });
  };
  const Tensor mxint8 = pack(parse_format("mxint8"), plain), tiles = pack(parse_format("int4.g2x8"), plain);
  EXPECT_THAT(
      error("compressed-tensors", {{"a.weight", mxint8}, {"b.weight", tiles}}),
      AllOf(HasSubstr("a.weight: mxint8[2,64]"), HasSubstr("b.weight: int4.g2x8[2,64]"), HasSubstr("accepted:")));
  EXPECT_THAT(error("torchao", {{"a.weight", mxint8}}), HasSubstr("torchao has no room for\n  a.weight: mxint8"));
  EXPECT_THAT(error("mxfp4", {{"a.weight", tiles}}), HasSubstr("a.weight: int4.g2x8"));
  EXPECT_THAT(error_of([] { writable_layout("mxfp5"); }), HasSubstr("Did you mean mxfp4"));
}

// Every plane of every fixture, absent, of another type, and a row shorter: an error that names a tensor of that
// weight.
TEST(WeightLayouts, DamagedPlanesAreErrorsThatNameThem) {
  const auto expect_error = [](const Stored& damaged, const char* layout, const std::string& weight,
                               const std::vector<int64_t>& shape, const std::string& part) {
    SCOPED_TRACE(part);
    const std::string layer = weight.substr(0, weight.rfind('.'));
    EXPECT_THAT(error_of([&] { damaged.read(layout, weight, shape); }), HasSubstr("tensor \"" + layer));
  };
  for (const char* name : {"compressed_tensors", "mxfp4", "torchao"}) {
    const Stored stored = fixture(name);
    const WeightLayoutDef& layout =
        writable_layout(name == std::string("compressed_tensors") ? "compressed-tensors" : name);
    for (const auto& [key, decoded] : stored.tensors) {
      if (!key.ends_with(".decoded")) continue;
      const std::string layer = key.substr(0, key.rfind('.'));
      const std::string weight = layer == "experts" ? "experts.up" : layer + ".weight";
      for (const NamedTensor& part :
           layout.write({{weight, stored.read(layout.name, weight, decoded.shape())}}).tensors) {
        const bool optional = part.name.ends_with("zero_point") || part.name.ends_with("_shape");
        Stored damaged = stored;
        damaged.tensors.erase(part.name);
        if (!optional) expect_error(damaged, layout.name, weight, decoded.shape(), part.name + " is absent");
        damaged.tensors[part.name] = Tensor(DType::f64, part.tensor.shape());
        expect_error(damaged, layout.name, weight, decoded.shape(), part.name + " is f64");
        std::vector<int64_t> shorter = part.tensor.shape();
        --shorter[0];
        damaged.tensors[part.name] = Tensor(part.tensor.dtype(), shorter);
        expect_error(damaged, layout.name, weight, decoded.shape(), part.name + " is shorter");
      }
      std::vector<int64_t> wider = decoded.shape();
      wider.back() *= 2;
      expect_error(stored, layout.name, weight, wider, "a wider weight");
    }
  }
}

// 1 / 0.9999999 lies between two numbers, neither of which has it as its reciprocal.
TEST(CompressedTensors, AGlobalScaleWithoutAReciprocalIsNoted) {
  std::vector<float> values(16, 0.0f);
  const auto notes = [&](float largest) {
    values[0] = largest;  // the global scale is the largest magnitude over 2688
    const Tensor weight = pack(parse_format("nvfp4"), Tensor::of<float>({1, 16}, values));
    return writable_layout("compressed-tensors").write({{"a.weight", weight}}).notes;
  };
  EXPECT_TRUE(notes(2688).empty());
  EXPECT_THAT(notes(2688 * (1 - 3 * 0x1p-24f)), testing::ElementsAre(HasSubstr("a.weight: its global scale 0.99999")));
}

TEST(CompressedTensors, WhatShapesLeaveOpenIsDecidedByTheScheme) {
  const Tensor weight = pack(parse_format("int4.g8"), Tensor::of<float>({1, 8}, {1, 2, 3, 4, 5, 6, 7, -7}));
  Stored stored(writable_layout("compressed-tensors").write({{"a.weight", weight}}));
  EXPECT_TRUE(stored.read("compressed-tensors", "a.weight", {1, 8}).same_bits(weight));
  stored.scheme = {};
  EXPECT_THAT(error_of([&] {
                stored.read("compressed-tensors", "a.weight", {1, 8});
              }),
              AllOf(HasSubstr("a.weight_packed"), HasSubstr("quantization_config")));
}

TEST(CompressedTensors, IntegersAndFloatsOfOneByteAreReadWithTheirScales) {
  Stored stored;
  stored.tensors = {{"a.weight", Tensor::of<int8_t>({2, 2}, {-128, 1, 2, 3})},
                    {"a.weight_scale", Tensor::of<float>({2, 1}, {0.5f, 2})}};
  const char* layout = "int-quantized, float-quantized";
  EXPECT_EQ(unpack(stored.read(layout, "a.weight", {2, 2})).to_floats(), (std::vector<float>{-64, 0.5f, 4, 6}));
  const uint8_t bytes[] = {0x38, 0xB8, 0x40, 0x7E};  // 1, -1, 2, 448
  stored.tensors["a.weight"] = Tensor(DType::f8e4m3fn, {2, 2}, Buffer::copy_of(std::as_bytes(std::span(bytes))));
  EXPECT_EQ(unpack(stored.read(layout, "a.weight", {2, 2})).to_floats(), (std::vector<float>{0.5f, -0.5f, 4, 896}));
  stored.tensors["a.weight_scale"] = Tensor::of<float>({}, {2});
  EXPECT_EQ(to_string(*stored.read(layout, "a.weight", {2, 2}).format()), "fp8_e4m3.tensor");
  stored.tensors["a.weight"] = Tensor(DType::f32, {2, 2});
  EXPECT_THAT(error_of([&] {
                stored.read(layout, "a.weight", {2, 2});
              }),
              AllOf(HasSubstr("\"a.weight\" is f32"), HasSubstr("\"a.weight_scale\" is there")));
}

TEST(Torchao, WhatItsMetadataSayWrongIsAnError) {
  Stored stored = fixture("torchao");
  const auto error = [&](const char* text) {
    stored.texts["int4.weight"] = text;
    return error_of([&] { stored.read("torchao", "int4.weight", {6, 64}); });
  };
  EXPECT_THAT(error(R"({"_type": "Int4Tensor", "_data": {}})"), HasSubstr("class Int4Tensor is not supported"));
  EXPECT_THAT(error("{"), HasSubstr("int4.weight"));
  EXPECT_THAT(error(R"({"_type": "Int8Tensor", "_data": {"block_size": [2, 64]}})"), HasSubstr("block_size is [2,64]"));
  const char* narrow =
      R"({"_type": "IntxUnpackedToInt8Tensor", "_data": {"block_size": [1, 32], "target_dtype": {"_data": "int3"}}})";
  EXPECT_THAT(error(narrow), HasSubstr("which an int3 can't be"));
  stored.texts.erase("int4.weight");
  EXPECT_THAT(error_of([&] { stored.read("torchao", "int4.weight", {6, 64}); }), HasSubstr("metadata lack"));
}

TEST(HfDirectory, QuantizedWeightsArePackedAndTheirPartsCountAsUsed) {
  const TemporaryFolder folder;
  const Tensor weight = pack(parse_format("mxfp4"), Tensor(DType::f32, {2, 32}));
  const WrittenWeights written = writable_layout("compressed-tensors").write({{"bert.a.weight", weight}});
  folder.put("config.json", Json{{"model_type", "bert"}, {"quantization_config", written.scheme}}.dump());
  write_safetensors(folder / "model.safetensors", written.tensors);
  HfDirectory directory(folder.path());
  EXPECT_TRUE(directory.weights().has("a.weight"));
  EXPECT_TRUE(directory.weights().tensor("a.weight", {2, 32}).same_bits(weight));
  EXPECT_TRUE(directory.weights().unused().empty());
  EXPECT_THAT(error_of([&] {
                directory.weights().tensor("a.weight", {4, 32});
              }),
              AllOf(HasSubstr(folder.path()), HasSubstr("bert.a.weight_packed")));
}

TEST(HfDirectory, UnknownSchemesAreErrors) {
  const auto error = [](const Json& scheme) {
    const TemporaryFolder folder;
    folder.put("config.json", Json{{"quantization_config", scheme}}.dump());
    write_safetensors(folder / "model.safetensors", {});
    return error_of([&] { HfDirectory directory(folder.path()); });
  };
  EXPECT_THAT(error({{"quant_method", "gptq"}}),
              AllOf(HasSubstr("config.json"), HasSubstr("\"gptq\" is not supported; supported: compressed-tensors")));
  EXPECT_THAT(error({{"quant_method", "compressed-tensors"}, {"format", "marlin-24"}}), HasSubstr("\"marlin-24\""));
  EXPECT_THAT(error({{"bits", 4}}), HasSubstr("quant_method"));
  const auto group = [&](const char* key, const Json& value) {
    const Json of_group = {{"targets", {"Linear"}}, {key, value}};
    return error({{"quant_method", "compressed-tensors"}, {"config_groups", {{"group_0", of_group}}}});
  };
  EXPECT_EQ(group("weights", {{"num_bits", 4}, {"type", "int"}, {"actorder", nullptr}}), "");
  EXPECT_THAT(group("weights", {{"actorder", "group"}}), HasSubstr("actorder"));
  EXPECT_THAT(group("input_activations", {{"num_bits", 8}}), HasSubstr("input_activations"));
  EXPECT_THAT(error({{"quant_method", "compressed-tensors"}, {"kv_cache_scheme", {{"num_bits", 8}}}}),
              HasSubstr("kv_cache_scheme"));
  EXPECT_THAT(error({{"quant_method", "compressed-tensors"}, {"sparsity_config", {{"format", "sparse-24-bitmask"}}}}),
              HasSubstr("sparse-24-bitmask"));
}

}  // namespace
}  // namespace hone
