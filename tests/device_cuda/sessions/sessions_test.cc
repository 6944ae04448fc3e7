// Sessions on a GPU that the emulated driver plays: whole graphs, their replays, and what goes wrong on the way.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "base/memory_limit.h"
#include "device/device_lost.h"
#include "runtime/session.h"
#include "tests/device_cuda/emulated.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

constexpr const char* kModel = R"(graph model {
  %x : f32[N,4] = input "x"
  %c : f32[4] = const "c" {1, 2, 3, 4}
  %sum = add %x, %c
  %t = transpose %sum {perm=[1,0]}
  %y = mul %t, %t
  return %y as "y", %sum as "sum"
})";

NamedTensors inputs(float x) { return {{"x", Tensor::of<float>({2, 4}, {x, x, x, x, x, x, x, x})}}; }
std::vector<float> y_of(float x) {
  std::vector<float> y;
  for (float c : {1.0f, 2.0f, 3.0f, 4.0f}) y.insert(y.end(), 2, (x + c) * (x + c));
  return y;
}

// All of a GPU that a test has.
struct Model {
  explicit Model(const char* text = kModel, const std::string& device = "cuda") {
    SessionOptions options;
    options.device = open_device(device);
    session.emplace(parse(text), std::move(options));
  }
  std::vector<float> run(float x) { return session->run(context, inputs(x))[0].to_floats(); }

  std::optional<Session> session;
  Context context;
};

TEST(CudaSession, RunsAndLeavesNothingBehind) {
  const EmulatedCuda driver;
  {
    Model model;
    for (float x : {1.0f, 2.0f, 3.0f}) EXPECT_EQ(model.run(x), y_of(x));
    EXPECT_GT(driver.count("launches"), 0);
  }
  EXPECT_EQ(driver.count("bytes"), 0);
}

TEST(CudaSession, RunsOfKnownSizesAllocateNothingAndAreGraphs) {
  const EmulatedCuda driver;
  Model model;
  for (float x : {1.0f, 2.0f}) EXPECT_EQ(model.run(x), y_of(x));
  const long long allocations = driver.count("allocations"), pinned = driver.count("pinned"),
                  graphs = driver.count("graph_launches");
  for (float x : {3.0f, 4.0f, 5.0f}) EXPECT_EQ(model.run(x), y_of(x));
  EXPECT_EQ(driver.count("allocations"), allocations);
  EXPECT_EQ(driver.count("pinned"), pinned);
  EXPECT_EQ(driver.count("graph_launches"), graphs + 3);
}

// What the inputs and outputs of the first run lay in counts as free for the next.
TEST(CudaSession, ASmallerRunFitsWhereALargerOneDid) {
  const EmulatedCuda driver("memory=4M");
  Model model;
  for (int64_t rows : {50'000, 45'000}) {
    const Tensor x = Tensor::of<float>({rows, 4}, std::vector<float>(static_cast<size_t>(4 * rows), 1));
    EXPECT_EQ(model.session->run(model.context, {{"x", x}})[1].to_floats()[5], 3) << rows;
  }
}

TEST(CudaSession, EventsTimeTheStepsOfARun) {
  const EmulatedCuda driver;
  Model model;
  for (int run = 0; run < 2; ++run) {
    RunProfile profile;
    EXPECT_EQ(model.session->run(model.context, inputs(2), &profile)[0].to_floats(), y_of(2));
    ASSERT_EQ(profile.marks_ns.size(), profile.steps.size() + 1);
    EXPECT_TRUE(std::ranges::is_sorted(profile.marks_ns));
  }
}

TEST(CudaSession, ManyCallersHaveStreamsOfTheirOwn) {
  const EmulatedCuda driver;
  Model model;
  std::vector<std::thread> callers;
  std::vector<std::vector<float>> results(4);
  for (size_t t = 0; t < results.size(); ++t)
    callers.emplace_back([&, t] {
      Context own;
      for (int run = 0; run < 3; ++run)
        results[t] = model.session->run(own, inputs(static_cast<float>(t)))[0].to_floats();
    });
  for (std::thread& caller : callers) caller.join();
  for (size_t t = 0; t < results.size(); ++t) EXPECT_EQ(results[t], y_of(static_cast<float>(t)));
}

