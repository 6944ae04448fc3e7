// Sizes that a run brings: code for any of them, made once, with the bits of code for certain ones alone.
#include "runtime/own_code.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/runtime/encoder.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

SessionOptions uncached(Compute compute = Compute::f32) {
  SessionOptions options;
  options.compute = compute;
  options.max_specialisations = 4;
  return options;
}

std::vector<Tensor> by_code_for_these(const Graph& graph, const SessionOptions& options, int64_t batch,
                                      int64_t length) {
  Session session(graph, options);
  session.prepare({{"B", batch}, {"S", length}});
  return session.run(encoder_inputs(batch, length));
}

TEST(OpenSizes, OneSessionRunsAllLengthsWithTheBitsOfCodeForEach) {
  for (Compute compute : {Compute::f32, Compute::bf16}) {
    Session any(encoder(), uncached(compute));
    int of_one_length = 0;
    for (int64_t length : {37, 1, 200, 2, 8, 256, 9, 128, 7, 16, 3, 64, 129, 5}) {
      const std::vector<Tensor> got = any.run(encoder_inputs(2, length));
      if (of_one_length == 0) of_one_length = any.statistics().kernels_compiled;
      expect_same_bits(got, by_code_for_these(encoder(), uncached(compute), 2, length),
                       fmt::format("length {}", length));
    }
    for (int64_t batch : {1, 3, 8})
      expect_same_bits(any.run(encoder_inputs(batch, 1)), by_code_for_these(encoder(), uncached(compute), batch, 1),
                       fmt::format("batch {}", batch));
    EXPECT_LE(any.statistics().kernels_compiled, 2 * of_one_length);
  }
}

TEST(OpenSizes, NothingIsCompiledForALengthThatLiesBetweenKnownOnes) {
  Session session(encoder(), uncached());
  for (int64_t length : {2, 9, 60}) session.run(encoder_inputs(3, length));
  const int compiled = session.statistics().kernels_compiled;
  const int64_t laid_out = session.statistics().prepacked_bytes;
  for (int64_t length = 10; length < 60; length += 7) session.run(encoder_inputs(5, length));
  EXPECT_EQ(session.statistics().kernels_compiled, compiled);
  EXPECT_EQ(session.statistics().prepacked_bytes, laid_out);
}

TEST(OpenSizes, PreparedSizesHaveCodeOfTheirOwn) {
  Session session(encoder(), uncached());
  session.run(encoder_inputs(1, 20));
  const int general = session.statistics().kernels_compiled;
  session.prepare({{"B", 1}, {"S", 20}});
  const int special = session.statistics().kernels_compiled;
  EXPECT_GT(special, general);
  session.run(encoder_inputs(1, 20));
  EXPECT_EQ(session.statistics().kernels_compiled, special);
}

// Laid out as constants are, for whichever sizes.
TEST(OpenSizes, WeightsThatFollowFromTheSizesGiveTheBitsOfConstants) {
  const Graph graph = parse_seeded(R"(graph g {
    %x : f32[S,16] = input "x"
    %n = iota {shape=[S], dtype=f32}
    %sum = reduce_sum %n {axes=[0], keepdims=0}
    %c : f32[8,16] = const "spread"
    %all = expand %sum {shape=[8,16]}
    %w = mul %all, %c
    %y = linear %x, %w
    return %y as "y"
  })");
  Session any(graph, uncached());
  for (int64_t rows : {1, 2, 3, 20}) {
    Philox rng(5);
    const NamedTensors inputs{{"x", random_floats(rng, {rows, 16}, DType::f32, -1, 1)}};
    Session these(graph, uncached());
    these.prepare({{"S", rows}});
    expect_same_bits(any.run(inputs), these.run(inputs), fmt::format("{} rows", rows));
  }
}

