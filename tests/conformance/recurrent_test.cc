// Recurrent layers as kernels: units around whole vectors and panels, sequences around whole tiles and items.
#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

constexpr const char* kStep = "recurrent recurrent_steps";

int64_t gates_of(std::string_view cell) { return cell == "lstm" ? 4 : cell == "gru" ? 3 : 1; }

struct Sizes {
  int64_t steps, batch, inputs, hidden, directions;
};

// Operands behind r, as texts, and what attributes there are.
std::string layer(std::string_view cell, const Sizes& s, const std::string& more, const std::string& attributes) {
  const int64_t rows = gates_of(cell) * s.hidden;
  return fmt::format(R"(graph g {{
    %x : f32[{0},{1},{2}] = input "x"
    %w : f32[{4},{5},{2}] = const "w"
    %r : f32[{4},{5},{3}] = const "recurrent"
    %b : f32[{4},{6}] = const "bias"
    %l : i32[{1}] = input "lengths"
    %h : f32[{4},{1},{3}] = input "h"
    %c : f32[{4},{1},{3}] = input "c"
    %p : f32[{4},{7}] = const "peepholes"
    %y, %last{8} = {9} %x, %w, %r, %b{10} {{{11}}}
    return %y as "y", %last as "last"{12}
  }})",
                     s.steps, s.batch, s.inputs, s.hidden, s.directions, rows, 2 * rows, 3 * s.hidden,
                     cell == "lstm" ? ", %cell" : "", cell, more, attributes,
                     cell == "lstm" ? R"(, %cell as "cell")" : "");
}

TEST(Recurrent, UnitsAroundVectorsAndPanels) {
  for (int64_t hidden : {1, 7, 8, 9, 16, 31, 33, 65})
    for (const char* cell : {"rnn", "gru", "lstm"}) {
      SCOPED_TRACE(fmt::format("{} of {} units", cell, hidden));
      expect_text_conforms(layer(cell, {4, 1, 3, hidden, 1}, "", ""), {}, {}, kStep);
    }
}

TEST(Recurrent, SequencesAroundTilesAndItems) {
  for (int64_t batch : {2, 3, 5, 8, 9, 41})
    for (const char* cell : {"rnn", "gru", "lstm"}) {
      SCOPED_TRACE(fmt::format("{} sequences of {}", batch, cell));
      expect_text_conforms(layer(cell, {2, batch, 2, 12, 1}, "", ""), {}, {}, kStep);
    }
}

TEST(Recurrent, LengthsAndFirstStatesInEachDirection) {
  for (const char* direction : {"forward", "reverse", "bidirectional"}) {
    const int64_t directions = direction[0] == 'b' ? 2 : 1;
    const std::string attribute = fmt::format("direction=\"{}\"", direction);
    for (const char* cell : {"rnn", "gru"})
      expect_text_conforms(layer(cell, {7, 4, 2, 10, directions}, ", %l, %h", attribute), {}, {}, kStep);
    expect_text_conforms(layer("lstm", {7, 4, 2, 10, directions}, ", %l, %h, %c, %p", attribute), {}, {}, kStep);
    expect_text_conforms(layer("lstm", {7, 1, 2, 10, directions}, ", %l, %h, %c", attribute), {}, {}, kStep);
  }
}

TEST(Recurrent, VariantsOfCells) {
  expect_text_conforms(layer("gru", {5, 3, 2, 20, 1}, "", "linear_before_reset=1"), {}, {}, kStep);
  expect_text_conforms(layer("gru", {5, 1, 2, 20, 1}, "", "linear_before_reset=1, clip=0.3"), {}, {}, kStep);
  expect_text_conforms(layer("lstm", {5, 3, 2, 20, 1}, "", "input_forget=1, clip=0.7"), {}, {}, kStep);
  expect_text_conforms(layer("lstm", {5, 1, 2, 20, 2}, "",
                             R"(direction="bidirectional", activations=["hard_sigmoid", "softsign", "tanh", "sigmoid",
                                "affine", "scaled_tanh"], activation_alpha=[0.3, 0.9], activation_beta=[0.4, 0.1])"),
                       {}, {}, kStep);
}

