// Sizes with names of their own that a run makes equal, 1 or wrong: what has code takes them all, and says what is
// wrong.
#include <gmock/gmock.h>

#include "base/error.h"
#include "tests/conformance/conform_text.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

// One session for all of the sizes, so that what was made for some is not taken for others.
class OpenNames {
 public:
  explicit OpenNames(const std::string& text) : graph_(parse_graph(text, context())), session_(graph_, options()) {}

  // `has_code`: nothing is interpreted but what says how large things are.
  void expect_conforms(const std::vector<std::vector<int64_t>>& shapes, bool has_code = true) {
    const NamedTensors inputs = of(shapes);
    RunProfile profile;
    const std::vector<Tensor> got = session_.run(inputs, &profile);
    const std::vector<Bounded> want = bounded_outputs(graph_, inputs);
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(fault_of(got[i], want[i]), "") << session_.output_names()[i];
    for (const StepProfile& step : profile.steps)
      EXPECT_TRUE(!has_code || step.kind != "interpreted" || step.ops == "reshape")
          << step.ops << ": " << step.why_interpreted;
  }
  std::string why_interpreted(const std::vector<std::vector<int64_t>>& shapes) {
    RunProfile profile;
    session_.run(of(shapes), &profile);
    std::string all;
    for (const StepProfile& step : profile.steps) all += step.why_interpreted;
    return all;
  }
  std::string error(const std::vector<std::vector<int64_t>>& shapes) {
    return error_of([&] { session_.run(of(shapes)); });
  }

 private:
  // Constants are random.
  static ParseContext context() {
    ParseContext context = op_context();
    context.find_constant = [](const std::string&, const TensorType& type) -> std::optional<Tensor> {
      Philox rng(7);
      return random_floats(rng, constant_shape(type.shape), type.dtype, -1, 1);
    };
    return context;
  }
  static SessionOptions options() {
    SessionOptions options;
    options.cache_folder = kernel_folder();
    return options;
  }
  NamedTensors of(const std::vector<std::vector<int64_t>>& shapes) const {
    Philox rng(3);
    NamedTensors inputs;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Value& input = graph_.value(graph_.inputs()[i]);
      inputs[input.label] = is_float(input.type.dtype)
                                ? random_floats(rng, shapes[i], input.type.dtype, -1, 1)
                                : Tensor::of<int64_t>({static_cast<int64_t>(shapes[i].size())}, shapes[i]);
    }
    return inputs;
  }

  Graph graph_;
  Session session_;
};

TEST(OpenNames, BatchesOfAnEinsumBroadcast) {
  OpenNames scores(R"(graph g {
    %x : f32[b,i,2,5] = input "x"
    %z : f32[c,j,2,5] = input "z"
    %s = einsum %x, %z {equation="bind,bjnd->bnij"}
    %y = relu %s
    return %y as "y"
  })");
  scores.expect_conforms({{2, 3, 2, 5}, {2, 7, 2, 5}});
  scores.expect_conforms({{1, 3, 2, 5}, {2, 7, 2, 5}});
  scores.expect_conforms({{3, 3, 2, 5}, {1, 1, 2, 5}});
  scores.expect_conforms({{1, 1, 2, 5}, {1, 4, 2, 5}});
  EXPECT_THAT(scores.error({{2, 3, 2, 5}, {3, 7, 2, 5}}), testing::HasSubstr("broadcast"));
}

TEST(OpenNames, SumsOfAnEinsumBroadcastAndMayBeEmpty) {
  OpenNames mixed(R"(graph g {
    %x : f32[b,i,k] = input "x"
    %z : f32[l,c,3] = input "z"
    %y = einsum %x, %z {equation="bik,kbj->ijb"}
    %u = einsum %x, %z {equation="bik,kij->j"}
    return %y as "y", %u as "u"
  })");
  mixed.expect_conforms({{2, 2, 6}, {6, 2, 3}});
  mixed.expect_conforms({{2, 1, 1}, {6, 2, 3}});
  mixed.expect_conforms({{1, 4, 6}, {1, 1, 3}});
  mixed.expect_conforms({{1, 1, 1}, {1, 1, 3}});
  mixed.expect_conforms({{2, 2, 0}, {0, 2, 3}}, false);
  mixed.expect_conforms({{2, 2, 0}, {1, 2, 3}}, false);
  EXPECT_THAT(mixed.error({{2, 2, 6}, {5, 2, 3}}), testing::HasSubstr("broadcast"));
}