TEST(OpenSizes, AModelSaysForWhichSizesItCarriesCode) {
  Graph graph = encoder();
  EXPECT_TRUE(sizes_with_own_code(graph).empty());
  const Bindings first{{"B", 1}, {"S", 20}}, second{{"B", 2}, {"S", 40}};
  note_own_code(graph, first);
  note_own_code(graph, second);
  note_own_code(graph, first);
  EXPECT_EQ(sizes_with_own_code(graph), (std::vector<Bindings>{first, second}));
  for (const char* damaged : {"", ";;", "B", "=", "B=x,S=", "B=99999999999999999999", "\x01;=;,"}) {
    graph.metadata["compiled_sizes"] = damaged;
    EXPECT_NO_THROW(sizes_with_own_code(graph)) << damaged;
  }
}

TEST(OpenSizes, BundledCodeOfCertainSizesIsUsedForThem) {
  const Bindings sizes{{"B", 1}, {"S", 20}};
  SessionOptions options = uncached();
  options.keep_objects = true;
  Session maker(encoder(), options);
  maker.prepare(sizes, Session::Code::any_sizes);
  const int general = maker.statistics().kernels_compiled;
  maker.prepare(sizes);
  const int all = maker.statistics().kernels_compiled;
  Graph graph = encoder();
  note_own_code(graph, sizes);
  SessionOptions carrying = uncached();
  carrying.bundled = {maker.objects()};
  Session session(graph, carrying);
  session.run(encoder_inputs(1, 20));
  EXPECT_EQ(session.statistics().kernels_compiled, 0);
  EXPECT_GE(session.statistics().kernels_bundled, all - general);
  session.run(encoder_inputs(2, 30));
  EXPECT_EQ(session.statistics().kernels_compiled, 0) << "code for any sizes is carried, too";
}

TEST(OpenSizes, ProfilesDescribeTheStepsOfTheseSizes) {
  Session session(encoder(), uncached());
  RunProfile profile;
  double flops[2];
  for (int i = 0; i < 2; ++i) {
    session.run(encoder_inputs(1, i ? 40 : 20), &profile);
    flops[i] = 0;
    for (const StepProfile& step : profile.steps) flops[i] += step.flops;
    EXPECT_EQ(profile.marks_ns.size(), profile.steps.size() + 1);
  }
  EXPECT_GT(flops[0], 0);
  EXPECT_GT(flops[1], 1.9 * flops[0]);
}

// Its nodes have formulas that the group as a whole did not ask for.
TEST(OpenSizes, AGroupThatCannotBeOneKernelFallsApart) {
  const Graph graph = parse(R"(graph g {
    %x : f32[N,2,3] = input "x"
    %q = mul %x, %x
    %s = reduce_sum %q {axes=[0, 2], keepdims=0}
    return %s as "s"
  })");
  Session session(graph, {});
  for (const int64_t n : {2, 5}) {
    const NamedTensors inputs{{"x", Tensor::of<float>({n, 2, 3}, std::vector<float>(static_cast<size_t>(6 * n), 2))}};
    EXPECT_EQ(session.run(inputs)[0].to_floats(), std::vector<float>(2, static_cast<float>(12 * n)));
  }
}

// What is enlarged has other formulas for its sizes than what it is added to, and nearly always the same sizes.
TEST(OpenSizes, SumsOfWhatIsEnlargedAreOneKernelAndWhereTheyBroadcastRight) {
  const Graph graph = parse_seeded(R"(graph g {
    %x : f32[N,4,(H+1)/2,6] = input "x"
    %y : f32[N,4,H,6] = input "y"
    %scales : f32[4] = const {1, 1, 2, 1}
    %large = resize %x, _, %scales {mode="nearest", nearest_mode="floor", coordinates="asymmetric"}
    %t = tanh %y
    %sum = add %t, %large
    %z = sigmoid %sum
    return %z as "z"
  })");
  Session any(graph, uncached());
  Philox rng(5);
  const auto inputs = [&](int64_t height) {
    return NamedTensors{{"x", random_floats(rng, {2, 4, (height + 1) / 2, 6})},
                        {"y", random_floats(rng, {2, 4, height, 6})}};
  };
  const auto expect_right = [&](const NamedTensors& given, int64_t height) {
    Session these(graph, uncached());
    these.prepare({{"N", 2}, {"H", height}});
    expect_same_bits(any.run(given), these.run(given), fmt::format("height {}", height));
  };
  RunProfile profile;
  any.run(inputs(8), &profile);
  EXPECT_EQ(profile.steps.size(), 2u) << "the enlarged one, and the rest";
  const int compiled = any.statistics().kernels_compiled;
  for (int64_t height : {2, 10, 64}) expect_right(inputs(height), height);
  EXPECT_EQ(any.statistics().kernels_compiled, compiled);
  expect_right(inputs(1), 1);  // one row, added to two
  EXPECT_NE(error_of([&] { any.run(inputs(7)); }), "");
}

