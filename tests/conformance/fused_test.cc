// Graphs whose nodes share kernels: epilogues, prologues, second results, masks, moves in between.
#include "tests/conformance/conform.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/op_cases.h"
#include "tests/support/packed_examples.h"

namespace hone::test {
namespace {

// A graph text whose input types have constant shapes, with random inputs of a size that keeps activations in range;
// integer inputs are below 7. `constants` fills in `const "name"`.
void expect_text_conforms(const std::string& text, const NamedTensors& constants = {},
                          const SessionOptions& options = {}, const std::string& expected_step = "") {
  ParseContext context = op_context();
  context.find_constant = [&](const std::string& name, const TensorType& type) -> std::optional<Tensor> {
    if (const auto found = constants.find(name); found != constants.end()) return found->second;
    Philox rng(name.size() * 131 + static_cast<uint64_t>(name[0]));
    return random_floats(rng, constant_shape(type.shape), type.dtype, -0.5f, 0.5f);
  };
  const Graph graph = parse_graph(text, context);
  Philox rng(5);
  NamedTensors inputs;
  for (ValueId v : graph.inputs()) {
    const TensorType& type = graph.type(v);
    inputs[graph.value(v).label] = is_float(type.dtype)
                                       ? random_floats(rng, constant_shape(type.shape), type.dtype)
                                       : random_integers(rng, constant_shape(type.shape), type.dtype, 0, 6);
  }
  expect_conforms(graph, inputs, options);
  if (expected_step.empty()) return;
  std::string steps;
  for (const StepProfile& step : run_session(graph, inputs, options).profile.steps)
    steps += step.kind + " " + step.ops + "; ";
  EXPECT_NE(steps.find(expected_step), std::string::npos) << steps;
}

TEST(Fused, LinearWithBiasGeluAndResidual) {
  for (const char* shape : {"1,40", "7,40", "2,17,40", "3,1,40"})
    expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[{0}] = input "x"
      %r : f32[{1}] = input "r"
      %w : f32[24,40] = const "w"
      %b : f32[24] = const "b"
      %h = linear %x, %w, %b
      %g = gelu %h
      %y = add %g, %r
      return %y as "y"
    }})",
                                     shape, std::string(shape).substr(0, std::string(shape).size() - 2) + "24"),
                         {}, {}, "gemm linear+gelu+add");
}

TEST(Fused, EveryActivationFollowsALinear) {
  for (const char* op : {"relu", "sigmoid", "tanh", "silu", "gelu", "softplus", "hard_swish"})
    expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[5,19] = input "x"
      %w : f32[33,19] = const "w"
      %h = linear %x, %w
      %y = {} %h
      return %y as "y"
    }})",
                                     op),
                         {}, {}, fmt::format("gemm linear+{}", op));
}

TEST(Fused, LinearWithTwoResults) {
  expect_text_conforms(R"(graph g {
      %x : f32[9,16] = input "x"
      %w : f32[20,16] = const "w"
      %h = linear %x, %w
      %y = tanh %h
      %z = mul %y, %h
      return %h as "h", %z as "z"
    })");
}

TEST(Fused, LayerNormWithAddBeforeAndRoundedSecondResult) {
  expect_text_conforms(R"(graph g {
      %a : f32[2,7,48] = input "a"
      %b : f32[2,7,48] = input "b"
      %w : f32[48] = const "w"
      %c : f32[48] = const "c"
      %s = add %a, %b
      %n = layer_norm %s, %w, %c
      %h : bf16[2,7,48] = cast %n {dtype=bf16}
      return %n as "n", %h as "h"
    })",
                       {}, {}, "row add+layer_norm+cast");
}

TEST(Fused, LayerNormOfASumThatIsReadElsewhereToo) {
  expect_text_conforms(R"(graph g {
      %a : f32[5,33] = input "a"
      %b : f32[33] = input "b"
      %s = add %a, %b
      %n = layer_norm %s
      %m = mul %n, %s
      return %s as "s", %m as "m"
    })");
}

TEST(Fused, AttentionWithMask) {
  for (const char* mask : {"f32[2,1,1,9]", "f32[2,4,9,9]", "f32[1,1,9,9]"})
    for (const char* dtype : {"f32", "bf16"})
      expect_text_conforms(fmt::format(R"(graph g {{
      %q : {0}[2,9,32] = input "q"
      %k : {0}[2,9,32] = input "k"
      %v : {0}[2,9,32] = input "v"
      %m : {1} = input "m"
      %y = attention %q, %k, %v, %m {{heads=4, scale=0.2}}
      return %y as "y"
    }})",
                                       dtype, mask),
                           {}, {}, "attention attention");
}

