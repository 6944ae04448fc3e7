// One session, many threads: the bits of one, shared weights, contexts, runs that are cancelled or refused.
#include <atomic>
#include <future>
#include <thread>

#include "base/memory_limit.h"
#include "base/stop.h"
#include "tests/runtime/encoder.h"
#include "tests/runtime/gate.h"

namespace hone::test {
namespace {

Tensor filled(int64_t rows, int64_t columns, float value) {
  return Tensor::of<float>({rows, columns}, std::vector<float>(static_cast<size_t>(rows * columns), value));
}

// A run of this waits in the gate where x is negative, and does not where it is positive.
Graph gated() {
  return parse_gated(R"(graph g {
    %x : f32[N,4] = input "x"
    %w = const f32[4,4] {1, 0, 0, 0,  0, 1, 0, 0,  0, 0, 1, 0,  0, 0, 0, 1}
    %a = linear %x, %w
    %b = gate %a
    %c = tally %b
    %y = mul %c, 2.0
    return %y as "y"
  })");
}

const NamedTensors kHeld{{"x", filled(2, 4, -1)}}, kFree{{"x", filled(2, 4, 3)}};

void expect_all(const std::vector<Tensor>& outputs, float value) {
  ASSERT_EQ(outputs.size(), 1u);
  for (float each : outputs[0].to_floats()) EXPECT_EQ(each, value);
}

template <class Fn>
auto in_thread(Fn fn) {
  return std::async(std::launch::async, std::move(fn));
}

bool was_cancelled(std::future<std::vector<Tensor>> run) {
  try {
    run.get();
    return false;
  } catch (const Stopped& stopped) {
    return stopped.why() == Stop::cancelled;
  }
}

// --- what is computed ------------------------------------------------------------------------------------------------

// Each of four threads runs every shape several times, in an order of its own.
void expect_bits_of_one_thread(Session& session, const std::vector<NamedTensors>& inputs,
                               const std::vector<std::vector<Tensor>>& want, bool own_context) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Context context;
      for (size_t i = 0; i < 5 * inputs.size(); ++i) {
        const size_t which = (i * (t + 1) + t) % inputs.size();
        const std::vector<Tensor> got = own_context ? session.run(context, inputs[which]) : session.run(inputs[which]);
        for (size_t o = 0; o < got.size(); ++o) wrong += !got[o].same_bits(want[which][o]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

class SharedSession : public testing::TestWithParam<int> {};  // by -O level

TEST_P(SharedSession, GivesTheBitsOfOneThreadForEveryShape) {
  std::vector<NamedTensors> inputs;
  std::vector<std::vector<Tensor>> want;
  Session alone(encoder(), {.optimise = GetParam()});
  const int64_t longest = GetParam() == 2 ? 60 : 6;  // one interpreted run of that length takes a second
  for (int64_t batch : {1, 2, 7}) {
    inputs.push_back(encoder_inputs(batch, longest / batch));
    want.push_back(alone.run(inputs.back()));
  }
  for (int threads : {1, 2}) {
    // Fewer slots than shapes: specialisations are dropped while they run.
    Session session(encoder(), {.optimise = GetParam(), .threads = threads, .max_specialisations = 2});
    for (bool own_context : {false, true}) expect_bits_of_one_thread(session, inputs, want, own_context);
  }
}

INSTANTIATE_TEST_SUITE_P(Session, SharedSession, testing::Values(0, 2),
                         [](const auto& info) { return fmt::format("O{}", info.param); });

TEST(ConcurrentRuns, OneContextServesSessionsInTurn) {
  Context context;
  for (int round = 0; round < 2; ++round) {
    Session session(encoder(), {}), another(encoder(), {.fuse = false});
    for (int64_t length : {4, 9, 4})
      for (Session* s : {&session, &another}) {
        const NamedTensors inputs = encoder_inputs(2, length);
        expect_same_bits(s->run(context, inputs), Session(encoder(), {.fuse = s == &session}).run(inputs), "context");
      }
  }
}

// --- what is shared --------------------------------------------------------------------------------------------------

TEST(ConcurrentRuns, HaveAnArenaEachAndTheWeightsOfOne) {
  Gate gate;
  Session session(gated(), {});
  session.run(kFree);
  const SessionStatistics one = session.statistics();
  EXPECT_EQ(one.workspaces, 1);
  auto first = in_thread([&] { return session.run(kHeld); });
  auto second = in_thread([&] { return session.run(kHeld); });
  gate.wait_until_held(2);
  expect_all(session.run(kFree), 6);
  const SessionStatistics three = session.statistics();
  EXPECT_EQ(three.workspaces, 3);
  EXPECT_GT(one.prepacked_bytes, 0);
  EXPECT_EQ(three.prepacked_bytes, one.prepacked_bytes);
  EXPECT_EQ(three.kernels_compiled, one.kernels_compiled);
  gate.open();
  expect_all(first.get(), -2);
  expect_all(second.get(), -2);
  session.run(kFree);
  EXPECT_EQ(session.statistics().workspaces, 3);
}

// %g is evaluated when the shapes are specialised, and waits for those of five rows: 9.5 - (0 + 1 + 2 + 3 + 4) < 0.
constexpr const char* kGatedMaking = R"(graph g {
    %x : f32[S,4] = input "x"
    %n = iota {shape=[S], dtype=f32}
    %sum = reduce_sum %n {axes=[0], keepdims=0}
    %left = sub 9.5, %sum
    %g = gate %left
    %y = mul %x, %g
    return %y as "y"
  })";

TEST(ConcurrentRuns, DoNotWaitForTheCompilationOfOtherShapes) {
  Gate gate;
  Session session(parse_gated(kGatedMaking), {});
  const NamedTensors four{{"x", filled(4, 4, 2)}}, five{{"x", filled(5, 4, 2)}};
  expect_all(session.run(four), 7);
  auto making = in_thread([&] { return session.run(five); });
  gate.wait_until_held(1);
  expect_all(session.run(four), 7);
  Context context;
  expect_all(session.run(context, four), 7);
  gate.open();
  expect_all(making.get(), -1);
}

TEST(ConcurrentRuns, MakeASpecialisationOnce) {
  Gate gate;
  Session session(parse_gated(kGatedMaking), {}), alone(parse_gated(kGatedMaking), {});
  const NamedTensors five{{"x", filled(5, 4, 2)}};
  std::vector<std::future<std::vector<Tensor>>> runs;
  for (int i = 0; i < 4; ++i) runs.push_back(in_thread([&] { return session.run(five); }));
  gate.wait_until_held(1);
  gate.open();
  for (auto& run : runs) expect_all(run.get(), -1);
  const int of_all = gate.passed();
  alone.run(five);
  EXPECT_EQ(gate.passed(), 2 * of_all);
}

TEST(ConcurrentRuns, KeepASpecialisationThatIsDroppedMeanwhile) {
  Gate gate;
  Session session(gated(), {.max_specialisations = 1});
  auto held = in_thread([&] { return session.run(kHeld); });
  gate.wait_until_held(1);
  for (int64_t rows : {3, 4, 5}) expect_all(session.run({{"x", filled(rows, 4, 1)}}), 2);
  gate.open();
  expect_all(held.get(), -2);
}

// --- contexts, and runs that end early -------------------------------------------------------------------------------

TEST(Contexts, TakeOneRunAtATime) {
  Gate gate;
  Session session(gated(), {});
  Context context, another;
  auto held = in_thread([&] { return session.run(context, kHeld); });
  gate.wait_until_held(1);
  EXPECT_NE(error_of([&] { session.run(context, kFree); }).find("a context of its own"), std::string::npos);
  expect_all(session.run(another, kFree), 6);
  gate.open();
  expect_all(held.get(), -2);
  expect_all(session.run(context, kFree), 6);
  EXPECT_EQ(session.statistics().workspaces, 0) << "each run had its context's";
}

class Cancelled : public testing::TestWithParam<int> {};  // by -O level

TEST_P(Cancelled, RunsEndBeforeTheirNextStepAndLaterOnesWork) {
  Gate gate;
  Session session(gated(), {.optimise = GetParam()});
  Context context;
  context.cancel();
  expect_all(session.run(context, kFree), 6);
  const int steps = gate.tallied();
  auto held = in_thread([&] { return session.run(context, kHeld); });
  gate.wait_until_held(1);
  context.cancel();
  gate.open();
  EXPECT_TRUE(was_cancelled(std::move(held)));
  EXPECT_EQ(gate.tallied(), steps) << "the step after the gate has not run";
  expect_all(session.run(context, kFree), 6);
  expect_all(session.run(context, kHeld), -2);
}

TEST_P(Cancelled, EndsWhereSizesDependOnDataToo) {
  Gate gate;
  Session session(parse_gated(R"(graph g {
    %x : f32[4] = input "x"
    %at = non_zero %x
    %r = gather %x, %at
    %g = gate %r
    %t = tally %g
    %y = mul %t, 2.0
    return %y as "y"
  })"),
                  {.optimise = GetParam()});
  Context context;
  const Tensor x = Tensor::of<float>({4}, {-1, 0, -1, -1});
  auto held = in_thread([&] { return session.run(context, {{"x", x}}); });
  gate.wait_until_held(1);
  context.cancel();
  gate.open();
  EXPECT_TRUE(was_cancelled(std::move(held)));
  EXPECT_EQ(gate.tallied(), 0);
  expect_all(session.run(context, {{"x", x}}), -2);
}

