// Blocks of the networks that people try first, as exporters spell them: none of their steps is interpreted, whatever
// instructions the machine has, and they compute what the reference does.
#include <gtest/gtest.h>

#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

struct Block {
  const char* name;
  const char* text;
};

constexpr Block kBlocks[] = {
    {"SqueezeAndExcite", R"(
      %x : f32[2,8,9,9] = input
      %d : f32[8,1,3,3] = const "d"
      %e : f32[4,8,1,1] = const "e"
      %f : f32[8,4,1,1] = const "f"
      %c = conv %x, %d {pads=[1,1,1,1], groups=8}
      %s = sigmoid %c
      %a = mul %c, %s
      %m = reduce_mean %a {axes=[2,3], keepdims=1}
      %n = conv %m, %e
      %r = relu %n
      %o = conv %r, %f
      %g = sigmoid %o
      %y = mul %a, %g
      return %y)"},
    {"DenseBlockOfManyLayers", R"(
      %x : f32[1,4,5,5] = input
      %a = relu %x
      %b = tanh %x
      %c = abs %x
      %p = concat %x, %a, %b, %c, %x, %a, %b, %c, %x, %a, %b, %c, %x, %a, %b, %c, %x, %a {axis=1}
      %q = concat %x, %a, %b, %c, %x, %a, %b, %c, %x, %a, %b, %c, %x, %a, %b, %c, %x, %a, %b {axis=1}
      return %p, %q)"},
    {"ConvNextBlock", R"(
      %x : f32[1,8,9,9] = input
      %d : f32[8,1,7,7] = const "d"
      %g : f32[8] = const "g"
      %b : f32[8] = const "b"
      %u : f32[8,32] = const "u"
      %v : f32[32,8] = const "v"
      %c = conv %x, %d {pads=[3,3,3,3], groups=8}
      %t = transpose %c {perm=[0,2,3,1]}
      %n = layer_norm %t, %g, %b {epsilon=1e-6}
      %h = matmul %n, %u
      %e = gelu %h
      %o = matmul %e, %v
      %r = transpose %o {perm=[0,3,1,2]}
      %y = add %r, %x
      return %y)"},
    {"ShiftedWindows", R"(
      %x : f32[1,8,8,16] = input
      %w : f32[16,48] = const "w"
      %r0 = slice %x {axes=[1], starts=[2], ends=[8]}
      %r1 = slice %x {axes=[1], starts=[0], ends=[2]}
      %r = concat %r0, %r1 {axis=1}
      %c0 = slice %r {axes=[2], starts=[2], ends=[8]}
      %c1 = slice %r {axes=[2], starts=[0], ends=[2]}
      %c = concat %c0, %c1 {axis=2}
      %s = reshape %c {shape=[1,2,4,2,4,16]}
      %t = transpose %s {perm=[0,1,3,2,4,5]}
      %f = reshape %t {shape=[4,16,16]}
      %m = matmul %f, %w
      %h = reshape %m {shape=[4,16,3,2,8]}
      %p = transpose %h {perm=[2,0,3,1,4]}
      %q, %k, %v = split %p {axis=0, sizes=[1,1,1]}
      %a = matmul %q, %k {transpose_b=1}
      %z = softmax %a {axis=-1}
      %y = matmul %z, %v
      return %y)"},
    {"CausalAttentionWithRotatedHalves", R"(
      %x : f32[1,6,32] = input
      %wq : f32[32,32] = const "wq"
      %wk : f32[16,32] = const "wk"
      %g : f32[32] = const "g"
      %f : f32[1,1,1,4] = const "f"
      %n = rms_norm %x, %g
      %lq = linear %n, %wq
      %lk = linear %n, %wk
      %rq = reshape %lq {shape=[1,6,4,8]}
      %rk = reshape %lk {shape=[1,6,2,8]}
      %q = transpose %rq {perm=[0,2,1,3]}
      %k = transpose %rk {perm=[0,2,1,3]}
      %i = iota {dtype=f32, shape=[6]}
      %j = reshape %i {shape=[1,1,6,1]}
      %l = mul %j, %f
      %e = concat %l, %l {axis=-1}
      %cos = cos %e
      %sin = sin %e
      %q1 = slice %q {axes=[3], starts=[0], ends=[4]}
      %q2 = slice %q {axes=[3], starts=[4], ends=[8]}
      %qn = neg %q2
      %qr = concat %qn, %q1 {axis=-1}
      %qa = mul %q, %cos
      %qb = mul %qr, %sin
      %qq = add %qa, %qb
      %ku = unsqueeze %k {axes=[2]}
      %ke = expand %ku {shape=[1,2,2,6,8]}
      %kk = reshape %ke {shape=[1,4,6,8]}
      %s = matmul %qq, %kk {transpose_b=1}
      %p = iota {dtype=i64, shape=[6]}
      %pr = reshape %p {shape=[6,1]}
      %pc = reshape %p {shape=[1,6]}
      %m = less_or_equal %pc, %pr
      %h = where %m, %s, -1e30
      %z = softmax %h {axis=-1}
      %y = matmul %z, %kk
      return %y)"},
    {"RelativePositions", R"(
      %q : f32[1,2,5,8] = input
      %k : f32[1,2,5,8] = input
      %t : f32[7,2] = const "t"
      %b : i64[5,5] = input
      %s = matmul %q, %k {transpose_b=1}
      %g = gather %t, %b {axis=0}
      %p = transpose %g {perm=[2,0,1]}
      %u = unsqueeze %p {axes=[0]}
      %a = add %s, %u
      %z = softmax %a {axis=-1}
      %y = matmul %z, %k
      return %y)"},
    {"HeadOfADetector", R"(
      %x : f32[1,30,6] = input
      %b = slice %x {axes=[2], starts=[0], ends=[4]}
      %s = slice %x {axes=[2], starts=[4], ends=[6]}
      %p = relu %s
      %best = reduce_max %p {axes=[2], keepdims=0}
      %class = argmax %p {axis=2}
      %v, %i = top_k %best {k=[9]}
      %c = gather_elements %class, %i {axis=1}
      %j = unsqueeze %i {axes=[2]}
      %e = expand %j {shape=[1,9,4]}
      %o = gather_elements %b, %e {axis=1}
      return %v, %c, %o)"},
    {"HeadOfASegmentation", R"(
      %x : f32[1,5,6,7] = input
      %r = resize %x {axes=[2,3], sizes=[12,14], mode="linear"}
      %n = resize %x {axes=[2,3], sizes=[12,14]}
      %y = argmax %n {axis=1}
      return %r, %y)"},
    {"PlanesSampledAtCoordinates", R"(
      %x : f32[2,5,6,7] = input
      %g : f32[2,3,4,2] = input
      %l = grid_sample %x, %g
      %n = grid_sample %x, %g {mode="nearest", padding_mode="reflection", align_corners=1}
      %b = grid_sample %l, %g {padding_mode="border"}
      %y = relu %b
      return %y, %n)"},
    {"RotatedHeadsThatShareKeys", R"(
      %q : f32[2,5,32] = input
      %k : f32[2,5,16] = input
      %cos : f32[1,1,5,8] = input
      %seen : bool[2,1,5,5] = input
      %qs = reshape %q {shape=[2,5,4,8]}
      %qh = transpose %qs {perm=[0,2,1,3]}
      %qa = slice %qh {axes=[3], starts=[4], ends=[8]}
      %qn = neg %qa
      %qb = slice %qh {axes=[3], starts=[0], ends=[4]}
      %qc = concat %qn, %qb {axis=3}
      %qd = mul %qc, %cos
      %qr = add %qh, %qd
      %ks = reshape %k {shape=[2,5,2,8]}
      %kh = transpose %ks {perm=[0,2,1,3]}
      %kr = mul %kh, %cos
      %k1 = unsqueeze %kr {axes=[2]}
      %k2 = expand %k1 {shape=[2,2,2,5,8]}
      %k4 = reshape %k2 {shape=[2,4,5,8]}
      %kt = transpose %k4 {perm=[0,1,3,2]}
      %v1 = unsqueeze %kh {axes=[2]}
      %v2 = expand %v1 {shape=[2,2,2,5,8]}
      %v4 = reshape %v2 {shape=[2,4,5,8]}
      %s = matmul %qr, %kt
      %m = where %seen, 0.0, -inf
      %t = add %s, %m
      %p = softmax %t {axis=-1}
      %nan = is_nan %p
      %w = where %nan, 0.0, %p
      %o = matmul %w, %v4
      %oh = transpose %o {perm=[0,2,1,3]}
      %y = reshape %oh {shape=[2,5,32]}
      return %y)"},
    {"Volumes", R"(
      %x : f32[1,3,4,8,8] = input
      %w : f32[6,3,3,3,3] = const "w"
      %c = conv %x, %w {pads=[1,1,1,1,1,1], strides=[1,2,2]}
      %r = relu %c
      %p = max_pool %r {kernel_shape=[2,2,2], strides=[2,2,2]}
      %y = reduce_mean %p {axes=[2,3,4], keepdims=0}
      return %y)"},
    {"MessagesOfAGraph", R"(
      %x : f32[7,20] = input
      %from : i64[11] = input
      %to : i64[11,1] = input
      %zero : f32[7,20] = input
      %m = gather %x, %from {axis=0}
      %s = scatter_nd %zero, %to, %m {reduction="add"}
      %y = relu %s
      return %y)"},
};

class Family : public testing::TestWithParam<Block> {};

TEST_P(Family, IsCompiledInAllItsSteps) {
  const std::string text = fmt::format("graph g {{{}\n}}", GetParam().text);
  expect_text_conforms(text);
  ParseContext context = op_context();
  context.find_constant = [](const std::string&, const TensorType& type) -> std::optional<Tensor> {
    return Tensor(type.dtype, constant_shape(type.shape));
  };
  const Graph graph = parse_graph(text, context);
  NamedTensors zeros;
  for (ValueId v : graph.inputs())
    zeros.emplace(graph.value(v).label, Tensor(graph.type(v).dtype, constant_shape(graph.type(v).shape)));
  for (const StepProfile& step : run_session(graph, zeros, {}).profile.steps)
    EXPECT_EQ(step.why_interpreted, "") << step.ops;
}

INSTANTIATE_TEST_SUITE_P(Blocks, Family, testing::ValuesIn(kBlocks),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hone::test