TEST(Fused, AttentionRoundsItsResult) {
  expect_text_conforms(R"(graph g {
      %q : f32[2,5,16] = input "q"
      %k : f32[2,11,16] = input "k"
      %y = attention %q, %k, %k {heads=2}
      %h : bf16[2,5,16] = cast %y {dtype=bf16}
      return %h as "h"
    })",
                       {}, {}, "attention attention+cast");
}

TEST(Fused, SelfAttentionFromOneProjection) {
  expect_text_conforms(R"(graph g {
      %x : f32[3,6,32] = input "x"
      %wq : f32[32,32] = const "wq"
      %wk : f32[32,32] = const "wk"
      %wv : f32[32,32] = const "wv"
      %q = linear %x, %wq
      %k = linear %x, %wk
      %v = linear %x, %wv
      %y = attention %q, %k, %v {heads=2}
      %wo : f32[32,32] = const "wo"
      %o = linear %y, %wo
      %s = add %o, %x
      return %s as "s"
    })");
}

TEST(Fused, MatmulBatchedWithTransposesAround) {
  for (const char* heads : {"4", "1"})
    expect_text_conforms(fmt::format(R"(graph g {{
      %q : f32[2,7,{0},8] = input "q"
      %k : f32[2,9,{0},8] = input "k"
      %a = transpose %q {{perm=[0, 2, 1, 3]}}
      %b = transpose %k {{perm=[0, 2, 3, 1]}}
      %s = matmul %a, %b
      %d = mul %s, 0.25
      %t = transpose %d {{perm=[0, 2, 3, 1]}}
      return %t as "t"
    }})",
                                     heads));
}

TEST(Fused, TransposeOfAWeightBeforeMatmul) {
  expect_text_conforms(R"(graph g {
      %x : f32[2,5,12] = input "x"
      %w : f32[12,10] = const "w"
      %y = matmul %x, %w
      %b : f32[10] = const "b"
      %z = add %y, %b
      %r = relu %z
      return %r as "r"
    })",
                       {}, {}, "gemm");
}

TEST(Fused, SliceAndConcatBetweenKernels) {
  expect_text_conforms(R"(graph g {
      %x : f32[4,24] = input "x"
      %w : f32[30,24] = const "w"
      %h = linear %x, %w
      %a = slice %h {axes=[1], starts=[0], ends=[15]}
      %b = slice %h {axes=[1], starts=[15], ends=[30]}
      %s = silu %a
      %p = mul %s, %b
      %c = concat %p, %a {axis=1}
      return %c as "c"
    })");
}

TEST(Fused, SoftmaxOfScaledScores) {
  expect_text_conforms(R"(graph g {
      %x : f32[3,5,21] = input "x"
      %m : f32[3,1,21] = input "m"
      %s = mul %x, 0.5
      %t = add %s, %m
      %y = softmax %t
      return %y as "y"
    })");
}

TEST(Fused, PooledAndNormalisedSentence) {
  expect_text_conforms(R"(graph g {
      %x : f32[3,7,20] = input "x"
      %m : i64[3,7] = input "m"
      %p = mean_pool %x, %m
      %n = l2_normalise %p
      return %n as "n"
    })");
}

TEST(Fused, ValuesThatAreRoundedInBetweenStayRounded) {
  expect_text_conforms(R"(graph g {
      %x : bf16[6,17] = input "x"
      %y : bf16[6,17] = input "y"
      %a = add %x, %y
      %b = mul %a, %x
      %c = sub %b, %y
      return %c as "c"
    })");
}

TEST(Fused, DepthwiseConvolutionWithBiasActivationAndResidual) {
  for (const char* x : {"f32[2,9,11,24]", "bf16[1,7,7,40]", "f32[1,5,16,3]"}) {
    const std::string dims = x, channels = dims.substr(dims.rfind(',') + 1, dims.size() - dims.rfind(',') - 2);
    expect_text_conforms(fmt::format(R"(graph g {{
      %x : {0} = input "x"
      %r : f32{1} = input "r"
      %w : f32[{2},9] = const "w"
      %b : f32[{2}] = const "b"
      %h = conv %x, %w, %b {{channels_last=1, kernel_shape=[3,3], pads=[1,1,1,1], groups={2}}}
      %g = hard_swish %h
      %y = add %g, %r
      return %y as "y", %h as "h"
    }})",
                                     x, dims.substr(dims.find('[')), channels),
                         {}, {}, "window conv+hard_swish+add");
  }
}