TEST(OpenNames, BatchesOfProductsBroadcastAlongSeveralAxes) {
  OpenNames product(R"(graph g {
    %x : f32[a,b,1,4,m,8] = input "x"
    %z : f32[a,1,c,4,8,n] = input "z"
    %p = matmul %x, %z
    %r : f32[a,b,c,4,m,n] = input "r"
    %y = add %p, %r
    return %y as "y"
  })");
  for (const auto& [a, b, c, m, n] : {std::tuple(2, 3, 2, 5, 7), {1, 3, 1, 1, 9}, {2, 1, 5, 7, 1}, {1, 1, 1, 17, 33}})
    product.expect_conforms({{a, b, 1, 4, m, 8}, {a, 1, c, 4, 8, n}, {a, b, c, 4, m, n}});
}

TEST(OpenNames, ProductsReadWhatIsRepeatedWhereItWas) {
  OpenNames product(R"(graph g {
    %x : f32[a,1,m,8] = input "x"
    %z : f32[1,h,n,8] = input "z"
    %e = expand %x {shape=[a,6,m,8]}
    %t = transpose %z {perm=[0,1,3,2]}
    %f = expand %t {shape=[a,h,8,n]}
    %y = matmul %e, %f
    return %y as "y"
  })");
  product.expect_conforms({{2, 1, 3, 8}, {1, 6, 5, 8}});
  product.expect_conforms({{1, 1, 1, 8}, {1, 6, 1, 8}});
}

// Behind a shape that the data say; i64 inputs hold it.
TEST(OpenNames, TransposedConvolutionsBehindAComputedShape) {
  OpenNames line(R"(graph g {
    %x : f32[b,l] = input "x"
    %s : i64[3] = input "s"
    %c = reshape %x, %s
    %w : f32[4,3,5] = const "w"
    %y = conv_transpose %c, %w {strides=[2], pads=[2,1]}
    %z = relu %y
    return %z as "z"
  })");
  line.expect_conforms({{2, 24}, {2, 4, 6}});
  line.expect_conforms({{3, 4}, {3, 4, 1}});
  line.expect_conforms({{1, 32}, {2, 4, 4}});
  OpenNames volume(R"(graph g {
    %x : f32[b,l] = input "x"
    %s : i64[5] = input "s"
    %c = reshape %x, %s
    %w : f32[2,3,2,3,2] = const "w"
    %y = conv_transpose %c, %w {strides=[2,2,2], pads=[0,1,0,0,1,0], output_padding=[0,1,0]}
    return %y as "y"
  })");
  volume.expect_conforms({{2, 24}, {2, 2, 3, 2, 2}});
  volume.expect_conforms({{1, 2}, {1, 2, 1, 1, 1}});
}

TEST(OpenNames, TransposedConvolutionsWithComputedWeights) {
  OpenNames computed(R"(graph g {
    %x : f32[b,4,h,w] = input "x"
    %v : f32[4,3,3,3] = input "v"
    %b : f32[3] = input "b"
    %t = tanh %v
    %y = conv_transpose %x, %t, %b {strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]}
    return %y as "y"
  })");
  computed.expect_conforms({{2, 4, 5, 3}, {4, 3, 3, 3}, {3}});
  computed.expect_conforms({{1, 4, 1, 1}, {4, 3, 3, 3}, {3}});
  OpenNames volume(R"(graph g {
    %x : f32[b,4,d,h,w] = input "x"
    %v : f32[4,1,3,2,3] = input "v"
    %y = conv_transpose %x, %v {groups=4, strides=[2,1,2], dilations=[1,2,1], pads=[1,0,1,0,1,1]}
    return %y as "y"
  })");
  volume.expect_conforms({{2, 4, 3, 4, 2}, {4, 1, 3, 2, 3}});
  volume.expect_conforms({{1, 4, 1, 1, 1}, {4, 1, 3, 2, 3}});
}

TEST(OpenNames, WhatTransposedConvolutionsAreLeftSaysWhy) {
  OpenNames computed(R"(graph g {
    %x : f32[b,2,d,h,w] = input "x"
    %v : f32[2,3,2,2,1] = input "v"
    %y = conv_transpose %x, %v {output_shape=[4, 5, 2]}
    return %y as "y"
  })");
  EXPECT_THAT(computed.why_interpreted({{1, 2, 3, 4, 2}, {2, 3, 2, 2, 1}}),
              testing::HasSubstr("conv_transpose with weights that are no constant"));
}

}  // namespace
}  // namespace hone::test