INSTANTIATE_TEST_SUITE_P(Contexts, Cancelled, testing::Values(0, 1, 2),
                         [](const auto& info) { return fmt::format("O{}", info.param); });

// Runs until another thread has begun to close the session; the refusal. Runs that are under way then are cancelled.
std::string support_of(Session& session) {
  for (;;) try {
      if (std::string refusal = error_of([&] { session.run(kFree); }); !refusal.empty()) return refusal;
    } catch (const Stopped& stopped) {
      EXPECT_EQ(stopped.why(), Stop::cancelled);
    }
}

TEST(ClosedSessions, CancelRunsUnderWayAndRefuseNewOnes) {
  Gate gate;
  Session session(gated(), {});
  session.run(kFree);
  Context context;
  auto own = in_thread([&] { return session.run(kHeld); });
  auto of_a_context = in_thread([&] { return session.run(context, kHeld); });
  gate.wait_until_held(2);
  std::atomic<bool> closed{false};
  auto closing = in_thread([&] { session.close(), closed = true; });
  const std::string refusal = support_of(session);
  EXPECT_NE(refusal.find("the session is being closed"), std::string::npos) << refusal;
  EXPECT_NE(error_of([&] { session.prepare({{"N", 9}}); }), "");
  EXPECT_FALSE(closed) << "two runs are under way";
  gate.open();
  EXPECT_TRUE(was_cancelled(std::move(own)));
  EXPECT_TRUE(was_cancelled(std::move(of_a_context)));
  closing.get();
  EXPECT_NE(error_of([&] { session.run(context, kFree); }), "");
  expect_all(Session(gated(), {}).run(context, kFree), 6);
}

