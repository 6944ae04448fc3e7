// Outputs in memory of the caller's: what is written there, what is not, and memory that does not fit.
#include "runtime/output_view.h"

#include <gmock/gmock.h>

#include <numeric>

#include "ops/evaluate.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/runtime/encoder.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

constexpr const char* kTwice = R"(graph g {
  %x : f32[N,3] = input "x"
  %y : f32[N,3] = relu %x
  %z : f32[3,N] = reshape %y {shape=[3,N]}
  %s : f32[N,3] = add %y, %x
  return %x as "x", %y as "y", %z as "z", %s as "s"
})";

NamedTensors inputs_of(int64_t rows) {
  std::vector<float> values(static_cast<size_t>(rows * 3));
  std::iota(values.begin(), values.end(), -2.0f);
  return {{"x", Tensor::of<float>({rows, 3}, values)}};
}

SessionOptions at(int level) {
  SessionOptions options;
  options.optimise = level;
  return options;
}

// Memory for the named outputs of f32, filled with what no test computes.
struct Memory {
  explicit Memory(const std::map<std::string, std::vector<int64_t>>& shapes) {
    for (const auto& [label, shape] : shapes) {
      std::vector<float>& elements = all[label];
      elements.assign(static_cast<size_t>(element_count(shape)), 1234.5f);
      views[label] = OutputView::of(DType::f32, shape, std::span(elements));
    }
  }
  std::map<std::string, std::vector<float>> all;
  OutputViews views;
};

TEST(OutputView, HoldsWhatARunWithoutItReturns) {
  for (int level : {0, 1, 2}) {
    Session session(parse(kTwice), at(level));
    for (int64_t rows : {4, 1, 0, 5}) {
      const NamedTensors inputs = inputs_of(rows);
      const std::vector<Tensor> want = session.run(inputs);
      Memory memory({{"x", {rows, 3}}, {"y", {rows, 3}}, {"z", {3, rows}}, {"s", {rows, 3}}});
      Context context;
      const std::vector<Tensor> got = session.run(context, inputs, memory.views);
      expect_same_bits(got, want, fmt::format("-O{}, {} rows", level, rows));
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(got[i].data().bytes().data(),
                  rows == 0 ? got[i].data().bytes().data() : memory.views[session.output_names()[i]].bytes.data());
    }
  }
}

// Every other column of a wider array, rows in reverse, and the inputs likewise.
TEST(OutputView, ElementsMayLieApart) {
  for (int level : {0, 2}) {
    Session session(parse(kTwice), at(level));
    const NamedTensors inputs = inputs_of(4);
    const std::vector<Tensor> want = session.run(inputs);
    std::vector<float> wide(4 * 8, -7), source(4 * 8);
    const Strides apart{.strides = {-8, 2}, .offset = 3 * 8 + 1};
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 3; ++j)
        source[static_cast<size_t>(apart.offset - 8 * i + 2 * j)] =
            inputs.at("x").as<float>()[static_cast<size_t>(3 * i + j)];
    OutputView view = OutputView::of(DType::f32, {4, 3}, std::span(wide));
    view.strides = apart;
    Context context;
    const NamedTensors given{{"x", tensor_view(DType::f32, {4, 3}, std::as_bytes(std::span(source)), apart)}};
    const std::vector<Tensor> got = session.run(context, given, {{"s", view}});
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(got[i].same_bits(want[i])) << level;
    EXPECT_EQ(got[3].bytes(), 0) << "its elements are in the caller's memory alone";
    for (size_t at = 0; at < wide.size(); ++at) {
      const size_t row = 3 - at / 8, column = (at % 8 - 1) / 2;
      const bool inside = at % 2 == 1 && column < 3;
      EXPECT_EQ(wide[at], inside ? want[3].as<float>()[row * 3 + column] : -7) << at;
    }
    view.strides = Strides{.strides = {8, 2}, .offset = 5};
    EXPECT_THAT(error_of([&] {
                  session.run(context, given, {{"s", view}});
                }),
                testing::HasSubstr("output \"s\" has elements 5 to 33 of 4 bytes each, in memory of 128 bytes"));
    view.strides = Strides{.strides = {8}};
    EXPECT_THAT(error_of([&] {
                  session.run(context, given, {{"s", view}});
                }),
                testing::HasSubstr("2 dimensions and 1 strides"));
  }
}

TEST(OutputView, ADenseInputIsReadWhereItIs) {
  const std::vector<float> source(12, 1);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(source));
  EXPECT_EQ(tensor_view(DType::f32, {4, 3}, bytes).data().bytes().data(), bytes.data());
  EXPECT_THAT(error_of([&] { tensor_view(DType::f32, {5, 3}, bytes); }), testing::HasSubstr("memory of 48 bytes"));
}

