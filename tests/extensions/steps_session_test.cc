// Sessions on a device that goes wrong: its memory ends or is lost, and its queue fails late. Each is an Error that
// says what happened, nothing is leaked, and the session gives right results afterwards. And what a run of sizes that
// were seen before takes: no allocation, and one replay.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/device_lost.h"
#include "device/steps/device.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

// A gather and loops over elements, which the device has code for, around a product that it lacks.
constexpr const char* kModel = R"(graph model {
  %i : i64[N] = input "i"
  %x : f32[N,2] = input "x"
  %w : f32[2,2] = param "w" {1, 2, 3, 4}
  %table : f32[3,2] = const "table" {1, 2, 3, 4, 5, 6}
  %rows = gather %table, %i
  %sum = add %rows, %x
  %product = matmul %sum, %w
  %y = relu %product
  return %y as "y", %sum as "sum"
})";
const std::vector<float> kY{27, 40, 11, 16};

// The same with a count of runs, which each adds to.
constexpr const char* kCounting = R"(graph counting {
  %i : i64[N] = input "i"
  %x : f32[N,2] = input "x"
  %w : f32[2,2] = param "w" {1, 2, 3, 4}
  %runs : f32[1] = state "runs" {0}
  %one : f32[1] = const {1}
  %table : f32[3,2] = const "table" {1, 2, 3, 4, 5, 6}
  %rows = gather %table, %i
  %sum = add %rows, %x
  %product = matmul %sum, %w
  %runs2 = add %runs, %one
  %y = add %product, %runs2
  update %runs = %runs2
  return %y as "y"
})";
std::vector<float> counted(float runs) {
  std::vector<float> y = kY;
  for (float& each : y) each += runs;
  return y;
}

NamedTensors inputs(float x = 1) {
  return {{"i", Tensor::of<int64_t>({2}, {2, 0})}, {"x", Tensor::of<float>({2, 2}, {x, x, x, x})}};
}
std::vector<float> y_of(float x) { return {23 + 4 * x, 34 + 6 * x, 7 + 4 * x, 10 + 6 * x}; }

// Everything that lies on the device belongs to this, but for the device.
struct Model {
  Model(const std::shared_ptr<StepsDevice>& device, const char* text, int threads = 1) {
    SessionOptions options;
    options.device = device;
    options.threads = threads;
    session.emplace(parse(text), std::move(options));
  }
  std::vector<float> run() { return session->run(context, inputs())[0].to_floats(); }

  std::optional<Session> session;
  Context context;
};

// How many launches a run of the model is.
int64_t launches_of(const char* text) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, text);
  device->probe().fail_after = 1000;
  model.run();
  return 1000 - device->probe().fail_after;
}

TEST(StepsSession, EveryAllocationMayFail) {
  for (const char* text : {kModel, kCounting}) {
    int64_t n = 0;
    for (bool has_failed = true; has_failed; ++n) {
      SCOPED_TRACE(fmt::format("allocation {}", n));
      const auto device = std::make_shared<StepsDevice>();
      device->memory().fail_after(n);
      {
        std::optional<Model> model;
        const auto run = [&] {
          if (!model) model.emplace(device, text);
          return model->run();
        };
        std::vector<float> y;
        const std::string error = error_of([&] { y = run(); });
        has_failed = device->memory().has_failed();
        EXPECT_EQ(error.find("no more memory") != std::string::npos, has_failed) << error;
        if (has_failed) y = run();
        EXPECT_EQ(y, text == kModel ? kY : counted(1));
      }
      EXPECT_EQ(device->memory().blocks(), 0);
    }
    EXPECT_GT(n, 3);  // arena, inputs and outputs
  }
}

TEST(StepsSession, EveryLaunchMayFailLate) {
  const int64_t launches = launches_of(kModel);
  EXPECT_GE(launches, 3);
  for (int64_t n = 0; n < launches; ++n) {
    SCOPED_TRACE(fmt::format("launch {}", n));
    const auto device = std::make_shared<StepsDevice>();
    {
      Model model(device, kModel);
      for (int round = 0; round < 2; ++round) {  // of the first run, and of one that has run before
        device->probe().fail_after = n;
        const std::string error = error_of([&] { model.run(); });
        EXPECT_NE(error.find("kernel of the steps device failed"), std::string::npos) << error;
        EXPECT_EQ(model.run(), kY);
      }
    }
    EXPECT_EQ(device->memory().blocks(), 0);
  }
}

