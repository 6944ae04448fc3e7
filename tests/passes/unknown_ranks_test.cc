// Passes on values whose rank is not known: they look at no axis of them, and change no result.
#include <gtest/gtest.h>

#include "ops/evaluate.h"
#include "passes/pipelines.h"
#include "tests/passes/parse_ops.h"

namespace hone {
namespace {

const PipelineOptions kVerify{.disabled = {}, .verify = true, .after = {}};

Tensor numbers(std::vector<int64_t> shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < element_count(shape); ++i) values.push_back(static_cast<float>(i % 7) - 2.5f);
  return Tensor::from_floats(DType::f32, std::move(shape), values);
}

void expect_unchanged(const std::string& text, const std::map<std::string, Tensor>& inputs) {
  SCOPED_TRACE(text);
  ParseContext context = test::op_context();
  context.find_constant = [](const std::string&, const TensorType& type) -> std::optional<Tensor> {
    return numbers(constant_shape(type.shape));
  };
  const Graph graph = parse_graph(text, context);
  const std::vector<Tensor> want = evaluate(graph, inputs);
  for (Compute compute : {Compute::f32, Compute::bf16}) {
    const Graph prepared = prepare_for_codegen(graph, compute, kVerify);
    if (compute == Compute::bf16) continue;
    const std::vector<Tensor> got = evaluate(prepared, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].shape(), want[i].shape());
      const std::vector<float> a = got[i].to_floats(), b = want[i].to_floats();
      for (size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-4f * std::abs(b[k]) + 1e-5f);
    }
  }
}

TEST(UnknownRanks, Transposes) {
  for (const char* attributes : {"", "{perm=[1,0]}", "{perm=[0,1]}", "{perm=[-1,0]}"})
    expect_unchanged(fmt::format(R"(graph g {{
        %x : f32[*] = input "x"
        %t = transpose %x {0}
        %r = relu %t
        %u = transpose %r {0}
        return %u as "u", %t as "t"
      }})",
                                 attributes),
                     {{"x", numbers({2, 3})}});
  expect_unchanged(R"(graph g {
      %x : f32[*] = input "x"
      %y : f32[2,3] = input "y"
      %t = transpose %y
      %s = add %t, %x
      %u = transpose %s
      return %u as "u"
    })",
                   {{"x", numbers({3, 1})}, {"y", numbers({2, 3})}});
}

TEST(UnknownRanks, ProductsAndNorms) {
  expect_unchanged(R"(graph g {
      %x : f32[*] = input "x"
      %w : f32[4,3] = const "w"
      %b : f32[4] = const "b"
      %y = linear %x, %w
      %z = add %y, %b
      %m = reduce_mean %z {axes=[-1]}
      %d = sub %z, %m
      %q = mul %d, %d
      %v = reduce_mean %q {axes=[-1]}
      %e = add %v, 1e-5
      %s = sqrt %e
      %n = div %d, %s
      %r = mul %n, %b
      return %r as "r", %y as "y"
    })",
                   {{"x", numbers({2, 3})}});
}

TEST(UnknownRanks, ConvolutionsAndTheirNorms) {
  expect_unchanged(R"(graph g {
      %x : f32[*] = input "x"
      %w : f32[4,3,2,2] = const "w"
      %s : f32[4] = const "s"
      %y = conv %x, %w {pads=[1,1,0,0]}
      %n = batch_norm %y, %s, %s, %s, %s {epsilon=10.0}
      %p = max_pool %n {kernel_shape=[2,2]}
      %a = mul %p, 2.0
      return %a as "a"
    })",
                   {{"x", numbers({2, 3, 4, 5})}});
}

TEST(UnknownRanks, Attention) {
  expect_unchanged(R"(graph g {
      %q : f32[2,5,8] = input "q"
      %m : f32[*] = input "m"
      %s : f32[2,5,2,4] = reshape %q {shape=[2,5,2,4]}
      %h = transpose %s {perm=[0,2,1,3]}
      %k = transpose %s {perm=[0,2,3,1]}
      %p = matmul %h, %k
      %i = add %p, %m
      %f = softmax %i {axis=-1}
      %o = matmul %f, %h
      %t = transpose %o {perm=[0,2,1,3]}
      %y = reshape %t {shape=[2,5,8]}
      return %y as "y"
    })",
                   {{"q", numbers({2, 5, 8})}, {"m", numbers({5, 5})}});
}

// Strides that a file may have made up are left to the shape rule and the interpreter.
TEST(UnknownRanks, TransposedConvolutionsOfAbsurdStridesAreNotTakenApart) {
  for (const char* stride : {"2000000", "4611686018427387904"}) {
    const std::string text = fmt::format(R"(graph g {{
        %x : f32[1,1,1] = input "x"
        %w : f32[1,1,2] = const "w"
        %y = conv_transpose %x, %w {{strides=[{}]}}
        return %y as "y"
      }})",
                                         stride);
    ParseContext context = test::op_context();
    context.find_constant = [](const std::string&, const TensorType& type) -> std::optional<Tensor> {
      return numbers(constant_shape(type.shape));
    };
    test::error_of([&] {
      const Graph prepared = prepare_for_codegen(parse_graph(text, context), Compute::f32, kVerify);
      EXPECT_EQ(prepared.nodes("conv_transpose").size(), 1u);
    });
  }
}

}  // namespace
}  // namespace hone