TEST(Fused, StridedAndPackedDepthwiseConvolutions) {
  Philox rng(13);
  const NamedTensors constants{{"w", random_packed(rng, {32, 25}, "int8")}};
  expect_text_conforms(R"(graph g {
      %x : f32[1,12,9,32] = input "x"
      %w : int8[32,25] = const "w"
      %h = conv %x, %w {channels_last=1, kernel_shape=[5,5], auto_pad="same_upper", strides=[2,1], groups=32}
      %y = relu %h
      return %y as "y"
    })",
                       constants, {}, "window conv+relu");
}

TEST(Fused, ConvolutionAlongALineWithDilation) {
  expect_text_conforms(R"(graph g {
      %x : f32[2,30,20] = input "x"
      %w : f32[20,3] = const "w"
      %y = conv %x, %w {channels_last=1, kernel_shape=[3], pads=[4,0], dilations=[2], groups=20}
      return %y as "y"
    })",
                       {}, {}, "window conv");
}

TEST(Fused, PoolsWithPaddingAndCeilMode) {
  for (const char* attributes : {"pads=[1,1,1,1]", "strides=[2,2], ceil_mode=1", "auto_pad=\"same_lower\"",
                                 "strides=[2,3], pads=[1,2,0,1], ceil_mode=1, count_include_pad=1",
                                 "pads=[2,2,2,2], dilations=[2,1], count_include_pad=1"})
    for (const char* op : {"max_pool", "avg_pool"})
      for (const char* dtype : {"f32", "bf16", "f16", "f64", "i32"}) {
        const std::string text(attributes);
        const bool max = op[0] == 'm';
        if (max ? text.find("count") != std::string::npos : dtype[0] == 'i') continue;
        expect_text_conforms(fmt::format(R"(graph g {{
      %x : {0}[2,8,10,21] = input "x"
      %y = {1} %x {{channels_last=1, kernel_shape=[3,3], {2}}}
      return %y as "y"
    }})",
                                         dtype, op, attributes),
                             {}, {}, fmt::format("window {}", op));
      }
}

TEST(Fused, ReductionsOverAnyNeighbouringAxes) {
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"})
    for (const std::string axes : {"[1,2]", "[0,1,2]", "[1]", "[2]", "[0]", "[2,3]", "[1,2,3]", "[-1]"})
      for (int keep : {0, 1}) {
        const bool last = axes.find('3') != std::string::npos || axes == "[-1]";
        expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[2,5,7,18] = input "x"
      %s = tanh %x
      %y = {} %s {{axes={}, keepdims={}}}
      return %y as "y"
    }})",
                                         op, axes, keep),
                             {}, {}, (last ? "row tanh+" : "window ") + std::string(op));
      }
}

TEST(Fused, ProductsOfBroadcastBatches) {
  for (const auto& [a, b] : {std::pair("2,1,5,16", "3,16,9"), std::pair("5,16", "4,16,9"),
                             std::pair("3,2,5,16", "2,16,9"), std::pair("3,1,5,16", "1,2,16,9")})
    expect_text_conforms(fmt::format(R"(graph g {{
      %a : f32[{}] = input "a"
      %b : f32[{}] = input "b"
      %c = matmul %a, %b
      %r = relu %c
      return %r as "r"
    }})",
                                     a, b),
                         {}, {}, "gemm matmul+relu");
}

TEST(Fused, GatherAlongAnyAxis) {
  for (int axis : {0, 1, -1})
    for (const char* ids : {"i64[4]", "i32[]", "i64[2,3]"})
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[7,9,8] = input "x"
      %i : {} = input "i"
      %y = gather %x, %i {{axis={}}}
      return %y as "y"
    }})",
                                       ids, axis),
                           {}, {}, "gather gather");
}

TEST(Fused, TransposesBySquares) {
  for (const char* x : {"f32[2,3,35,17]", "bf16[1,40,5,6]", "i64[2,3,9,4]", "u8[3,20,33,2]", "f32[1,5,1,3]"})
    for (const char* perm : {"0,2,3,1", "0,3,1,2", "0,1,3,2", "3,2,1,0", "2,3,0,1"})
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : {} = input "x"
      %y = transpose %x {{perm=[{}]}}
      return %y as "y"
    }})",
                                       x, perm));
}

// The op `node` moves elements of %x and %y without being interpreted; %s is a scalar.
void expect_moved(const std::string& x, const std::string& op, const std::string& operands) {
  expect_text_conforms(fmt::format(R"(graph g {{
      %x : {0} = input "x"
      %y : {0} = input "y"
      %s : {1} = input "s"
      %z = {2} {3}
      return %z as "z"
    }})",
                                   x, x.substr(0, x.find('[')) + "[]", op, operands),
                       {}, {}, "pointwise " + op);
}

