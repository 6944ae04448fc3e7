// hone's own file: everything comes back bit by bit, and a damaged or foreign file says why it is not read.
#include "io/artefact.h"
#include "io/artefact_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "io/safetensors.h"
#include "ir/bodies.h"
#include "ir/text.h"
#include "ops/registry.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/branching_model.h"
#include "tests/support/packed_examples.h"

namespace hone {
namespace {

using testing::HasSubstr;

Tensor ramp(std::vector<int64_t> shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.25f - 3;
  return Tensor::of<float>(std::move(shape), values);
}

// linear(x, w, b) + a small anonymous vector, with the weight in `format`.
Graph small_model(const std::string& format) {
  Graph g;
  g.name = "small";
  g.metadata["compute"] = "bf16";
  const ValueId x = g.add_input("x", TensorType{DType::f32, {Dim::symbol("B"), 40}, {}});
  const ValueId w = g.add_constant("layer.weight", pack(parse_format(format), ramp({8, 40})));
  const ValueId b =
      g.add_constant("layer.bias", Tensor::of<float>({8}, std::vector<float>(8, std::bit_cast<float>(0x7fc12345))));
  const ValueId y = g.emit(ops::get("linear"), {x, w, b});
  const ValueId offset = g.add_constant("", Tensor::of<float>({8}, {0.1f, -0.0f, 1e-45f, 3e38f, 1, 2, 3, 4}));
  const ValueId table = g.add_constant("", ramp({30, 8}));
  const ValueId row = g.emit(ops::get("gather"), {table, g.add_scalar<int64_t>(3)}, {{"axis", int64_t{0}}});
  g.add_output(g.emit(ops::get("add"), {g.emit(ops::get("add"), {y, offset}), row}), "y");
  return g;
}

void expect_same(const Graph& a, const Graph& b) {
  EXPECT_EQ(print(a), print(b));
  const auto ca = a.constants(), cb = b.constants();
  ASSERT_EQ(ca.size(), cb.size());
  for (ValueId id : ca) {
    const ValueId other = b.find_value(a.value(id).name);
    ASSERT_NE(other, kNone) << a.value(id).name;
    EXPECT_EQ(b.value(other).label, a.value(id).label);
    EXPECT_TRUE(b.value(other).constant->same_bits(*a.value(id).constant)) << a.value(id).name;
  }
}

TEST(Artefact, EveryFormatRoundTripsBitByBit) {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> files{{"tokenizer.json", "{\"a\": 1}"}, {"empty.txt", ""}};
  std::vector<std::string> formats = test::packed_examples();
  formats.insert(formats.end(), {"fp32", "fp16", "bf16"});
  for (const std::string& format : formats) {
    const Graph graph = small_model(format);
    save_artefact(folder / "m.safetensors", graph, files);
    const Artefact back = load_artefact(folder / "m.safetensors");
    expect_same(graph, back.graph);
    EXPECT_EQ(back.graph.metadata, graph.metadata);
    EXPECT_EQ(back.files, files) << format;
  }
}

TEST(Artefact, ElementTypesThatSafetensorsHasNoNameForAreStoredAsBytes) {
  const TemporaryFolder folder;
  for (int i = 0; i <= static_cast<int>(DType::f6e3m2); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_small(dtype)) continue;
    SCOPED_TRACE(to_string(dtype));
    Graph g;
    const ValueId x = g.add_input("x", TensorType{DType::i64, {Dim(2)}, {}});
    const ValueId table = g.add_constant("table", Tensor(dtype, {32}, Buffer(32)));
    g.add_output(g.emit(ops::get("gather"), {table, x}, {{"axis", int64_t{0}}}), "y");
    save_artefact(folder / "small", g);
    EXPECT_EQ(static_cast<int64_t>(std::filesystem::file_size(folder / "small")), artefact_bytes(g, {}));
    expect_same(load_artefact(folder / "small").graph, g);
  }
  Graph wide;
  wide.add_output(
      wide.add_constant("codes", Tensor(DType::u8, {32}, Buffer::copy_of(std::vector<std::byte>(32, std::byte{16})))),
      "y");
  save_artefact(folder / "wide", wide);
  const SafetensorsFile file(folder / "wide");
  std::map<std::string, std::string> metadata = file.metadata();
  std::string& text = metadata.at("hone.graph");
  const size_t at = text.find("u8[32]");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 2, "u4");
  write_safetensors(folder / "narrow", std::vector<NamedTensor>{{"codes", file.tensor("codes")}}, metadata);
  EXPECT_THAT(error_of([&] { load_artefact(folder / "narrow"); }), HasSubstr("no u4"));
}

