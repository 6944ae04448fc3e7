// Sessions of include/hone: memory of callers, state, limits, and ends before the end.
#include <hone/formats.h>
#include <hone/inspect.h>
#include <hone/quantize.h>
#include <hone/session.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>

#include "tests/api/error_of.h"

namespace {

using api_test::error_of;
using hone::Context;
using hone::DType;
using hone::Graph;
using hone::NamedTensors;
using hone::Session;
using hone::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

hone::SessionOptions without_cache() {
  hone::SessionOptions options;
  options.no_cache = true;
  return options;
}

Graph doubling() {
  return Graph::parse("graph g {\n  %x : f32[N,3] = input \"x\"\n  %y = add %x, %x\n  return %y as \"y\"\n}");
}

// n after a run is n + x.
Graph counting() {
  return Graph::parse(
      "graph g {\n  %x : f32[2] = input \"x\"\n  %n : f32[2] = state \"n\" {0, 0}\n  %m = add %n, %x\n"
      "  update %n = %m\n  return %m as \"m\"\n}");
}

// A layer with a weight that is worth packing.
Graph layer() {
  Graph graph("layer");
  const hone::ValueId x = graph.add_input("x", "f32[N,64]");
  std::vector<float> weight(static_cast<size_t>(64 * 64));
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = std::sin(static_cast<float>(i));
  const hone::ValueId w = graph.add_constant("w", Tensor::of<float>({64, 64}, weight));
  graph.add_output(graph.add_node("linear", {x, w, hone::kAbsent})[0], "y");
  return graph;
}

TEST(ApiSession, InputsAndOutputsLieWhereCallersHaveThem) {
  Session session(doubling(), without_cache());
  EXPECT_EQ(session.inputs()[0].type, "f32[N,3]");
  std::array<float, 6> x{0, 1, 2, 3, 4, 5}, y{};
  const Tensor columns = Tensor::of_memory(DType::f32, {2, 3}, x.data(), nullptr, {1, 2});
  EXPECT_THAT(session.run({{"x", columns}}).at("y").to_floats(), ElementsAre(0, 4, 8, 2, 6, 10));
  Context context;
  const Tensor out = Tensor::of_memory(DType::f32, {2, 3}, y.data(), nullptr, {1, 2});
  const NamedTensors results = session.run(context, {{"x", columns}}, {{"y", out}});
  EXPECT_EQ(results.at("y").data(), y.data());
  EXPECT_THAT(y, ElementsAre(0, 2, 4, 6, 8, 10));
}

// What a session lays out of a weight that it is given again, in the same memory, is laid out anew.
TEST(ApiSession, ParametersOfMemoryThatItsOwnerWritesAreThoseOfTheLastCall) {
  Graph graph("layer");
  const hone::ValueId x = graph.add_input("x", "f32[4,64]");
  const hone::ValueId w = graph.add_parameter("w", Tensor(DType::f32, {64, 64}));
  graph.add_output(graph.add_node("linear", {x, w, hone::kAbsent})[0], "y");
  Session session(graph, without_cache());
  const Tensor ones = Tensor::of<float>({4, 64}, std::vector<float>(4 * 64, 1));
  std::vector<float> weight(64 * 64);
  const Tensor given = Tensor::of_memory(DType::f32, {64, 64}, weight.data(), nullptr);
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    std::ranges::fill(weight, value);
    session.set_parameters({{"w", given}});
    EXPECT_EQ(session.run({{"x", ones}}).at("y").to_floats()[0], 64 * value);
    std::ranges::fill(weight, -1.0f);  // seen when it is given again
    EXPECT_EQ(session.run({{"x", ones}}).at("y").to_floats()[0], 64 * value);
  }
}