TEST(ClosedSessions, AreWhatADestructorLeavesToRunsUnderWay) {
  Gate gate;
  Session* const session = new Session(gated(), {});
  auto held = in_thread([&] { return session->run(kHeld); });
  gate.wait_until_held(1);
  auto destroying = in_thread([&] { delete session; });
  EXPECT_NE(support_of(*session), "");  // the destructor waits in the meantime
  gate.open();
  EXPECT_TRUE(was_cancelled(std::move(held)));
  destroying.get();
}

// --- memory ----------------------------------------------------------------------------------------------------------

class WithMemoryLimit {
 public:
  explicit WithMemoryLimit(int64_t more) { set_memory_limit(memory_charged() + more); }
  ~WithMemoryLimit() { set_memory_limit(0); }
};

// Its arena and its output have the size of x each; it waits where w is negative.
Graph wide() {
  return parse_gated(R"(graph g {
    %x : f32[N,1024] = input "x"
    %w : f32[1] = input "w"
    %a = softmax %x
    %t = transpose %a {perm=[1,0]}
    %g = gate %w
    return %t as "t", %g as "g"
  })");
}

NamedTensors megabytes(int64_t count, bool held) {
  return {{"x", filled(count * 256, 1024, 1)}, {"w", filled(1, 1, held ? -1 : 1).reshaped({1})}};
}

TEST(MemoryOfRuns, IsHeldAgainstTheLimitForEachOfThoseAtOnce) {
  Gate gate;
  Session session(wide(), {});
  const NamedTensors free = megabytes(4, false);
  session.run(free);
  auto run = in_thread([&] { return session.run(megabytes(4, true)); });
  gate.wait_until_held(1);
  {
    const WithMemoryLimit limit(3 << 20);
    EXPECT_NE(error_of([&] { session.run(free); }).find("runs at the same time have one each"), std::string::npos);
  }
  EXPECT_EQ(session.run(free).size(), 2u);
  gate.open();
  EXPECT_EQ(run.get().size(), 2u);
}

TEST(MemoryOfRuns, OfThePastIsGivenUpWhereOthersNeedIt) {
  Gate gate;
  Session session(wide(), {});
  auto run = in_thread([&] { return session.run(megabytes(4, true)); });
  gate.wait_until_held(1);
  session.run(megabytes(4, false));
  gate.open();
  run.get();
  EXPECT_EQ(session.statistics().workspaces, 2);
  // One arena grows from 4 to 8 MB, the output takes 8: more than 10, less than that and the other arena's 4.
  const NamedTensors twice = megabytes(8, false);
  const WithMemoryLimit limit(10 << 20);
  EXPECT_EQ(session.run(twice).size(), 2u);
  EXPECT_EQ(session.statistics().workspaces, 1);
}

}  // namespace
}  // namespace hone::test
