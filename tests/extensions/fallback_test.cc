// What a device has no kernel for runs the host's on copies: to the bits of the CPU, shown with its bytes, and refused
// where that is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "device/registry.h"
#include "kernels/registry.h"
#include "report/json.h"
#include "runtime/session.h"
#include "tests/runtime/encoder.h"
#include "tests/runtime/sample_sessions.h"
#include "tests/support/error_of.h"
#include "views/explain.h"

namespace hone::test {
namespace {

using testing::HasSubstr;
using testing::Not;

SessionOptions on_device(const std::string& lacking) {
  SessionOptions options;
  options.device = open_device("offset:host without " + lacking);
  options.threads = 2;
  return options;
}

std::string all_classes() {
  std::string names;
  for (const KernelDef* kernel : kernels::all()) names += (names.empty() ? "" : ",") + std::string(kernel->name);
  return names;
}

// Kinds of the steps that the host ran.
std::vector<std::string> on_host(const RunProfile& profile) {
  std::vector<std::string> kinds;
  for (const StepProfile& step : profile.steps) {
    EXPECT_TRUE(step.on_host() || step.copied_bytes == 0) << step.ops;
    EXPECT_EQ(step.kind == "interpreted", !step.why_interpreted.empty()) << step.ops;
    if (step.on_host()) kinds.push_back(step.kind);
  }
  return kinds;
}

TEST(HostSteps, GiveTheBitsOfTheCpuForEachClassThatIsMissing) {
  Session cpu(encoder(), {});
  const NamedTensors inputs = encoder_inputs(2, 17);
  RunProfile whole;
  const std::vector<Tensor> want = cpu.run(inputs, &whole);
  std::set<std::string> kinds;
  for (const StepProfile& step : whole.steps) kinds.insert(step.kind);
  kinds.erase("interpreted");
  EXPECT_GT(kinds.size(), 3u);
  for (const std::string& kind : kinds) {
    Session session(encoder(), on_device(kind));
    RunProfile profile;
    expect_same_bits(session.run(inputs, &profile), want, kind);
    EXPECT_THAT(on_host(profile), Not(testing::IsEmpty())) << kind;
  }
}

TEST(HostSteps, MayBeAllOfAModelInAnySizes) {
  Session cpu(encoder(), {}), session(encoder(), on_device(all_classes()));
  session.prepare({{"B", 1}, {"S", 5}});
  for (const auto& [batch, length] : {std::pair<int64_t, int64_t>{1, 5}, {2, 17}, {1, 1}, {2, 17}}) {
    const NamedTensors inputs = encoder_inputs(batch, length);
    RunProfile profile;
    expect_same_bits(session.run(inputs, &profile), cpu.run(inputs), fmt::format("[{},{}]", batch, length));
    for (const StepProfile& step : profile.steps) EXPECT_TRUE(step.on_host() || !step.why_interpreted.empty());
  }
  EXPECT_GT(session.statistics().host_kernels, 0);
  EXPECT_GT(session.statistics().prepacked_bytes, 0) << "weights are laid out for the host";
}

TEST(HostSteps, CopyWhatTheyReadAndWrite) {
  Session session(parse_seeded(R"(graph g {
    %x : f32[4,8] = input "x"
    %w : f32[8,8] = const "w"
    %p = linear %x, %w
    return %p as "p"
  })"),
                  on_device("gemm"));
  RunProfile profile;
  session.run({{"x", Tensor::of<float>({4, 8}, std::vector<float>(32, 1))}}, &profile);
  ASSERT_EQ(profile.steps.size(), 1u);
  EXPECT_EQ(profile.steps[0].kind, "gemm");
  EXPECT_EQ(profile.steps[0].copied_bytes, 2 * 4 * 8 * 4) << "x and p; the host has the weights";
  EXPECT_THAT(profile.steps[0].why_on_host, HasSubstr("offset has no gemm kernels"));
}

// Weights that a run computes, packed anew each time; a parameter that stays, and one that the run changes.
TEST(HostSteps, LayOutWeightsThatRunsChange) {
  const Graph graph = parse_seeded(R"(graph g {
    %x : f32[N,32] = input "x"
    %w : f32[32,32] = param "w"
    %u : f32[32,32] = param "u"
    %q = quantize %w {format=mxint8}
    %h = linear %x, %q
    %y = linear %h, %u
    %low = mul %w, 0.5
    update %w = %low
    return %y as "y"
  })");
  for (const char* lacking : {"gemm", "quantize", "gemm,quantize,pointwise"}) {
    Session cpu(graph, {}), session(graph, on_device(lacking));
    for (int64_t rows : {3, 1, 3}) {
      const NamedTensors inputs{
          {"x", Tensor::of<float>({rows, 32}, std::vector<float>(static_cast<size_t>(rows) * 32, 1))}};
      expect_same_bits(session.run(inputs), cpu.run(inputs), lacking);
    }
    for (const char* name : {"w", "u"}) EXPECT_TRUE(session.parameter(name).same_bits(cpu.parameter(name))) << lacking;
    for (Session* each : {&cpu, &session})
      each->set_parameters({{"u", Tensor::of<float>({32, 32}, std::vector<float>(1024, 2))}});
    session.forget_laid_out();
    const NamedTensors inputs{{"x", Tensor::of<float>({1, 32}, std::vector<float>(32, 1))}};
    expect_same_bits(session.run(inputs), cpu.run(inputs), lacking);
  }
}