TEST(ApiSession, InputsAndOutputsThatDoNotFitAreRefused) {
  Session session(doubling(), without_cache());
  Context context;
  const Tensor x(DType::f32, {2, 3});
  const std::array<float, 6> fixed{};
  EXPECT_THAT(error_of([&] { session.run({}); }), HasSubstr("x"));
  EXPECT_NE(error_of([&] { session.run({{"x", x}, {"z", x}}); }), "");
  EXPECT_NE(error_of([&] { session.run({{"x", Tensor(DType::i32, {2, 3})}}); }), "");
  EXPECT_NE(error_of([&] { session.run({{"x", Tensor(DType::f32, {2, 4})}}); }), "");
  EXPECT_NE(error_of([&] { session.run(context, {{"x", x}}, {{"z", x}}); }), "");
  EXPECT_NE(error_of([&] { session.run(context, {{"x", x}}, {{"y", Tensor(DType::f32, {3, 3})}}); }), "");
  const Tensor read_only = Tensor::of_read_only_memory(DType::f32, {2, 3}, fixed.data(), nullptr);
  EXPECT_THAT(error_of([&] { session.run(context, {{"x", x}}, {{"y", read_only}}); }), HasSubstr("read-only"));
}

TEST(ApiSession, OptionsThatAreNotAcceptedAreErrors) {
  hone::SessionOptions options = without_cache();
  options.threads = 0;
  EXPECT_THAT(error_of([&] { Session(doubling(), options); }), HasSubstr("threads"));
  options = without_cache();
  options.device = "toaster";
  EXPECT_THAT(error_of([&] { Session(doubling(), options); }), HasSubstr("toaster"));
  EXPECT_FALSE(hone::list_devices().empty());
}

TEST(ApiSession, StateStaysInTheContextAndAnotherSessionsStateIsRefused) {
  Session session(counting(), without_cache());
  const std::array<float, 2> one{1, 2};
  const NamedTensors inputs{{"x", Tensor::of<float>({2}, one)}};
  Context context, other;
  session.run(context, inputs);
  EXPECT_THAT(session.run(context, inputs).at("m").to_floats(), ElementsAre(2, 4));
  EXPECT_THAT(session.run(other, inputs).at("m").to_floats(), ElementsAre(1, 2));
  EXPECT_THAT(context.state("n").to_floats(), ElementsAre(2, 4));

  Session wide(Graph::parse("graph g {\n  %x : f32[3] = input \"x\"\n  %n : f32[3] = state \"n\" {0, 0, 0}\n"
                            "  %m = add %n, %x\n  update %n = %m\n  return %m as \"m\"\n}"),
               without_cache());
  EXPECT_THAT(error_of([&] { wide.run(context, {{"x", Tensor(DType::f32, {3})}}); }), HasSubstr("n"));
  EXPECT_THAT(context.state("n").to_floats(), ElementsAre(2, 4));
  EXPECT_NE(error_of([&] { static_cast<void>(Context().state("n")); }), "");
}

