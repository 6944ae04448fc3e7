// Sessions: levels of optimisation against the reference, threads, specialisations, inputs, what a profile says.
#include "runtime/session.h"

#include "device/x86/compiler.h"
#include "kernels/lower.h"
#include "ops/evaluate.h"
#include "tests/runtime/encoder.h"
#include "tests/support/graph_bound.h"

namespace hone::test {
namespace {

SessionOptions options_with(int optimise, Compute compute = Compute::f32) {
  SessionOptions options;
  options.optimise = optimise;
  options.compute = compute;
  return options;
}

std::vector<Tensor> run_once(const Graph& graph, const NamedTensors& inputs, SessionOptions options = {}) {
  return Session(graph, std::move(options)).run(inputs);
}

void expect_within_bounds(const std::vector<Tensor>& got, const std::vector<Bounded>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(fault_of(got[i], want[i]), "") << what << ", output " << i;
}

// --- what is computed ------------------------------------------------------------------------------------------------

TEST(Session, WithoutOptimisationIsTheReferenceBitForBit) {
  const NamedTensors inputs = encoder_inputs(2, 7);
  expect_same_bits(run_once(encoder(), inputs, options_with(0)), evaluate(encoder(), inputs), "-O0");
}

TEST(Session, EveryLevelOfOptimisationStaysWithinTheBoundsOfTheReference) {
  const NamedTensors inputs = encoder_inputs(2, 7);
  const std::vector<Bounded> want = bounded_outputs(encoder(), inputs);
  for (int level : {0, 1, 2})
    expect_within_bounds(run_once(encoder(), inputs, options_with(level)), want, fmt::format("-O{}", level));
}

TEST(Session, TheReferenceBackendComputesTheCanonicalForm) {
  const NamedTensors inputs = encoder_inputs(3, 5);
  SessionOptions reference = options_with(2);
  reference.device = open_device("reference");
  expect_same_bits(run_once(encoder(), inputs, reference), evaluate(canonicalise(encoder()), inputs), "reference");
  expect_same_bits(run_once(encoder(), inputs, reference), run_once(encoder(), inputs, options_with(1)), "-O1");
}

TEST(Session, Bfloat16ActivationsMeanTheSameInterpreted) {
  const NamedTensors inputs = encoder_inputs(2, 6);
  const std::vector<Tensor> want = evaluate(prepare_for_codegen(encoder(), Compute::bf16), inputs);
  for (int level : {0, 1})
    expect_same_bits(run_once(encoder(), inputs, options_with(level, Compute::bf16)), want, fmt::format("-O{}", level));
  EXPECT_FALSE(want[0].same_bits(evaluate(encoder(), inputs)[0])) << "activations are rounded";
}

TEST(Session, TheModelsOwnComputeTypeHoldsUnlessAnotherIsAskedFor) {
  Graph graph = encoder();
  graph.metadata["compute"] = "bf16";
  EXPECT_EQ(Session(graph, {}).compute(), Compute::bf16);
  EXPECT_EQ(Session(graph, options_with(2, Compute::f32)).compute(), Compute::f32);
  EXPECT_EQ(Session(encoder(), {}).compute(), Compute::f32);
}

TEST(Session, ResultsAreTensorsOfTheirOwn) {
  Session session(encoder(), {});
  const NamedTensors inputs = encoder_inputs(1, 5);
  const std::vector<Tensor> first = session.run(inputs);
  const std::vector<float> before = first[0].to_floats();
  session.run(encoder_inputs(2, 5));
  EXPECT_EQ(first[0].to_floats(), before);
  expect_same_bits(session.run(inputs), first, "again");
}

TEST(Session, OutputsMayBeInputsConstantsAndOneValueTwice) {
  const Graph graph = parse(R"(graph g {
    %x : f32[N] = input "x"
    %c = const f32[2] {5, 7}
    %y = mul %x, 2.0
    return %x as "x", %c as "c", %y as "y", %y as "again"
  })");
  const Tensor x = Tensor::of<float>({3}, {1, 2, 3});
  Session session(graph, {});
  const std::vector<Tensor> outputs = session.run({{"x", x}});
  EXPECT_EQ(session.output_names(), (std::vector<std::string>{"x", "c", "y", "again"}));
  EXPECT_EQ(outputs[0].to_floats(), x.to_floats());
  EXPECT_EQ(outputs[1].to_floats(), (std::vector<float>{5, 7}));
  EXPECT_EQ(outputs[2].to_floats(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(outputs[3].to_floats(), (std::vector<float>{2, 4, 6}));
}

TEST(Session, AnEmptyBatchGivesEmptyResults) {
  const std::vector<Tensor> outputs = run_once(encoder(), encoder_inputs(0, 5));
  EXPECT_EQ(outputs[0].shape(), (std::vector<int64_t>{0, 5, 64}));
  EXPECT_EQ(outputs[0].elements(), 0);
}

// --- threads ---------------------------------------------------------------------------------------------------------

// Kinds of kernels of which at least one has more than one piece of work: where two threads share it.
std::set<std::string> kinds_in_several_pieces(const Graph& graph, const NamedTensors& inputs, Compute compute) {
  Graph prepared = prepare_for_codegen(graph, compute);
  const X86Target target = host_target();
  const LoweredGraph lowered =
      lower(specialise(prepared, bind_inputs(prepared, inputs)), {.device = x86_device(target)});
  std::set<std::string> kinds;
  for (const Step& step : lowered.steps) {
    if (!step.plan) continue;
    KernelArgs args{.dims = step.dims};
    if (const Launch call = launch(*step.plan, target, args); call.items > call.items_per_chunk)
      kinds.insert(std::string(step.plan->kernel().name));
  }
  return kinds;
}

TEST(Session, TwoThreadsGiveTheBitsOfOneForEveryKindOfKernel) {
  const NamedTensors inputs = encoder_inputs(12, 250);
  for (Compute compute : {Compute::f32, Compute::bf16}) {
    EXPECT_EQ(kinds_in_several_pieces(encoder(), inputs, compute),
              (std::set<std::string>{"attention", "gather", "gemm", "pointwise", "row"}));
    SessionOptions options = options_with(2, compute);
    const std::vector<Tensor> one = run_once(encoder(), inputs, options);
    options.threads = 2;
    Session two(encoder(), options);
    for (int run = 0; run < 3; ++run) expect_same_bits(two.run(inputs), one, std::string(to_string(compute)));
  }
}

// --- specialisations -------------------------------------------------------------------------------------------------

TEST(Session, MoreShapesThanSlotsStayRight) {
  SessionOptions options;
  options.max_specialisations = 2;
  Session session(encoder(), options);
  for (int round = 0; round < 2; ++round)
    for (int64_t length : {3, 9, 4, 3, 17}) {
      const NamedTensors inputs = encoder_inputs(2, length);
      expect_within_bounds(session.run(inputs), bounded_outputs(encoder(), inputs), fmt::format("length {}", length));
    }
}

TEST(Session, ShapesInUseAreKeptAndTheLeastRecentlyUsedGoes) {
  SessionOptions options;
  options.max_specialisations = 2;
  Session session(encoder(), options);
  // Whether running this length had to plan anew.
  const auto plans = [&](int64_t length) {
    const double before = session.statistics().specialise_milliseconds;
    session.run(encoder_inputs(1, length));
    return session.statistics().specialise_milliseconds != before;
  };
  EXPECT_TRUE(plans(3));
  EXPECT_TRUE(plans(5));
  EXPECT_FALSE(plans(3));
  EXPECT_TRUE(plans(7));  // 5 goes
  EXPECT_FALSE(plans(3));
  EXPECT_TRUE(plans(5));
}

TEST(Session, AnotherBatchRunsTheKernelsOfTheFirst) {
  Session session(encoder(), {});
  session.run(encoder_inputs(2, 24));
  const int compiled = session.statistics().kernels_compiled;
  EXPECT_GT(compiled, 0);
  for (int64_t batch : {3, 4, 7}) session.run(encoder_inputs(batch, 24));
  EXPECT_EQ(session.statistics().kernels_compiled, compiled);
}

TEST(Session, MoreThreadsThanCoresGiveTheSameBits) {
  const NamedTensors inputs = encoder_inputs(3, 40);
  expect_same_bits(run_once(encoder(), inputs, {.threads = 100}), run_once(encoder(), inputs), "100 threads");
}

TEST(Session, WithoutFusionEachNodeHasAStepAndTheResultIsWithinItsBounds) {
  const NamedTensors inputs = encoder_inputs(2, 7);
  Session fused(encoder(), {}), alone(encoder(), {.fuse = false});
  RunProfile fused_run, alone_run;
  fused.run(inputs, &fused_run);
  expect_within_bounds(alone.run(inputs, &alone_run), bounded_outputs(encoder(), inputs), "alone");
  EXPECT_GT(alone_run.steps.size(), fused_run.steps.size());
  for (const StepProfile& step : alone_run.steps) EXPECT_EQ(step.ops.find('+'), std::string::npos) << step.ops;
}

TEST(Session, MachineCodeOfAnotherSessionIsUsed) {
  const NamedTensors inputs = encoder_inputs(2, 7);
  Session first(encoder(), {.keep_objects = true});
  const std::vector<Tensor> want = first.run(inputs);
  Session second(encoder(), {.bundled = {first.objects()}});
  expect_same_bits(second.run(inputs), want, "carried");
  EXPECT_EQ(second.statistics().kernels_compiled, 0);
  EXPECT_EQ(second.statistics().kernels_bundled, first.statistics().kernels_compiled);
  EXPECT_EQ(second.statistics().objects_note, "");
}

TEST(Session, RefusesNoSlotsAndNoThreads) {
  SessionOptions options;
  options.max_specialisations = 0;
  EXPECT_NE(error_of([&] { Session(encoder(), options); }).find("max_specialisations is 0"), std::string::npos);
  options = {};
  options.threads = 0;
  EXPECT_NE(error_of([&] { Session(encoder(), options); }).find("threads is 0"), std::string::npos);
}

TEST(Session, PreparingAheadLeavesNothingToCompile) {
  Session session(encoder(), {});
  session.prepare({{"B", 2}, {"S", 6}});
  const SessionStatistics before = session.statistics();
  EXPECT_GT(before.kernels_compiled, 0);
  session.run(encoder_inputs(2, 6));
  EXPECT_EQ(session.statistics().kernels_compiled, before.kernels_compiled);
  EXPECT_EQ(session.statistics().specialise_milliseconds, before.specialise_milliseconds);
}

TEST(Session, PreparingNeedsEverySymbol) {
  Session session(encoder(), {});
  EXPECT_NE(error_of([&] { session.prepare({{"B", 2}}); }).find("S"), std::string::npos);
}

TEST(Session, TheArenaIsAtLeastWhatOneStepNeeds) {
  Session session(encoder(), {});
  session.run(encoder_inputs(4, 32));
  const SessionStatistics& statistics = session.statistics();
  EXPECT_GE(statistics.arena_bytes, statistics.arena_lower_bound);
  EXPECT_GE(statistics.arena_lower_bound, 4 * 32 * 256 * 4);  // the widest value
}

// --- values that depend on shapes alone ------------------------------------------------------------------------------

TEST(EvaluateConstants, LeavesOnlyWhatDependsOnInputs) {
  Session session(parse_seeded(R"(graph g {
    %x : f32[S,8] = input "x"
    %n = iota {shape=[S]}
    %t : f32[64,8] = const "positions"
    %p = gather %t, %n
    %y = add %x, %p
    return %y as "y"
  })"),
                  {});
  RunProfile profile;
  session.run({{"x", Tensor(DType::f32, {5, 8})}}, &profile);
  ASSERT_EQ(profile.steps.size(), 1u);
  EXPECT_EQ(profile.steps[0].ops, "add");
}

TEST(EvaluateConstants, PackedTablesStayPacked) {
  Session session(parse_seeded(R"(graph g {
    %x : f32[S,32] = input "x"
    %n = iota {shape=[S]}
    %t : mxint8[64,32] = const "positions"
    %p = gather %t, %n
    %y = tanh %x
    %m = matmul %y, %p {transpose_b=1}
    return %m as "m"
  })"),
                  {});
  RunProfile profile;
  session.run({{"x", Tensor(DType::f32, {5, 32})}}, &profile);
  ASSERT_EQ(profile.steps.size(), 3u);
  EXPECT_EQ(profile.steps[0].kind + " " + profile.steps[0].ops, "gather gather");
}

// A weight that is made from the length has the same place in every specialised graph, but not the same values.
TEST(EvaluateConstants, WeightsMadeFromAShapeBelongToThatShape) {
  const Graph graph = parse(R"(graph g {
    %x : f32[S,16] = input "x"
    %n = iota {shape=[S], dtype=f32}
    %sum = reduce_sum %n {axes=[0], keepdims=0}
    %w = expand %sum {shape=[8,16]}
    %y = linear %x, %w
    return %y as "y"
  })");
  Session session(graph, {});
  for (int64_t length : {4, 5, 4}) {
    const Tensor x = Tensor::of<float>({length, 16}, std::vector<float>(static_cast<size_t>(length) * 16, 1));
    const float each = static_cast<float>(16 * (length * (length - 1) / 2));
    EXPECT_EQ(session.run({{"x", x}})[0].to_floats(), std::vector<float>(static_cast<size_t>(length) * 8, each));
  }
}