TEST(Fused, ConcatenationsAndSlicesAreCopiesOfParts) {
  for (const char* x : {"f32[2,5,7,18]", "i64[3,4,6,2]", "bf16[1,6,9,33]", "u8[2,4,8,1]"}) {
    expect_moved(x, "concat", "%x, %y, %x {axis=3}");
    expect_moved(x, "concat", "%y, %x {axis=0}");
    expect_moved(x, "concat", "%x, %y {axis=-2}");
    expect_moved(x, "slice", "%x {axes=[1,2], starts=[1,0], ends=[4,6], steps=[2,3]}");
    expect_moved(x, "strided_slice", "%x {axes=[1,2], starts=[-1,50], ends=[-100,0], steps=[-1,-2]}");
    expect_moved(x, "tile", "%x {repeats=[2,1,3,2]}");
    expect_moved(x, "tile", "%x {repeats=[1,4,1,1]}");
    expect_moved(x, "pad", "%x, %s {pads=[0,1,2,0,0,3,0,5]}");
    expect_moved(x, "pad", "%x {pads=[0,1,-2,0,1,0,3,0]}");
  }
  for (const char* mode : {"edge", "reflect", "wrap"})
    expect_moved("f32[2,5,7,18]", "pad", fmt::format("%x {{pads=[0,1,3,0,0,2,1,0], mode=\"{}\"}}", mode));
}

TEST(Fused, SplitWritesEachPart) {
  expect_text_conforms(R"(graph g {
      %x : f32[3,5,21] = input "x"
      %a, %b, %c = split %x {axis=2, sizes=[16,1,4]}
      %r = relu %c
      return %a as "a", %r as "r"
    })",
                       {}, {}, "pointwise split; pointwise split");
}

TEST(Fused, NearestPlacesAlongChannelsLastImages) {
  for (const char* arguments : {"sizes=[14,18]", "sizes=[28,36]", "sizes=[7,18], coordinates=\"align_corners\"",
                                "sizes=[14,3], coordinates=\"asymmetric\", nearest_mode=\"floor\""})
    expect_moved("f32[2,7,9,24]", "resize", fmt::format("%x {{axes=[1,2], {}}}", arguments));
}

TEST(Fused, PlacesBetweenElements) {
  for (const char* x : {"f32[2,7,9,24]", "bf16[1,4,5,3]", "f32[3,6,5,1]"})
    for (const char* arguments :
         {"sizes=[14,18], mode=\"linear\"", "sizes=[5,23], mode=\"linear\", coordinates=\"align_corners\"",
          "sizes=[3,4], mode=\"linear\", antialias=1", "sizes=[17,11]"})
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : {} = input "x"
      %y = resize %x {{axes=[1,2], {}}}
      return %y as "y"
    }})",
                                       x, arguments),
                           {}, {}, "resize resize");
}

// Every format that gather and linear read, in the shapes of an embedding followed by its norm and a projection.
class FusedFormat : public testing::TestWithParam<std::string> {};

TEST_P(FusedFormat, GatherAddsAndLayerNorm) {
  Philox rng(11);
  const NamedTensors constants{{"table", random_packed(rng, {19, 72}, GetParam())}};
  expect_text_conforms(fmt::format(R"(graph g {{
      %ids : i64[2,5] = input "ids"
      %p : f32[1,5,72] = input "p"
      %t : {}[19,72] = const "table"
      %w : f32[72] = const "w"
      %c : f32[72] = const "c"
      %x = gather %t, %ids
      %y = add %x, %p
      %z = add %y, 0.125
      %n = layer_norm %z, %w, %c
      return %n as "n"
    }})",
                                   to_string(parse_format(GetParam()))),
                       constants);
}

TEST_P(FusedFormat, LinearWithBiasGeluAndResidualInBothActivationTypes) {
  Philox rng(12);
  const NamedTensors constants{{"w", random_packed(rng, {40, 72}, GetParam())}};
  for (const char* dtype : {"f32", "bf16"})
    for (int m : {1, 6, 35})
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : {1}[{2},72] = input "x"
      %r : f32[{2},40] = input "r"
      %w : {0}[40,72] = const "w"
      %b : f32[40] = const "b"
      %h = linear %x, %w, %b
      %g = gelu %h
      %y = add %g, %r
      return %y as "y"
    }})",
                                       to_string(parse_format(GetParam())), dtype, m),
                           constants);
}

INSTANTIATE_TEST_SUITE_P(Examples, FusedFormat, testing::ValuesIn(packed_examples()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace hone::test