// State is what it was before the run that failed.
TEST(StepsSession, ARunThatFailsLateLeavesStateAsItWas) {
  const int64_t launches = launches_of(kCounting);
  for (int64_t n = 0; n < launches; ++n) {
    SCOPED_TRACE(fmt::format("launch {}", n));
    const auto device = std::make_shared<StepsDevice>();
    {
      Model model(device, kCounting);
      for (float runs : {1.0f, 2.0f, 3.0f}) {
        device->probe().fail_after = n;
        EXPECT_NE(error_of([&] { model.run(); }), "");
        EXPECT_EQ(model.run(), counted(runs));
      }
    }
    EXPECT_EQ(device->memory().blocks(), 0);
  }
}

// What nothing but updates is computed behind.
TEST(StepsSession, ValuesThatAFailedRunBeganToWriteOverAreNamedUntilTheyAreSet) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, R"(graph step {
    %g : f32[2] = input "g"
    %w : f32[2] = param "w" {0, 10}
    %m : f32[2] = state "m" {0, 0}
    %m2 = add %m, %g
    %w2 = sub %w, %m2
    update %w = %w2
    update %m = %m2
    return
  })");
  Session& session = *model.session;
  const auto run = [&] { session.run(model.context, {{"g", Tensor::of<float>({2}, {1, 2})}}); };
  const auto failing_run = [&](int64_t launches) {
    device->probe().fail_after = launches;
    EXPECT_NE(error_of(run).find("kernel of the steps device failed"), std::string::npos);
  };
  failing_run(0);  // copies of what the graph begins with were written over
  EXPECT_EQ(session.parameter("w").to_floats(), (std::vector<float>{0, 10}));
  device->probe().fail_after = 1000;
  run();
  const int64_t launches = 1000 - device->probe().fail_after;
  EXPECT_EQ(session.parameter("w").to_floats(), (std::vector<float>{-1, 8}));
  failing_run(launches - 1);
  for (const std::string& error : {error_of(run), error_of([&] { session.parameter("w"); })})
    EXPECT_NE(error.find("lost: \"w\" (a run that failed had begun to write over it)"), std::string::npos) << error;
  session.set_parameters({{"w", Tensor::of<float>({2}, {5, 5})}});
  for (const std::string& error : {error_of(run), error_of([&] { model.context.state("m"); })})
    EXPECT_NE(error.find("lost: \"m\" (a run that failed had begun to write over it)"), std::string::npos) << error;
  EXPECT_EQ(session.parameter("w").to_floats(), (std::vector<float>{5, 5}));
  model.context.set_state("m", Tensor::of<float>({2}, {1, 1}));
  run();
  EXPECT_EQ(model.context.state("m").to_floats(), (std::vector<float>{2, 3}));
  EXPECT_EQ(session.parameter("w").to_floats(), (std::vector<float>{3, 2}));
}

TEST(StepsSession, MakesAnewWhatWasLostInARun) {
  const int64_t launches = launches_of(kModel);
  for (int64_t n = 0; n < launches; ++n) {
    SCOPED_TRACE(fmt::format("launch {}", n));
    const auto device = std::make_shared<StepsDevice>();
    {
      Model model(device, kModel);
      for (int round = 0; round < 2; ++round) {
        device->probe().lose_after = n;
        EXPECT_THROW(model.run(), DeviceLost);
        EXPECT_EQ(model.run(), kY);
      }
      EXPECT_EQ(device->generation(), 2u);
    }
    EXPECT_EQ(device->memory().blocks(), 0);
  }
}

TEST(StepsSession, MakesAnewWhatWasLostBetweenRuns) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, kModel);
  EXPECT_EQ(model.run(), kY);
  device->memory().lose();
  EXPECT_EQ(model.run(), kY);
}