TEST(Artefact, ConstantsOfBodiesAreStoredUnderNamesOfTheirOwn) {
  const TemporaryFolder folder;
  const Graph graph = with_unique_labels(test::branching_model());
  save_artefact(folder / "m.safetensors", graph);
  EXPECT_GT(std::filesystem::file_size(folder / "m.safetensors"), static_cast<size_t>(sizes(graph).weight_bytes));
  const Graph back = load_artefact(folder / "m.safetensors").graph;
  EXPECT_EQ(print(back), print(graph));
  std::vector<const Graph*> before, after;
  for_each_graph(graph, [&](const Graph& each) { before.push_back(&each); });
  for_each_graph(back, [&](const Graph& each) { after.push_back(&each); });
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) expect_same(*before[i], *after[i]);
}

// A table of 32 numbers without a name was written as decimal digits before.
TEST(Artefact, NanOfABodyKeepsItsPayload) {
  const TemporaryFolder folder;
  Graph graph = test::branching_model();
  edit_bodies(graph, [](Graph body) {
    const ValueId nan = body.add_constant("", Tensor::of<float>({1}, {std::bit_cast<float>(0x7fc12345)}));
    body.set_outputs({{body.emit(ops::get("add"), {body.outputs()[0].value, nan}), "0"}});
    return body;
  });
  save_artefact(folder / "m.safetensors", graph);
  const Graph back = load_artefact(folder / "m.safetensors").graph;
  int found = 0;
  for_each_graph(back, [&](const Graph& each) {
    for (ValueId id : each.constants())
      if (const Tensor& t = *each.constant(id); t.elements() == 1 && t.dtype() == DType::f32)
        found += std::bit_cast<uint32_t>(t.as<float>()[0]) == 0x7fc12345;
  });
  EXPECT_EQ(found, 2);
}

TEST(Artefact, AWrongTypeOfABodysConstantIsRefused) {
  const TemporaryFolder folder;
  const Graph graph = with_unique_labels(test::branching_model());
  save_artefact(folder / "m.safetensors", graph);
  const SafetensorsFile file(folder / "m.safetensors");
  std::vector<NamedTensor> tensors;
  for (const SafetensorsEntry& entry : file.entries())
    tensors.push_back({entry.name, entry.name == "w.3" ? Tensor(DType::f32, {8, 64}) : file.tensor(entry.name)});
  write_safetensors(folder / "other.safetensors", tensors, file.metadata());
  EXPECT_THAT(error_of([&] { load_artefact(folder / "other.safetensors"); }),
              HasSubstr("constant \"w.3\" is f32[8,64]"));
}

TEST(Artefact, SavingAgainGivesTheSameBytes) {
  const TemporaryFolder folder;
  save_artefact(folder / "a", small_model("mxint8"), {{"f", "x"}});
  const Artefact a = load_artefact(folder / "a");
  save_artefact(folder / "b", a.graph, a.files);
  EXPECT_EQ(content_of(folder / "a"), content_of(folder / "b"));
}

TEST(Artefact, ConstantsStayInTheFileUntilTheyAreRead) {
  const TemporaryFolder folder;
  save_artefact(folder / "a", small_model("mxint8"));
  const Artefact a = load_artefact(folder / "a");
  const Tensor* weight = a.graph.constant(a.graph.find_constant("layer.weight"));
  ASSERT_TRUE(weight);
  EXPECT_TRUE(weight->data().is_mapped() && weight->scales().is_mapped());
}

TEST(Artefact, IsASafetensorsFileThatOthersOpen) {
  const TemporaryFolder folder;
  save_artefact(folder / "a", small_model("mxint8"));
  const SafetensorsFile file(folder / "a");
  EXPECT_EQ(file.find("layer.weight.codes")->shape,
            (std::vector<int64_t>{8 * 64}));  // 40 elements, padded to blocks of 32
  EXPECT_EQ(file.find("layer.weight.scales")->shape, (std::vector<int64_t>{8 * 2}));
  EXPECT_EQ(file.find("layer.bias")->dtype, DType::f32);
  EXPECT_EQ(file.metadata().at("hone.version"), "1");
}

TEST(Artefact, IsRecognised) {
  const TemporaryFolder folder;
  save_artefact(folder / "a", small_model("fp32"));
  write_safetensors(folder / "plain.safetensors", std::vector<NamedTensor>{{"a", Tensor(DType::f32, {1})}});
  folder.put("model.onnx", "\x08\x07\x12 something that is not safetensors");
  folder.put("damaged.safetensors", "abc");
  EXPECT_TRUE(is_artefact(folder / "a"));
  EXPECT_FALSE(is_artefact(folder / "plain.safetensors"));
  EXPECT_FALSE(is_artefact(folder / "model.onnx"));
  EXPECT_FALSE(is_artefact(folder.path()));
  EXPECT_THAT(error_of([&] { is_artefact(folder / "damaged.safetensors"); }), HasSubstr("3 bytes"));
  EXPECT_THAT(error_of([&] { is_artefact(folder / "absent"); }), HasSubstr("can't open"));
}

