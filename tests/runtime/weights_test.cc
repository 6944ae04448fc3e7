// Weights laid out for kernels: one copy for all shapes, the source's pages given back, and what the statistics count.
#include <fstream>
#include <sstream>

#include "ops/calls/conv.h"
#include "tests/runtime/encoder.h"
#include "tests/support/mapped_weight.h"

namespace hone::test {
namespace {

// Resident bytes of the mapping that starts at `begin`, as the system counts them.
int64_t resident_bytes(const std::byte* begin) {
  std::ifstream smaps("/proc/self/smaps");
  const std::string start = fmt::format("{:x}-", reinterpret_cast<uintptr_t>(begin));
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.starts_with(start)) here = true;
    if (here && line.starts_with("Rss:")) {
      int64_t kilobytes = -1;
      std::istringstream(line.substr(4)) >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return -1;
}

// Small whole numbers.
Tensor small_numbers(std::vector<int64_t> shape) {
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
  return Tensor::of<float>(std::move(shape), values);
}

Graph linear_with(const Tensor& weight) {
  ParseContext context = op_context();
  context.find_constant = [&](const std::string&, const TensorType&) { return std::optional<Tensor>(weight); };
  return parse_graph(fmt::format(R"(graph g {{
    %x : f32[M,{0}] = input "x"
    %w : f32[{1},{0}] = const "w"
    %y = linear %x, %w
    return %y as "y"
  }})",
                                 weight.dim(1), weight.dim(0)),
                     context);
}

Graph conv_with(const Tensor& weight) {
  Graph graph;
  std::string type = fmt::format("f32[1,{}", weight.dim(1));
  for (size_t i = 2; i < weight.shape().size(); ++i) type += ",5";
  const ValueId x = graph.add_input("x", parse_type(type + "]"));
  const ValueId w = graph.add_constant("w", weight);
  graph.add_output(ops::conv(graph, {.x = x, .w = w}), "y");
  return graph;
}

Tensor ones(int64_t rows, int64_t columns) {
  return Tensor::of<float>({rows, columns}, std::vector<float>(static_cast<size_t>(rows * columns), 1));
}

TEST(Weights, PagesOfTheSourceAreGivenBackOnceLaidOut) {
  const std::vector<float> values = small_numbers({1024, 1024}).to_floats();
  const MappedWeight weight(small_numbers({1024, 1024}));
  const int64_t bytes = weight.tensor().bytes();
  ASSERT_EQ(weight.tensor().to_floats(), values);
  ASSERT_EQ(resident_bytes(weight.begin()), bytes) << "reading makes all pages resident";
  Session session(linear_with(weight.tensor()), {});
  const Tensor y = session.run({{"x", ones(2, 1024)}})[0];
  EXPECT_EQ(resident_bytes(weight.begin()), 0);
  // Sums of small whole numbers are exact.
  std::vector<float> want(2048, 0);
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t row : {0, 1}) want[row * 1024 + i / 1024] += values[i];
  EXPECT_EQ(y.to_floats(), want);
  EXPECT_EQ(weight.tensor().to_floats(), values) << "the source can still be read";
}

// As in ONNX files, whose bytes lie anywhere; windows are put in the order of the product on the way.
TEST(Weights, OfConvolutionsAreReadOnAnyByteAndNoCopyStays) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{128, 64, 3, 3}, {128, 64, 1, 1}, {64, 32, 3, 3, 3}}) {
    const MappedWeight weight(small_numbers(shape), 1);
    Session reference(conv_with(small_numbers(shape)), {});
    Session session(conv_with(weight.tensor()), {});
    std::vector<int64_t> sizes(shape.size(), 5);
    sizes[0] = 1, sizes[1] = shape[1];
    const Tensor x = small_numbers(sizes);
    EXPECT_TRUE(session.run({{"x", x}})[0].same_bits(reference.run({{"x", x}})[0])) << shape.size();
    EXPECT_TRUE(weight.tensor().data().source().has_value());
    EXPECT_LE(resident_bytes(weight.begin()), 2 * 4096) << "of pages that others have part in";
  }
}

TEST(Weights, AreLaidOutOnceForAllShapes) {
  const MappedWeight weight(small_numbers({256, 128}));
  Session session(linear_with(weight.tensor()), {});
  session.run({{"x", ones(1, 128)}});
  const int64_t bytes = session.statistics().prepacked_bytes;
  EXPECT_GE(bytes, weight.tensor().bytes());
  for (int64_t rows : {3, 40, 41, 1}) session.run({{"x", ones(rows, 128)}});
  EXPECT_EQ(session.statistics().prepacked_bytes, bytes);
  EXPECT_EQ(session.statistics().direct_weight_bytes, 0) << "no kernel reads the source";
}

TEST(Weights, PackedOnesStayAboutAsSmallAsTheirFormat) {
  Philox rng(3);
  for (const char* format : {"mxint8", "mxfp4"}) {
    const Tensor weight = random_packed(rng, {512, 512}, format);
    Graph graph;
    const ValueId x = graph.add_input("x", parse_type("f32[M,512]"));
    const ValueId w = graph.add_constant("w", weight);
    graph.add_output(graph.emit(ops::get("linear"), {x, w}), "y");
    Session session(graph, {});
    session.run({{"x", ones(4, 512)}});
    EXPECT_LE(session.statistics().prepacked_bytes, weight.bytes() + weight.bytes() / 200) << format;
  }
}

TEST(Weights, TablesAndBiasesAreReadWhereTheyAre) {
  Session session(encoder(), {});
  session.run(encoder_inputs(1, 4));
  // Word table 61 x 64 codes and a scale for every 32 of them, five vectors of 64 and one of 256 (positions are
  // evaluated for the length).
  EXPECT_EQ(session.statistics().direct_weight_bytes, 61 * 64 + 61 * 2 + (4 * 64 + 256) * 4);
}

}  // namespace
}  // namespace hone::test