// What only the device had cannot be made anew.
TEST(StepsSession, NamesTheStateThatWasLost) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, kCounting);
  EXPECT_EQ(model.run(), counted(1));
  device->memory().lose();
  const std::string error = error_of([&] { model.run(); });
  EXPECT_NE(error.find("runs"), std::string::npos) << error;
  model.context.set_state("runs", Tensor::of<float>({1}, {7}));
  EXPECT_EQ(model.run(), counted(8));
}

TEST(StepsSession, StateBeginsAnewWhenItIsClearedAfterALoss) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, kCounting);
  for (float runs : {1.0f, 2.0f}) EXPECT_EQ(model.run(), counted(runs));
  device->memory().lose();
  EXPECT_NE(error_of([&] { model.run(); }), "");
  model.context.clear_state();
  for (float runs : {1.0f, 2.0f}) EXPECT_EQ(model.run(), counted(runs));
}

TEST(StepsSession, NamesTheParametersThatWereLost) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, R"(graph training {
    %x : f32[2] = input "x"
    %kept : f32[2] = param "kept" {10, 10}
    %w : f32[2] = param "w" {1, 2}
    %w2 = add %w, %x
    %y = mul %w2, %kept
    update %w = %w2
    return %y as "y"
  })");
  const auto run = [&] {
    return model.session->run(model.context, {{"x", Tensor::of<float>({2}, {1, 1})}})[0].to_floats();
  };
  EXPECT_EQ(run(), (std::vector<float>{20, 30}));
  device->memory().lose();
  for (const std::string& error : {error_of(run), error_of([&] { model.session->parameter("w"); })}) {
    EXPECT_NE(error.find("lost: \"w\" (device steps lost its memory"), std::string::npos) << error;
    EXPECT_EQ(error.find("kept"), std::string::npos) << error;
  }
  EXPECT_EQ(model.session->parameter("kept").to_floats(), (std::vector<float>{10, 10}));
  model.session->set_parameters({{"w", Tensor::of<float>({2}, {2, 3})}});
  EXPECT_EQ(run(), (std::vector<float>{30, 40}));
}

// Each finds out for itself.
TEST(StepsSession, AllSessionsAndContextsOfADeviceAreRepaired) {
  const auto device = std::make_shared<StepsDevice>();
  {
    Model one(device, kModel), other(device, kModel);
    Context further;
    const auto run_further = [&](Model& model) { return model.session->run(further, inputs())[0].to_floats(); };
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(one.run(), kY);
      EXPECT_EQ(other.run(), kY);
      EXPECT_EQ(run_further(one), kY);
      EXPECT_EQ(run_further(other), kY);
      EXPECT_EQ(one.session->run(inputs())[0].to_floats(), kY);
      if (round == 0) device->memory().lose();
      if (round == 1) {
        device->probe().lose_after = 0;
        EXPECT_THROW(one.run(), DeviceLost);
      }
    }
  }
  EXPECT_EQ(device->memory().blocks(), 0);
}

TEST(StepsSession, RunsOfKnownSizesAllocateNothingAndAreReplayed) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, kModel);
  EXPECT_EQ(model.run(), kY);
  const int64_t takes = device->memory().takes(), replays = device->probe().replays;
  for (int run = 0; run < 3; ++run) EXPECT_EQ(model.run(), kY);
  EXPECT_EQ(device->memory().takes() - takes, 0);
  EXPECT_GE(device->probe().replays - replays, 3);
}

// Also where their memory lies elsewhere than at the run before, and behind one that has failed.
TEST(StepsSession, ReplaysReadTheInputsOfTheirRun) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, kModel);
  const auto y = [&](float x) { return model.session->run(model.context, inputs(x))[0].to_floats(); };
  for (float x : {1.0f, 2.0f, 3.0f, 4.0f}) EXPECT_EQ(y(x), y_of(x));
  for (int64_t n : {0, 1, 2}) {
    device->probe().fail_after = n;
    EXPECT_NE(error_of([&] { y(5); }), "");
    for (float x : {6.0f, 7.0f, 8.0f}) EXPECT_EQ(y(x), y_of(x));
  }
}

