// Updates that are written over what they update: where that happens, and that nobody else sees it.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "base/stop.h"
#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

const std::byte* place_of(const Tensor& tensor) { return tensor.data().bytes().data(); }

constexpr const char* kAdam = R"(graph adam {
  %g : f32[N] = input "g"
  %w : f32[1000] = param "w" {values}
  %m : f32[1000] = state "m" {values}
  %v : f32[1000] = state "v" {values}
  %g1 = mul %g, 0.1
  %m1 = mul %m, 0.9
  %m2 = add %m1, %g1
  %gg = mul %g, %g
  %gg1 = mul %gg, 0.001
  %v1 = mul %v, 0.999
  %v2 = add %v1, %gg1
  %root = sqrt %v2
  %below = add %root, 1e-8
  %step = div %m2, %below
  %scaled = mul %step, 0.01
  %w2 = sub %w, %scaled
  update %w = %w2
  update %m = %m2
  update %v = %v2
  return
})";

Graph adam() {
  std::string text = kAdam;
  std::string zeros = "{";
  for (int i = 0; i < 1000; ++i) zeros += i ? ", 0" : "0";
  for (size_t at; (at = text.find("{values}")) != std::string::npos;) text.replace(at, 8, zeros + "}");
  text.replace(text.find("f32[N]"), 6, "f32[1000]");
  return parse(text);
}

NamedTensors gradient() { return {{"g", Tensor::of<float>({1000}, std::vector<float>(1000, 0.5f))}}; }

TEST(InPlace, AnOptimizerWritesWhereItsStateLies) {
  Session session(adam(), {}), reference(adam(), [] {
    SessionOptions options;
    options.optimise = 0;
    return options;
  }());
  Context context, other;
  session.run(context, gradient()), reference.run(other, gradient());
  const std::byte *w = place_of(session.parameter("w")), *m = place_of(context.state("m")),
                  *v = place_of(context.state("v"));
  for (int step = 0; step < 5; ++step) session.run(context, gradient()), reference.run(other, gradient());
  EXPECT_EQ(place_of(session.parameter("w")), w);
  EXPECT_EQ(place_of(context.state("m")), m);
  EXPECT_EQ(place_of(context.state("v")), v);
  for (size_t i : {0u, 999u}) {
    const float want = reference.parameter("w").as<float>()[i];
    EXPECT_NEAR(session.parameter("w").as<float>()[i], want, 16 * 0x1p-24f * std::abs(want)) << "six steps of sums";
  }
}

TEST(InPlace, WhoeverHoldsAValueKeepsIt) {
  Session session(adam(), {});
  Context context;
  session.run(context, gradient());
  const Tensor w = session.parameter("w"), m = context.state("m");
  const std::vector<float> w_before = w.to_floats(), m_before = m.to_floats();
  session.run(context, gradient());
  EXPECT_EQ(w.to_floats(), w_before);
  EXPECT_EQ(m.to_floats(), m_before);
  EXPECT_NE(session.parameter("w").to_floats(), w_before);
  EXPECT_NE(context.state("m").to_floats(), m_before);
}

// What the graph reads after it was written, and what callers get as it was, stays.
TEST(InPlace, NothingIsWrittenOverThatIsReadLater) {
  Session session(parse(R"(graph g {
    %x : f32[4] = input "x"
    %w : f32[4] = param "w" {1, 2, 3, 4}
    %u : f32[4] = param "u" {1, 2, 3, 4}
    %s : f32[2,2] = state "s" {1, 2, 3, 4}
    %w2 = add %w, %x
    %sum = reduce_sum %w2 {axes=[0]}
    %late = mul %w, %sum
    %u2 = add %u, %x
    %t = transpose %s
    update %w = %w2
    update %u = %u2
    update %s = %t
    return %late as "late", %u as "u"
  })"),
                  {});
  Context context;
  const NamedTensors inputs{{"x", Tensor::of<float>({4}, std::vector<float>{1, 1, 1, 1})}};
  const std::vector<Tensor> outputs = session.run(context, inputs);
  EXPECT_EQ(outputs[0].to_floats(), (std::vector<float>{14, 28, 42, 56}));
  EXPECT_EQ(outputs[1].to_floats(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(session.parameter("w").to_floats(), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(session.parameter("u").to_floats(), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(context.state("s").to_floats(), (std::vector<float>{1, 3, 2, 4}));
}

// An operand of an epilogue that nobody reads later, beside numbers of channels that fill vectors and tiles, and that
// do not: tiles that share channels read each of them twice.
TEST(InPlace, TilesThatShareElementsReadThemAsTheyWere) {
  for (const int channels : {64, 120, 288, 37}) {
    for (const char* op : {"conv %x, %w {channels_last=1, groups=CHANNELS, pads=[1, 1, 1, 1]}",
                           "max_pool %x {channels_last=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1]}", "linear %x, %v"}) {
      std::string text = R"(graph g {
        %x : f32[2,5,5,CHANNELS] = input "x"
        %r : f32[2,5,5,CHANNELS] = input "r"
        %w : f32[CHANNELS,1,3,3] = input "w"
        %v : f32[CHANNELS,CHANNELS] = input "v"
        %e = exp %r
        %y = OP
        %s = add %y, %e
        %p = mul %s, %e
        %m = reduce_mean %p {axes=[1, 2], keepdims=0}
        return %p as "p", %m as "m"
      })";
      const auto put = [&](const std::string& what, const std::string& with) {
        for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), with);
      };
      put("OP", op), put("CHANNELS", std::to_string(channels));
      SCOPED_TRACE(text);
      const auto filled = [](std::vector<int64_t> shape, float step) {
        std::vector<float> values(
            static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies())));
        for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(step * static_cast<float>(i));
        return Tensor::of<float>(std::move(shape), std::move(values));
      };
      const NamedTensors inputs{{"x", filled({2, 5, 5, channels}, 0.7f)},
                                {"r", filled({2, 5, 5, channels}, 0.3f)},
                                {"w", filled({channels, 1, 3, 3}, 1.1f)},
                                {"v", filled({channels, channels}, 0.9f)}};
      SessionOptions interpreted;
      interpreted.optimise = 0;
      Session session(parse(text), {}), reference(parse(text), interpreted);
      const std::vector<float> got = session.run(inputs)[0].to_floats(), want = reference.run(inputs)[0].to_floats();
      // Products of up to 288 numbers of at most 1, times e: sums of that length in f32.
      for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 288 * 288 * 0x1p-24f * 3) << i;
    }
  }
}