// --- inputs ----------------------------------------------------------------------------------------------------------

class Refused : public testing::TestWithParam<int> {  // by -O level
 protected:
  std::string error(const NamedTensors& inputs) {
    return error_of([&] { session_.run(inputs); });
  }
  void expect_error(const NamedTensors& inputs, const std::vector<std::string>& parts) {
    const std::string text = error(inputs);
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
  }
  Session session_{encoder(), options_with(GetParam())};
  NamedTensors inputs_ = encoder_inputs(2, 5);
};

TEST_P(Refused, InputsOfAnotherElementType) {
  inputs_["ids"] = inputs_["ids"].converted(DType::i32);
  expect_error(inputs_, {"\"ids\"", "i32[2,5]", "i64[B,S]"});
}

TEST_P(Refused, PackedInputs) {
  Philox rng(1);
  inputs_["mask"] = random_packed(rng, {2, 1, 1, 32}, "mxint8");
  expect_error(inputs_, {"\"mask\"", "mxint8[2,1,1,32]", "f32[B,1,1,S]"});
}

TEST_P(Refused, ShapesThatContradictEachOther) {
  inputs_["mask"] = Tensor(DType::f32, {2, 1, 1, 6});
  expect_error(inputs_, {"\"mask\"", "6", "5"});
}