// Symbols that differ may turn out equal, so rules take them when a graph is made; a run's sizes must fulfil them.
TEST(OpenSizes, SizesThatDoNotFitARuleAreErrors) {
  const auto error = [](const char* text, const NamedTensors& inputs) {
    Session session(parse_seeded(text), uncached());
    return error_of([&] { session.run(inputs); });
  };
  const auto zeros = [](std::vector<int64_t> shape, DType dtype = DType::f32) {
    return Tensor(dtype, std::move(shape));
  };
  const char* linear =
      "graph g { %x : f32[S,16] = input  %w : f32[N,16] = input  %b : f32[M] = input "
      " %y = linear %x, %w, %b  return %y }";
  for (int64_t bias : {1, 4, 6})
    EXPECT_NE(error(linear, {{"x", zeros({3, 16})}, {"w", zeros({5, 16})}, {"b", zeros({bias})}}), "") << bias;
  EXPECT_EQ(error(linear, {{"x", zeros({3, 16})}, {"w", zeros({5, 16})}, {"b", zeros({5})}}), "");
  const char* norm = "graph g { %x : f32[B,S] = input  %w : f32[N] = input  %y = rms_norm %x, %w  return %y }";
  EXPECT_NE(error(norm, {{"x", zeros({3, 8})}, {"w", zeros({1})}}), "");
  EXPECT_EQ(error(norm, {{"x", zeros({3, 8})}, {"w", zeros({8})}}), "");
  const char* joined =
      "graph g { %x : f32[A,B] = input  %y : f32[C,D] = input  %z = concat %x, %y {axis=0} return %z }";
  EXPECT_NE(error(joined, {{"x", zeros({3, 8})}, {"y", zeros({3, 7})}}), "");
  EXPECT_EQ(error(joined, {{"x", zeros({3, 8})}, {"y", zeros({2, 8})}}), "");
  const char* product = "graph g { %x : f32[A,B] = input  %y : f32[C,D] = input  %z = matmul %x, %y return %z }";
  EXPECT_NE(error(product, {{"x", zeros({3, 8})}, {"y", zeros({7, 2})}}), "");
  EXPECT_EQ(error(product, {{"x", zeros({3, 8})}, {"y", zeros({8, 2})}}), "");
}

// The slice has one size whatever it is a slice of.
TEST(OpenSizes, SlicesOfOneSizeArePaddedWhateverTheyAreOf) {
  const Graph graph = parse(R"(graph g {
    %x : f32[N,3] = input "x"
    %last = slice %x {axes=[0], starts=[N-1], ends=[N]}
    %y = pad %last {pads=[1, 0, 0, 2]}
    return %y as "y"
  })");
  Session session(graph, uncached());
  for (int64_t rows : {2, 1, 5}) {
    Philox rng(7);
    const Tensor x = random_floats(rng, {rows, 3}, DType::f32, -1, 1);
    Session reference(graph, {.optimise = 0});
    expect_same_bits(session.run({{"x", x}}), reference.run({{"x", x}}), fmt::format("{} rows", rows));
  }
}

TEST(OpenSizes, SizesThatAPlanCannotHoldAreAnError) {
  const Graph graph = parse_seeded(R"(graph g {
    %x : f32[N] = input "x"
    %w : f32[1048576,1] = const "wide"
    %y = mul %x, %w
    %z = mul %y, %y
    return %z as "z"
  })");
  Session session(graph, uncached());
  EXPECT_THROW(session.prepare({{"N", int64_t{1} << 40}}), Error);
}

}  // namespace
}  // namespace hone::test