// Memory of the caller's that does not fit, or is the state's own, is refused before anything changes.
TEST(InPlace, ViewsAreLookedAtFirst) {
  for (int level : {0, 2}) {
    SessionOptions options;
    options.optimise = level;
    Session session(parse(R"(graph g {
      %x : f32[2] = input "x"
      %s : f32[2] = state "s" {1, 2}
      %s2 = add %s, %x
      update %s = %s2
      return %x as "same", %s2 as "y"
    })"),
                    options);
    Context context;
    const NamedTensors inputs{{"x", Tensor::of<float>({2}, std::vector<float>{1, 1})}};
    std::vector<float> y(2), three(3);
    const auto error = [&](const char* label, std::vector<float>& memory) {
      const OutputViews views{{label, OutputView::of(DType::f32, {std::ssize(memory)}, std::span(memory))}};
      return error_of([&] { session.run(context, inputs, views); });
    };
    EXPECT_NE(error("same", three).find("memory is given for f32[3]"), std::string::npos);
    EXPECT_NE(error("y", three).find("memory is given for f32[3]"), std::string::npos);
    session.run(context, inputs);
    EXPECT_EQ(context.state("s").to_floats(), (std::vector<float>{2, 3})) << "refused runs changed nothing";
    context.set_state("s", Tensor(DType::f32, {2}, Buffer(nullptr, std::as_bytes(std::span(y)))));
    EXPECT_NE(error("y", y).find("overlaps that of input \"s\""), std::string::npos);
  }
}

TEST(InPlace, ARunThatFailsLate) {
  Session session(parse(R"(graph g {
    %i : i64[1] = input "i"
    %table : f32[3,2] = input "table"
    %w : f32[2] = param "w" {1, 2}
    %w2 = mul %w, 2.0
    %j = add %i, %i
    %y = gather %table, %j
    update %w = %w2
    return %y as "y"
  })"),
                  {});
  Context context;
  const auto inputs = [](int64_t i) {
    return NamedTensors{{"i", Tensor::of<int64_t>({1}, {i})}, {"table", Tensor(DType::f32, {3, 2})}};
  };
  EXPECT_NE(error_of([&] { session.run(context, inputs(2)); }).find("element 0 is 4"), std::string::npos);
  EXPECT_EQ(session.parameter("w").to_floats(), (std::vector<float>{1, 2}));
  session.run(context, inputs(1));
  EXPECT_EQ(session.parameter("w").to_floats(), (std::vector<float>{2, 4}));
}

// Cancelled at any moment, a run has changed all or nothing: w and m are equal after each.
TEST(InPlace, ACancelledRunChangesAllOrNothing) {
  Session session(parse(R"(graph g {
    %x : f32[100000] = input "x"
    %m : f32[100000] = state "m"
    %w : f32[100000] = state "w"
    %a = exp %x
    %m2 = add %m, %a
    %b = exp %a
    %w2 = add %w, %b
    update %m = %m2
    update %w = %w2
    return
  })"),
                  [] {
                    SessionOptions options;
                    options.fuse = false;
                    return options;
                  }());
  Context context;
  context.set_state("m", Tensor(DType::f32, {100000}));
  context.set_state("w", Tensor(DType::f32, {100000}));
  const NamedTensors inputs{{"x", Tensor(DType::f32, {100000})}};
  int ended = 0;
  for (int i = 0; i < 50; ++i) {
    std::thread stopper([&] { context.cancel(); });
    try {
      session.run(context, inputs);
      ++ended;
    } catch (const Stopped&) {
    }
    stopper.join();
    const float m = context.state("m").as<float>()[0], w = context.state("w").as<float>()[99999];
    EXPECT_EQ(m, static_cast<float>(ended)) << "m and w tell the same number of runs";
    EXPECT_NEAR(w, 2.7182817f * static_cast<float>(ended), 1e-4f * static_cast<float>(ended));
  }
}

// Readers on other threads see each step as a whole.
TEST(InPlace, ReadersSeeWholeSteps) {
  ParseContext big = op_context();
  big.find_constant = [](const std::string&, const TensorType& type) {
    return std::optional(Tensor(type.dtype, constant_shape(type.shape)));
  };
  Session session(parse_graph(R"(graph g {
    %w : f32[50000] = param "w"
    %w2 = add %w, 1.0
    update %w = %w2
    return
  })",
                              big),
                  {});
  std::thread reader([&] {
    for (int i = 0; i < 200; ++i) {
      const Tensor w = session.parameter("w");
      const auto values = w.as<float>();
      EXPECT_EQ(values.front(), values.back());
    }
  });
  Context context;
  for (int i = 0; i < 200; ++i) session.run(context, {});
  reader.join();
  EXPECT_EQ(session.parameter("w").as<float>()[0], 200.0f);
  EXPECT_EQ(session.parameter_version("w"), 200);
}

}  // namespace
}  // namespace hone::test