TEST_P(Refused, AnotherRankOrFixedDimension) {
  inputs_["mask"] = Tensor(DType::f32, {2, 5});
  expect_error(inputs_, {"\"mask\""});
  inputs_["mask"] = Tensor(DType::f32, {2, 2, 1, 5});
  expect_error(inputs_, {"\"mask\""});
}

TEST_P(Refused, MissingAndUnknownNames) {
  NamedTensors more = inputs_;
  more.emplace("labels", Tensor(DType::i64, {2}));
  expect_error(more, {"labels"});
  inputs_.erase("mask");
  expect_error(inputs_, {"mask"});
}

TEST_P(Refused, IndicesOutsideTheTable) {
  for (int64_t id : {kWords, -kWords - 1, int64_t{1} << 40}) {
    inputs_["ids"].mutable_as<int64_t>()[3] = id;
    expect_error(inputs_, {std::to_string(id), std::to_string(kWords)});
  }
}

TEST_P(Refused, LengthsBeyondWhatTheModelHolds) {
  const std::string text = error(encoder_inputs(1, kPositions + 1));
  EXPECT_NE(text.find(std::to_string(kPositions)), std::string::npos) << text;
}

TEST_P(Refused, ButTheSessionGoesOn) {
  NamedTensors bad = inputs_;
  bad["ids"].mutable_as<int64_t>()[0] = kWords;
  EXPECT_NE(error(bad), "");
  expect_within_bounds(session_.run(inputs_), bounded_outputs(encoder(), inputs_), "after an error");
}