// The file of small_model(format) with its tensors and metadata changed by `edit`, loaded.
template <class Edit>
std::string error_after(Edit edit, const std::string& format = "mxint8") {
  const TemporaryFolder folder;
  save_artefact(folder / "a", small_model(format));
  const SafetensorsFile file(folder / "a");
  std::map<std::string, std::string> metadata = file.metadata();
  std::map<std::string, Tensor> tensors;
  for (const SafetensorsEntry& e : file.entries()) tensors[e.name] = file.tensor(e.name);
  edit(metadata, tensors);
  std::vector<NamedTensor> list;
  for (const auto& [name, tensor] : tensors) list.push_back({name, tensor});
  write_safetensors(folder / "b", list, metadata);
  return error_of([&] { load_artefact(folder / "b"); });
}

TEST(Artefact, EachDamageIsNamed) {
  const std::string key = "hone.tensor.layer.weight";
  EXPECT_EQ(error_after([](auto&, auto&) {}), "");
  EXPECT_THAT(error_after([](auto& m, auto&) { m["hone.version"] = "3"; }), HasSubstr("newer hone (file version 3"));
  EXPECT_THAT(error_after([](auto& m, auto&) { m["hone.version"] = "x"; }), HasSubstr("expected a number"));
  EXPECT_THAT(error_after([](auto& m, auto&) { m.erase("hone.version"); }), HasSubstr("not one that hone wrote"));
  EXPECT_THAT(error_after([](auto& m, auto&) { m.erase("hone.graph"); }), HasSubstr("hone.graph"));
  EXPECT_THAT(error_after([](auto& m, auto&) { m["hone.graph"] = "graph {"; }), HasSubstr("graph"));
  EXPECT_THAT(error_after([&](auto& m, auto&) { m.erase(key); }),
              HasSubstr("no metadata \"hone.tensor.layer.weight\""));
  EXPECT_THAT(error_after([&](auto& m, auto&) { m[key] = "{"; }), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_after([&](auto& m, auto&) { m[key] = R"({"format":"mxint9z","shape":[8,40]})"; }),
              HasSubstr("mxint9z"));
  EXPECT_THAT(error_after([&](auto& m, auto&) { m[key] = R"({"format":"mxint8","shape":[8,-40]})"; }),
              HasSubstr("negative"));
  EXPECT_THAT(error_after([&](auto& m, auto&) { m[key] = R"({"format":"mxint8","shape":[8,400]})"; }),
              HasSubstr("layer.weight.codes"));
  EXPECT_THAT(error_after([&](auto& m, auto&) { m[key] = R"({"format":"mxint8","shape":[4,80]})"; }),
              HasSubstr("layer.weight"));
  EXPECT_THAT(error_after([](auto&, auto& t) { t.erase("layer.weight.scales"); }), HasSubstr("layer.weight.scales"));
  EXPECT_THAT(error_after([](auto&, auto& t) { t["layer.weight.scales"] = Tensor(DType::u8, {3}); }),
              HasSubstr("needs u8[16]"));
  EXPECT_THAT(error_after([](auto&, auto& t) { t.erase("layer.bias"); }), HasSubstr("layer.bias"));
  EXPECT_THAT(error_after([](auto&, auto& t) { t["layer.bias"] = Tensor(DType::f32, {9}); }),
              HasSubstr("f32[9] in the file"));
}

TEST(Artefact, AFormatThatCantBeReadIsNamedWithItsPlace) {
  const std::string key = "hone.tensor.layer.weight";
  EXPECT_THAT(error_after([&](auto& m, auto&) { m[key] = R"({"format":"bfp8.compat=mase","shape":[8,40]})"; }),
              AllOf(HasSubstr("metadata \"" + key + "\""), HasSubstr("E_FAKE_ONLY")));
  EXPECT_THAT(error_after([&](auto& m, auto&) { m[key] = R"({"format":"mxint8.ax5","shape":[8,40]})"; }),
              AllOf(HasSubstr(key), HasSubstr("E_AXIS")));
  EXPECT_THAT(
      error_after(
          [](auto&, auto& t) { t["layer.weight.codes"] = Tensor::of<uint8_t>({80}, std::vector<uint8_t>(80, 0xaa)); },
          "ternary.channel"),
      AllOf(HasSubstr(key), HasSubstr("stands for no number")));
  EXPECT_THAT(error_after([](auto&, auto& t) { t.erase("layer.weight.global"); }, "nvfp4"),
              HasSubstr("layer.weight.global"));
}