TEST(OutputView, OthersAreTensorsOfTheirOwn) {
  Session session(parse(kTwice), {});
  const NamedTensors inputs = inputs_of(4);
  const std::vector<Tensor> want = session.run(inputs);
  Memory memory({{"z", {3, 4}}});
  Context context;
  std::vector<Tensor> got = session.run(context, inputs, memory.views);
  expect_same_bits(got, want, "one of four");
  got[1].mutable_as<float>()[0] += 1;  // y, whose elements z has too
  EXPECT_TRUE(got[2].same_bits(want[2]));
}

TEST(OutputView, AModelWritesThereStepByStep) {
  Session session(encoder(), {});
  const NamedTensors inputs = encoder_inputs(2, 7);
  const std::vector<Tensor> want = session.run(inputs);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (size_t i = 0; i < want.size(); ++i) shapes[session.output_names()[i]] = want[i].shape();
  Memory memory(shapes);
  Context context;
  for (int round : {1, 2})
    expect_same_bits(session.run(context, inputs, memory.views), want, fmt::format("run {}", round));
}

TEST(OutputView, AfterSizesThatDependOnDataItIsCopiedTo) {
  Session session(parse(R"(graph g {
    %x : f32[N] = input "x"
    %i : i64[1,_1] = non_zero %x
    %f : f32[1,_1] = cast %i {dtype=f32}
    return %f as "f"
  })"),
                  {});
  const NamedTensors inputs{{"x", Tensor::of<float>({5}, {0, 3, 0, 0, 1})}};
  Memory memory({{"f", {1, 2}}});
  Context context;
  session.run(context, inputs, memory.views);
  EXPECT_EQ(memory.all["f"], (std::vector<float>{1, 4}));
  Memory other({{"f", {1, 3}}});
  EXPECT_EQ(error_of([&] { session.run(context, inputs, other.views); }),
            "output \"f\" is f32[1,2]; memory is given for f32[1,3]");
}

class RefusedView : public testing::TestWithParam<int> {
 protected:
  std::string error(const OutputViews& views) {
    return error_of([&] { session_.run(context_, inputs_, views); });
  }
  NamedTensors inputs_ = inputs_of(4);
  Session session_{parse(kTwice), at(GetParam())};
  Context context_;
  std::vector<float> memory_ = std::vector<float>(24, 7.0f);
  OutputView view(std::vector<int64_t> shape, int64_t elements, int64_t from = 0) {
    return OutputView::of(DType::f32, std::move(shape),
                          std::span(memory_).subspan(static_cast<size_t>(from), static_cast<size_t>(elements)));
  }
};

TEST_P(RefusedView, NamesThatAreNoOutputs) {
  EXPECT_EQ(error({{"yy", view({4, 3}, 12)}}), "the model has no output \"yy\". Did you mean y?");
}

TEST_P(RefusedView, OtherShapesAndTypes) {
  EXPECT_EQ(error({{"y", view({3, 4}, 12)}}), "output \"y\" is f32[4,3]; memory is given for f32[3,4]");
  OutputView integers = view({4, 3}, 12);
  integers.dtype = DType::i32;
  EXPECT_EQ(error({{"y", integers}}), "output \"y\" is f32[4,3]; memory is given for i32[4,3]");
  EXPECT_EQ(memory_, std::vector<float>(24, 7.0f)) << "nothing is written";
}

TEST_P(RefusedView, MemoryThatIsNotAsLargeAsItsShape) {
  EXPECT_EQ(error({{"y", view({4, 3}, 11)}}),
            "output \"y\" is to be written as f32[4,3], 48 bytes, to memory of 44 bytes");
  EXPECT_EQ(error({{"y", view({-4, -3}, 12)}}), "output \"y\" is to be written as f32[-4,-3]; sizes are 0 or more");
  constexpr int64_t kLarge = int64_t{1} << 40;
  EXPECT_NE(error({{"y", view({kLarge, kLarge}, 12)}}), "");
}

TEST_P(RefusedView, MemoryThatIsNotAligned) {
  OutputView odd = view({4, 3}, 13);
  odd.bytes = odd.bytes.subspan(1, 48);
  EXPECT_EQ(error({{"y", odd}}), "the memory for output \"y\" is not aligned to the 4 bytes of an element");
}

TEST_P(RefusedView, MemoryThatOverlaps) {
  EXPECT_EQ(error({{"y", view({4, 3}, 12)}, {"s", view({4, 3}, 12, 11)}}),
            "the memory for output \"s\" overlaps that for output \"y\"");
  const std::span<float> x = inputs_["x"].mutable_as<float>();
  EXPECT_EQ(error({{"y", OutputView::of(DType::f32, {4, 3}, x)}}),
            "the memory for output \"y\" overlaps that of input \"x\"");
}

INSTANTIATE_TEST_SUITE_P(Levels, RefusedView, testing::Values(0, 2));

}  // namespace
}  // namespace hone::test