INSTANTIATE_TEST_SUITE_P(Session, Refused, testing::Values(0, 1, 2),
                         [](const auto& info) { return fmt::format("O{}", info.param); });

// --- profile ---------------------------------------------------------------------------------------------------------

TEST(Profile, NamesEveryStepOnceAndItsWork) {
  Session session(encoder(), {});
  RunProfile profile;
  const NamedTensors inputs = encoder_inputs(2, 9);
  session.run(inputs, &profile);
  std::map<std::string, int> kinds;
  for (const StepProfile& step : profile.steps) {
    ++kinds[step.kind];
    EXPECT_EQ(step.why_interpreted, "") << step.ops;
    EXPECT_NE(step.name, "");
    EXPECT_GT(step.bytes, 0) << step.ops;
    if (step.ops == "linear+gelu") {
      EXPECT_EQ(step.name, "g");
      EXPECT_GE(step.flops, 2.0 * 2 * 9 * 64 * 256);
    }
  }
  EXPECT_EQ(kinds,
            (std::map<std::string, int>{{"attention", 1}, {"gather", 1}, {"gemm", 5}, {"pointwise", 1}, {"row", 2}}));
  const size_t steps = profile.steps.size();
  session.run(inputs, &profile);
  EXPECT_EQ(profile.steps.size(), steps) << "a profile is of one run";
}

TEST(Profile, StepsWithoutCodeAreInterpretedAndSayWhy) {
  const Graph graph = parse_seeded(R"(graph g {
    %x : f32[B,2,2] = input "x"
    %c = lp_pool %x {kernel_shape=[1], p=1}
    %r = relu %c
    %d = det %r
    return %r as "r", %d as "d"
  })");
  Philox rng(4);
  const NamedTensors inputs{{"x", random_floats(rng, {2, 2, 2})}};
  Session session(graph, {});
  RunProfile profile;
  const std::vector<Tensor> outputs = session.run(inputs, &profile);
  expect_same_bits(outputs, evaluate(graph, inputs), "exact ops, interpreted or not");
  std::map<std::string, std::string> reasons;
  for (const StepProfile& step : profile.steps)
    if (step.kind == "interpreted") reasons[step.ops] = step.why_interpreted;
    else EXPECT_EQ(step.kind + " " + step.ops, "pointwise relu");
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_NE(reasons["lp_pool"].find("lp_pool"), std::string::npos) << reasons["lp_pool"];
  EXPECT_NE(reasons["det"].find("det"), std::string::npos) << reasons["det"];
}

}  // namespace
}  // namespace hone::test