// Whatever bit flips, the result is a graph or an Error.
TEST(Artefact, FlippedBitsNeverCrash) {
  const TemporaryFolder folder;
  save_artefact(folder / "a", small_model("mxint4"), {{"f", "content"}});
  const std::string whole = content_of(folder / "a");
  uint64_t length = 0;
  std::memcpy(&length, whole.data(), 8);
  int refused = 0;
  for (size_t i = 0; i < 8 + length; ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    refused += !error_of([&] { load_artefact(folder.put("b", damaged)); }).empty();
  }
  EXPECT_GT(refused, static_cast<int>(length / 4));
}

TEST(Artefact, CarriesFilesOfPlainNamesOnly) {
  const TemporaryFolder folder;
  save_artefact(folder / "a", small_model("mxint8"), {{"tokenizer.json", "{}"}});
  const SafetensorsFile whole(folder / "a");
  for (const std::string& name :
       std::vector<std::string>{"", "/etc/x", "../x", "a/b", ".hidden", "..", "a\nb", "a\x1b", std::string(300, 'a')}) {
    std::vector<NamedTensor> tensors{{"hone.file." + name, Tensor::of<uint8_t>({1}, {'x'})}};
    for (const SafetensorsEntry& entry : whole.entries()) tensors.push_back({entry.name, whole.tensor(entry.name)});
    write_safetensors(folder / "b", tensors, whole.metadata());
    EXPECT_THAT(error_of([&] { load_artefact(folder / "b"); }), HasSubstr("accepted: a plain name")) << name;
    EXPECT_THAT(error_of([&] {
                  save_artefact(folder / "c", small_model("mxint8"), {{name, "x"}});
                }),
                HasSubstr("no plain name"))
        << name;
  }
}

TEST(Artefact, LabelsThatArtefactsUseThemselvesAreNotTaken) {
  const TemporaryFolder folder;
  for (const char* label : {"hone.file.x", "hone.constant.x", "hone.tensor.x"})
    for (int64_t size : {4, 64}) {
      Graph graph = small_model("mxint8");
      graph.set_label(
          graph.add_constant("odd", Tensor::of<float>({size}, std::vector<float>(static_cast<size_t>(size), 2))),
          label);
      save_artefact(folder / "a", graph);
      const Artefact read = load_artefact(folder / "a");
      EXPECT_EQ(print(as_stored(read.graph, "a")), print(as_stored(graph, "a"))) << label;
      EXPECT_TRUE(read.files.empty());
      const bool taken = std::string_view(label) == "hone.tensor.x";  // a key of the metadata, free as a tensor's name
      EXPECT_EQ(read.graph.find_constant(label) != kNone, taken) << label;
    }
}

TEST(Artefact, FilesThatAreCarriedAreBytes) {
  const TemporaryFolder folder;
  save_artefact(folder / "a", small_model("mxint8"));
  const SafetensorsFile whole(folder / "a");
  std::vector<NamedTensor> tensors{{"hone.file.x", Tensor::of<float>({1}, {1})}};
  for (const SafetensorsEntry& entry : whole.entries()) tensors.push_back({entry.name, whole.tensor(entry.name)});
  write_safetensors(folder / "b", tensors, whole.metadata());
  EXPECT_THAT(error_of([&] { load_artefact(folder / "b"); }), HasSubstr("hone.file.x"));
}

TEST(Artefact, MetadataThatAreNumbersAreNumbers) {
  const TemporaryFolder folder;
  for (const char* key : {"tokenizer.max_length", "max_positions", "compute"})
    for (const char* value : {"", "x", "-1", "0", "12x", "1e3", "99999999999999999999"}) {
      Graph graph = small_model("mxint8");
      graph.metadata[key] = value;
      save_artefact(folder / "a", graph);
      EXPECT_THAT(error_of([&] { load_artefact(folder / "a"); }), HasSubstr(value)) << key << " " << value;
    }
}

TEST(Artefact, ItsSizeIsKnownWithoutWritingIt) {
  const TemporaryFolder folder;
  for (const char* format : {"mxint8", "mxfp4", "int4.g32"})
    for (const auto& files : {std::map<std::string, std::string>(),
                              std::map<std::string, std::string>{{"config.json", "{}"}, {"vocab.txt", "a\nb"}}}) {
      const Graph graph = small_model(format);
      save_artefact(folder / "a", graph, files);
      EXPECT_EQ(artefact_bytes(graph, files), static_cast<int64_t>(std::filesystem::file_size(folder / "a"))) << format;
    }
}

}  // namespace
}  // namespace hone
