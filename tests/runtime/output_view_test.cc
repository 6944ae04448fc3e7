// Outputs in memory of the caller's: what is written there, what is not, and memory that does not fit.
#include "runtime/output_view.h"

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