// A part of a value is written by each of two steps, the first of which has nothing to do where the pages are updated
// in place.
TEST(HostSteps, UpdatePagesInPlace) {
  for (const std::string& lacking : {std::string("cache_append"), std::string("gather,quantize"), all_classes()})
    expect_rows_are_kept(on_device(lacking), lacking);
}

TEST(HostSteps, LookAtWhatTheyTrust) { expect_rows_are_looked_at(on_device("gather")); }

TEST(HostSteps, RunInBodies) {
  const Graph graph = parse_seeded(kScan);
  Session cpu(graph, {}), session(graph, on_device("gemm"));
  for (int64_t rows : {1, 3}) {
    const auto ones = [](std::vector<int64_t> shape) {
      return Tensor::of<float>(shape, std::vector<float>(static_cast<size_t>(element_count(shape)), 1));
    };
    const NamedTensors inputs{{"h", ones({rows, 8})}, {"x", ones({4, rows, 8})}};
    expect_same_bits(session.run(inputs), cpu.run(inputs), "a body");
  }
}

TEST(HostSteps, OfManyThreadsAndSessionsShareNothingThatRunsWrite) {
  Session cpu(encoder(), {}), one(encoder(), on_device("gemm,row")), other(encoder(), on_device("attention"));
  std::vector<NamedTensors> inputs;
  std::vector<std::vector<Tensor>> want;
  for (int64_t length : {3, 9, 17, 30}) {
    inputs.push_back(encoder_inputs(1, length));
    want.push_back(cpu.run(inputs.back()));
  }
  std::vector<std::thread> threads;
  for (size_t t = 0; t < inputs.size(); ++t)
    threads.emplace_back([&, t] {
      Context context;
      for (int run = 0; run < 5; ++run)
        for (Session* session : {&one, &other})
          expect_same_bits(session->run(context, inputs[t]), want[t], fmt::format("thread {}", t));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(NoFallback, ListsTheStepsTheirClassAndTheReason) {
  SessionOptions options = on_device("gemm");
  options.no_fallback = true;
  Session session(encoder(), options);
  const std::string error = error_of([&] { session.run(encoder_inputs(1, 4)); });
  for (const char* part : {"device offset:", "linear", "has no gemm kernels", "host's gemm kernel would run it"})
    EXPECT_THAT(error, HasSubstr(part));
  const Graph product = parse_seeded(R"(graph g {
    %x : f32[N,8] = input "x"
    %w : f32[8,8] = const "w"
    %p = linear %x, %w
    %s = softmax %p
    return %s as "s"
  })");
  const NamedTensors x{{"x", Tensor::of<float>({2, 8}, std::vector<float>(16, 1))}};
  options.device = open_device("offset");
  Session whole(product, options), cpu(product, {});
  expect_same_bits(whole.run(x), cpu.run(x), "all kernels are there");
}

TEST(NoFallback, RefusesWhatIsInterpretedOnAnyDevice) {
  SessionOptions options;
  options.no_fallback = true;
  Session session(parse(R"(graph g {
    %x : f32[N] = input "x"
    %n = non_zero %x
    return %n as "n"
  })"),
                  options);
  EXPECT_THAT(error_of([&] {
                session.run({{"x", Tensor::of<float>({2}, {0, 1})}});
              }),
              testing::AllOf(HasSubstr("non_zero"), HasSubstr("the interpreter would run it")));
  options.device = open_device("reference");
  EXPECT_THAT(error_of([&] { Session(encoder(), options); }), HasSubstr("reference has no kernels at all"));
  options.device = nullptr, options.optimise = 1;
  EXPECT_THAT(error_of([&] { Session(encoder(), options); }), HasSubstr("-O1"));
}

TEST(NoFallback, IsSaidByExplainWhichShowsTheHostsStepsOtherwise) {
  Model model;
  model.graph = encoder();
  ExplainOptions options;
  options.device = open_device("offset:host without gemm");
  const std::string text = json_text(view_of(explain(model, options)));
  for (const char* part : {"on_host", "copied", "offset has no gemm kernels", "on the host: "})
    EXPECT_THAT(text, HasSubstr(part));
  options.no_fallback = true;
  EXPECT_THAT(error_of([&] { explain(model, options); }), HasSubstr("has no gemm kernels"));
}

}  // namespace
}  // namespace hone::test
