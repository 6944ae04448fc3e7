// What is stored as a bitmap and values comes back bit by bit, and where its parts do not fit each other is refused.
#include "io/sparse_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "base/error.h"
#include "base/philox.h"
#include "formats/packed.h"
#include "io/artefact.h"
#include "io/safetensors.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/error_of.h"
#include "tests/support/packed_examples.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

// Three of four elements are 0; one is -0, one NaN, which are no zeros.
Tensor sparse_weights(std::vector<int64_t> shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); i += 4) values[i] = static_cast<float>(i) * 0.25f - 3.1f;
  return Tensor::of<float>(std::move(shape), values);
}

Graph model(Tensor weight) {
  Graph g;
  g.metadata[kStoreKey] = kSparse;
  const ValueId x = g.add_input("x", TensorType{DType::f32, {Dim::symbol("B"), 40}, {}});
  const ValueId w = g.add_constant("layer.weight", std::move(weight));
  g.add_output(g.emit(ops::get("linear"), {x, w}), "y");
  return g;
}

const Tensor& weight_of(const Graph& graph) { return *graph.constant(graph.find_constant("layer.weight")); }

TEST(SparseStorage, PlainElementsComeBackBitByBit) {
  const TemporaryFolder folder;
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    Tensor weight = sparse_weights({8, 40}).converted(dtype);
    if (dtype == DType::f32) {
      weight.mutable_as<float>()[1] = -0.0f;
      weight.mutable_as<float>()[2] = std::bit_cast<float>(0x7fc12345);
    }
    const Graph graph = model(weight);
    save_artefact(folder / "m.safetensors", graph);
    const SafetensorsFile file(folder / "m.safetensors");
    EXPECT_FALSE(file.find("layer.weight"));
    EXPECT_EQ(file.tensor("layer.weight.bitmap").bytes(), 40);
    EXPECT_EQ(file.tensor("layer.weight.values").elements(), dtype == DType::f32 ? 82 : 80);
    EXPECT_EQ(file.metadata().at("hone.version"), "2");
    const Artefact back = load_artefact(folder / "m.safetensors");
    EXPECT_TRUE(weight_of(back.graph).same_bits(weight)) << to_string(dtype);
    EXPECT_EQ(print(back.graph), print(graph));
  }
}

TEST(SparseStorage, CodesOfEveryFormatComeBackBitByBit) {
  const TemporaryFolder folder;
  int sparse = 0;
  for (const std::string& format : test::packed_examples()) {
    const Tensor weight = pack(parse_format(format), sparse_weights({8, 40}));
    save_artefact(folder / "m.safetensors", model(weight));
    EXPECT_TRUE(weight_of(load_artefact(folder / "m.safetensors").graph).same_bits(weight)) << format;
    const SafetensorsFile file(folder / "m.safetensors");
    if (!file.find("layer.weight.bitmap")) continue;
    ++sparse;
    EXPECT_FALSE(file.find("layer.weight.codes")) << format;
    EXPECT_LT(file.tensor("layer.weight.bitmap").bytes() + file.tensor("layer.weight.values").bytes(),
              plane_bytes(*weight.format(), weight.shape()).codes)
        << format;
  }
  EXPECT_GT(sparse, 10);
}

TEST(SparseStorage, WhatIsNotSmallerIsStoredWhole) {
  const TemporaryFolder folder;
  Tensor weight = sparse_weights({8, 40});
  std::ranges::fill(weight.mutable_as<float>(), 1.0f);
  save_artefact(folder / "m.safetensors", model(weight));
  const SafetensorsFile file(folder / "m.safetensors");
  EXPECT_TRUE(file.find("layer.weight"));
  EXPECT_EQ(file.metadata().at("hone.version"), "1");
  EXPECT_EQ(sparse_bytes(weight), weight.bytes());
}

// The file with one tensor, or the facts of the weight, exchanged.
struct Damage {
  std::string tensor;  // empty: the facts
  Tensor other;
  std::string facts, message;
};

TEST(SparseStorage, PartsThatDoNotFitAreRefused) {
  const TemporaryFolder folder;
  const auto bytes = [](std::vector<uint8_t> values) {
    const auto count = static_cast<int64_t>(values.size());
    return Tensor::of<uint8_t>({count}, values);
  };
  const auto damaged = [&](const Tensor& weight, const Damage& damage) {
    save_artefact(folder / "m.safetensors", model(weight));
    const SafetensorsFile file(folder / "m.safetensors");
    std::vector<NamedTensor> tensors;
    for (const SafetensorsEntry& entry : file.entries())
      tensors.push_back({entry.name, entry.name == damage.tensor ? damage.other : file.tensor(entry.name)});
    auto metadata = file.metadata();
    if (damage.tensor.empty()) metadata["hone.tensor.layer.weight"] = damage.facts;
    write_safetensors(folder / "d.safetensors", tensors, metadata);
    EXPECT_THAT(error_of([&] { load_artefact(folder / "d.safetensors"); }), HasSubstr(damage.message));
  };
  const Tensor plain = sparse_weights({8, 40}), packed = pack(parse_format("int8.channel"), plain);
  std::vector<uint8_t> all(40, 0xff);
  for (const auto& [weight, size] : {std::pair(plain, 40), std::pair(packed, 40)}) {
    damaged(weight, {"layer.weight.bitmap", bytes(std::vector<uint8_t>(39)), "", "the bitmap has 39 bytes"});
    damaged(weight, {"layer.weight.bitmap", bytes(all), "", "the bitmap marks 320 elements"});
    damaged(weight, {"layer.weight.bitmap", Tensor::of<float>({10}, std::vector<float>(10)), "", "a bitmap is u8"});
  }
  damaged(plain, {"layer.weight.values", Tensor::of<float>({3}, {1, 2, 3}), "", "the values have 12 bytes"});
  damaged(plain, {"layer.weight.values", bytes({1, 2, 3}), "", "layer.weight.values\" is u8[3]; the graph has f32"});
  damaged(plain, {"", {}, R"({"shape":[8,40],"fill":1})", "the fill of f32 is 1"});
  damaged(plain, {"", {}, R"({"shape":[8,-40],"fill":0})", "negative dimension"});
  damaged(plain, {"", {}, R"({"shape":[8,41],"fill":0})", "the bitmap has 40 bytes; 328 elements need 41"});
  damaged(plain, {"", {}, R"({"shape":[4294967296,4294967296],"fill":0})", "layer.weight"});
  damaged(plain, {"", {}, R"({"shape":[8,40]})", "fill"});
  damaged(packed,
          {"", {}, R"({"format":"int8.channel","shape":[8,40],"fill":256})", "the fill 256 is no code of 8 bits"});
  damaged(packed, {"", {}, R"({"format":"int8.channel","shape":[8,40],"fill":-1})", "the fill -1 is no code"});
  damaged(packed, {"", {}, R"({"format":"int4.channel","shape":[8,40],"fill":0})", "the values have"});
}

TEST(SparseStorage, BitsBehindTheLastElementAreRefused) {
  SparseTensor sparse{.bitmap = Buffer(1), .values = Buffer(4)};
  sparse.bitmap.mutable_bytes()[0] = std::byte{0x20};
  EXPECT_THAT(error_of([&] { whole_elements(sparse, 5, 4); }), HasSubstr("marks element 5; there are 5"));
}

}  // namespace
}  // namespace hone