TEST(CudaSession, MakesAnewWhatAFaultHasLost) {
  for (const char* settings : {"fault_launch=1", "fault_launch=2", "fault_launch=3", "fault_launch=5"}) {
    SCOPED_TRACE(settings);
    const EmulatedCuda driver(settings);
    {
      Model model;
      bool has_failed = false;
      for (int run = 0; run < 4; ++run) try {
          EXPECT_EQ(model.run(3), y_of(3));
        } catch (const DeviceLost& lost) {
          has_failed = true;
          EXPECT_NE(std::string(lost.what()).find("unspecified launch failure"), std::string::npos) << lost.what();
          EXPECT_NE(std::string(lost.what()).find("step"), std::string::npos) << lost.what();
        }
      EXPECT_TRUE(has_failed);
      EXPECT_EQ(model.run(4), y_of(4));
    }
    EXPECT_EQ(driver.count("bytes"), 0);
  }
}

TEST(CudaSession, SaysThatADeviceIsGone) {
  const EmulatedCuda driver("lose_device=1");
  Model model;
  EXPECT_THROW(model.run(1), DeviceLost);
  for (int run = 0; run < 2; ++run) {
    const std::string error = error_of([&] { model.run(1); });
    EXPECT_NE(error.find("It cannot be used again"), std::string::npos) << error;
  }
}

TEST(CudaSession, EveryAllocationMayFail) {
  for (int n = 1;; ++n) {
    const std::string settings = "fail_allocation=" + std::to_string(n);
    SCOPED_TRACE(settings);
    const EmulatedCuda driver(settings.c_str());
    std::string error;
    {
      std::optional<Model> model;
      error = error_of([&] {
        model.emplace();
        EXPECT_EQ(model->run(1), y_of(1));
      });
      if (!model) model.emplace();
      EXPECT_EQ(model->run(2), y_of(2));
    }
    EXPECT_EQ(driver.count("bytes"), 0);
    if (error.empty() && n > 3) break;
    EXPECT_TRUE(error.empty() || error.find("of its memory were asked for") != std::string::npos) << error;
  }
}

TEST(CudaSession, RefusesARunThatIsLargerThanWhatIsFreeAndSaysWhatFits) {
  const EmulatedCuda driver("memory=1M");
  Model model;
  const auto run = [&](int64_t rows) { model.session->run(model.context, {{"x", Tensor(DType::f32, {rows, 4})}}); };
  EXPECT_THROW(run(200000), MemoryError);
  const long long launches = driver.count("launches");
  const std::string error = error_of([&] { run(200000); });
  EXPECT_EQ(driver.count("launches"), launches);
  EXPECT_NE(error.find("on device cuda:0"), std::string::npos) << error;
  EXPECT_NE(error.find("A batch of about"), std::string::npos) << error;
  run(1000);  // fits
}

TEST(CudaSession, OnSeveralGpusAtOnce) {
  const EmulatedCuda driver("devices=2");
  Model one(kModel, "cuda:0"), other(kModel, "cuda:1");
  for (float x : {1.0f, 2.0f}) {
    EXPECT_EQ(one.run(x), y_of(x));
    EXPECT_EQ(other.run(x), y_of(x));
  }
  Context context;
  const std::vector<Tensor> sums = one.session->run(context, inputs(5));
  EXPECT_EQ(sums[1].to_floats()[0], 6);
}

TEST(CudaSession, StateStaysOnTheDeviceAndIsNamedWhenItIsLost) {
  const EmulatedCuda driver;
  Model model(R"(graph counting {
    %x : f32[N,4] = input "x"
    %runs : f32[1] = state "runs" {0}
    %one : f32[1] = const {1}
    %runs2 = add %runs, %one
    %y = add %x, %runs2
    update %runs = %runs2
    return %y as "y"
  })");
  for (float runs : {1.0f, 2.0f, 3.0f}) EXPECT_EQ(model.run(0)[0], runs);
  EXPECT_EQ(model.context.state("runs").to_floats()[0], 3);
}

}  // namespace
}  // namespace hone::test