TEST(ApiSession, TwoSessionsHaveMemoryLimitsOfTheirOwn) {
  hone::SessionOptions small = without_cache(), large = without_cache();
  small.memory_limit = 1 << 16, large.memory_limit = 1 << 28;
  Session a(doubling(), small), b(doubling(), large);
  const NamedTensors inputs{{"x", Tensor(DType::f32, {100'000, 3})}};
  EXPECT_THROW(a.run(inputs), hone::MemoryError);
  EXPECT_EQ(b.run(inputs).size(), 1u);
}

TEST(ApiSession, ARunIsCancelledFromAnotherThread) {
  Graph graph;
  hone::ValueId x = graph.add_input("x", "f32[512,512]");
  for (int i = 0; i < 200; ++i) x = graph.add_node("matmul", {x, x})[0];
  graph.add_output(x, "y");
  hone::SessionOptions options = without_cache();
  options.optimise = 0;  // slow: the other thread is in time
  Session session(graph, options);
  Context context;
  std::atomic<bool> ended = false;
  std::thread other([&] {
    while (!ended) context.cancel();
  });
  EXPECT_THROW(session.run(context, {{"x", Tensor(DType::f32, {512, 512})}}), hone::Cancelled);
  ended = true;
  other.join();
  session.close();
  EXPECT_NE(error_of([&] { session.run(context, {{"x", Tensor(DType::f32, {512, 512})}}); }), "");
}

TEST(ApiQuantize, GivesAModelThatIsSavedOpenedAndRun) {
  const hone::Model model(layer());
  hone::QuantizeOptions options;
  options.to = "mxint8";
  const hone::QuantizeResult small = hone::quantize(model, options);
  ASSERT_EQ(small.tensors.size(), 1u);
  EXPECT_EQ(small.tensors[0].after, "mxint8");
  EXPECT_GT(small.tensors[0].sqnr_db.value_or(0), 30);
  EXPECT_LT(small.weight_bytes_after, small.weight_bytes_before / 3);

  const std::string path = testing::TempDir() + "hone_api_small.safetensors";
  EXPECT_FALSE(small.model.save(path).check.empty());
  const hone::Model opened = hone::Model::open(path);
  EXPECT_EQ(hone::info(opened).formats[0].format, "mxint8");
  EXPECT_FALSE(opened.has_tokenizer());
  EXPECT_NE(error_of([&] { static_cast<void>(opened.tokenizer()); }), "");
  const NamedTensors inputs{{"x", Tensor(DType::f32, {1, 64})}};
  EXPECT_EQ(Session(opened, without_cache()).run(inputs).at("y").elements(), 64);
  std::filesystem::remove(path);
  EXPECT_NE(error_of([&] { hone::Model::open(path); }), "");
}

TEST(ApiQuantize, ATaskThatIsCancelledOrWhoseCallbackThrowsEnds) {
  const hone::Model model(layer());
  hone::QuantizeOptions options;
  options.to = "mxint8";
  struct Thrown {};
  EXPECT_THROW(hone::quantize(model, options, {.progress = [](const std::string&) { throw Thrown(); }}), Thrown);
  EXPECT_THROW(hone::quantize(model, options, {.cancelled = [] { return true; }}), hone::Cancelled);
  EXPECT_THROW(hone::quantize(model, {}), hone::Error);
  options.to = "mxint99";
  EXPECT_THROW(hone::quantize(model, options), hone::FormatError);
}

TEST(ApiFormats, ValuesGoIntoAFormatAndBack) {
  EXPECT_EQ(hone::parse_format("int4.g128").text, "int4.g128");
  EXPECT_THROW(hone::parse_format("int4.q"), hone::FormatError);
  EXPECT_GT(hone::list_formats().size(), 10u);
  EXPECT_THAT(hone::expand_formats({"mxint{4,8}"}), ElementsAre("mxint4", "mxint8"));

  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 64;
  const Tensor tensor = Tensor::of<float>({2, 32}, values);
  hone::EncodeCounts counts;
  const Tensor packed = hone::pack(tensor, "mxint8", &counts);
  EXPECT_EQ(packed.format(), "mxint8");
  EXPECT_EQ(counts.nan, 0);
  EXPECT_EQ(hone::unpack(packed).to_floats(), hone::round_to(tensor, "mxint8").to_floats());
  const hone::PackedPlanes planes = hone::planes(packed);
  EXPECT_EQ(planes.codes.elements(), 64);
  const Tensor again = hone::packed_of_planes("mxint8", {2, 32}, planes);
  EXPECT_EQ(again.to_floats(), packed.to_floats());
  EXPECT_NE(error_of([&] { hone::packed_of_planes("mxint8", {2, 64}, planes); }), "");
  EXPECT_NE(error_of([&] { hone::planes(tensor); }), "");
  EXPECT_NE(error_of([&] { hone::pack(Tensor(DType::i32, {2, 32}), "mxint8"); }), "");
}

}  // namespace