// Few steps: a state near the middle of two may become either, and bounds follow both.
TEST(Recurrent, AStateInSteps) {
  for (int64_t hidden : {5, 16, 19})
    for (const char* direction : {"forward", "bidirectional"})
      expect_text_conforms(layer("lstm", {2, 2, 3, hidden, direction[0] == 'b' ? 2 : 1}, ", _, %h, %c",
                                 fmt::format("direction=\"{}\", round_state=1", direction)),
                           {}, {}, kStep);
}

// What is asked for alone: results that nobody reads have no memory.
TEST(Recurrent, OnlyTheLastStateIsRead) {
  expect_text_conforms(R"(graph g {
      %x : f32[6,2,3] = input "x"
      %w : f32[1,40,3] = const "w"
      %r : f32[1,40,10] = const "recurrent"
      %y, %h, %c = lstm %x, %w, %r
      return %h as "h"
    })",
                       {}, {}, kStep);
}

// Weights that follow from inputs are laid out in each run.
TEST(Recurrent, WeightsThatAreComputed) {
  expect_text_conforms(R"(graph g {
      %x : f32[6,2,3] = input "x"
      %w : f32[1,10,3] = input "w"
      %s : f32[1,10,10] = input "s"
      %r = tanh %s
      %y, %h = rnn %x, %w, %r
      return %y as "y"
    })",
                       {}, {}, kStep);
}

// Whole numbers, which f32 holds: one product that is left out, or one unit that is another's, changes a result.
TEST(Recurrent, WholeNumbersAreExact) {
  constexpr int64_t kUnits = 20;
  for (int64_t batch : {1, 5})
    for (const char* cell : {"rnn", "gru", "lstm"}) {
      Philox rng(3);
      const int64_t rows = gates_of(cell) * kUnits;
      const auto whole = [&](std::vector<int64_t> shape) {
        return random_integers(rng, std::move(shape), DType::f32, -2, 2);
      };
      const NamedTensors constants{{"w", whole({1, rows, 3})},
                                   {"recurrent", whole({1, rows, kUnits})},
                                   {"bias", whole({1, 2 * rows})},
                                   {"peepholes", whole({1, 3 * kUnits})}};
      ParseContext context = op_context();
      context.find_constant = [&](const std::string& name, const TensorType&) { return constants.at(name); };
      const std::string activations =
          fmt::format("activations=[{}]", cell == std::string("lstm")  ? R"("affine", "affine", "affine")"
                                          : cell == std::string("gru") ? R"("affine", "affine")"
                                                                       : R"("affine")");
      const Graph graph = parse_graph(layer(cell, {1, batch, 3, kUnits, 1},
                                            cell == std::string("lstm") ? ", _, %h, %c, %p" : ", _, %h", activations),
                                      context);
      const NamedTensors inputs{{"x", whole({1, batch, 3})},
                                {"lengths", Tensor(DType::i32, {batch})},
                                {"h", whole({1, batch, kUnits})},
                                {"c", whole({1, batch, kUnits})}};
      const std::vector<Tensor> want = evaluate(graph, inputs);
      for (const Tensor& result : want)
        for (double value : result.to_doubles()) ASSERT_LT(std::abs(value), 0x1p24);
      on_every_level(graph, inputs, {}, [&](const Ran& ran, const std::string& what) {
        for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(ran.outputs[i].same_bits(want[i])) << cell << " " << what;
      });
    }
}

TEST(Recurrent, ALengthBehindTheLastStepIsRefused) {
  ParseContext context = op_context();
  const Graph graph = parse_graph(R"(graph g {
      %x : f32[2,2,1] = input "x"
      %l : i64[2] = input "lengths"
      %w : f32[1,1,1] = const {1}
      %y, %h = rnn %x, %w, %w, _, %l
      return %y as "y"
    })",
                                  context);
  NamedTensors inputs{{"x", Tensor(DType::f32, {2, 2, 1})}, {"lengths", Tensor::of<int64_t>({2}, {2, 3})}};
  for (int64_t length : {int64_t{3}, int64_t{-1}, int64_t{1} << 60}) {
    inputs["lengths"] = Tensor::of<int64_t>({2}, {2, length});
    EXPECT_THROW(evaluate(graph, inputs), Error);
    EXPECT_THROW(run_session(graph, inputs, {}), Error);
  }
}

}  // namespace
}  // namespace hone::test