TEST(StepsSession, AContextThatReplaysMayOutliveItsSession) {
  const auto device = std::make_shared<StepsDevice>();
  {
    Context context;
    for (int session = 0; session < 2; ++session) {
      Model model(device, kModel);
      for (int run = 0; run < 3; ++run)
        EXPECT_EQ(model.session->run(context, inputs())[0].to_floats(), kY) << "session " << session;
    }
    EXPECT_GE(device->probe().replays, 4);
  }
  EXPECT_EQ(device->memory().blocks(), 0);
}

TEST(StepsSession, EventsTimeTheStepsOfARun) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, kModel);
  for (int run = 0; run < 3; ++run) {
    RunProfile profile;
    EXPECT_EQ(model.session->run(model.context, inputs(), &profile)[0].to_floats(), kY);
    ASSERT_EQ(profile.marks_ns.size(), profile.steps.size() + 1);
    EXPECT_TRUE(std::ranges::is_sorted(profile.marks_ns));
    EXPECT_LE(profile.begin_ns, profile.marks_ns.front());
    EXPECT_LT(profile.marks_ns.front(), profile.marks_ns.back());
    EXPECT_LE(profile.marks_ns.back(), profile.end_ns);
  }
}

TEST(StepsSession, UpdatesAllocateNothingInTheLongRun) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, kCounting);
  for (float runs : {1.0f, 2.0f}) EXPECT_EQ(model.run(), counted(runs));
  const int64_t takes = device->memory().takes();
  for (float runs : {3.0f, 4.0f, 5.0f}) EXPECT_EQ(model.run(), counted(runs));
  EXPECT_EQ(device->memory().takes() - takes, 0);
}

// The host's kernel reads two of them, and nothing the third.
TEST(StepsSession, InputsThatNoKernelOfItReadsStayOnTheHost) {
  const auto device = std::make_shared<StepsDevice>();
  Model model(device, R"(graph g {
    %a : f32[2,2] = input "a"
    %b : f32[2,2] = input "b"
    %c : f32[7] = input "c"
    %y = matmul %a, %b
    return %y as "y"
  })");
  const auto y = [&](float a) {
    return model.session
        ->run(model.context, {{"a", Tensor::of<float>({2, 2}, {a, 0, 0, a})},
                              {"b", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                              {"c", Tensor::of<float>({7}, std::vector<float>(7, 0))}})[0]
        .to_floats();
  };
  const int64_t held = device->memory().blocks();
  EXPECT_EQ(y(1), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_LE(device->memory().blocks() - held, 1) << "y";
  EXPECT_EQ(y(2), (std::vector<float>{2, 4, 6, 8}));
}

// The second step's operands take the place of the first one's results in the host's area, which the queue may still be
// writing to the device from.
TEST(StepsSession, StepsOfTheHostWaitForWhatIsWrittenFromTheirArea) {
  Model model(std::make_shared<StepsDevice>(), R"(graph g {
    %a : f32[2,2] = input "a"
    %b : f32[8,8] = input "b"
    %y = matmul %a, %a
    %z = matmul %b, %b
    return %y as "y", %z as "z"
  })");
  for (int run = 0; run < 20; ++run) {
    const auto out = model.session->run(model.context, {{"a", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                                                        {"b", Tensor::of<float>({8, 8}, std::vector<float>(64, 1))}});
    ASSERT_EQ(out[0].to_floats(), (std::vector<float>{7, 10, 15, 22}));
    ASSERT_EQ(out[1].to_floats(), std::vector<float>(64, 8));
  }
}

TEST(StepsSession, MemoryOfRunsThatHaveEndedGoesToThoseThatNeedIt) {
  int64_t n = 0;
  for (bool has_failed = true; has_failed; ++n) {
    SCOPED_TRACE(fmt::format("allocation {}", n));
    const auto device = std::make_shared<StepsDevice>();
    Model model(device, kModel);
    EXPECT_EQ(model.session->run(inputs())[0].to_floats(), kY);  // in a workspace that no run has then
    device->memory().fail_after(n);
    EXPECT_EQ(model.run(), kY);
    has_failed = device->memory().has_failed();
  }
  EXPECT_GT(n, 3);  // arena, inputs and outputs
}

}  // namespace
}  // namespace hone::test
