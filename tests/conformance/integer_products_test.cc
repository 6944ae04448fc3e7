// Layers whose activations are rounded to integers, from fake_quant to the last epilogue: compiled code has the bits of
// the reference on every level, and where bytes meet in a dot product that is emulated.
#include <array>
#include <cmath>

#include "ops/calls/fake_quant.h"
#include "ops/calls/linear.h"
#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

// The graph that codegen gets is what -O2 evaluates; in it, only gelu's exp is no exact rule of rounding.
void expect_same_bits(const std::string& text, const NamedTensors& constants, const NamedTensors& inputs,
                      const std::string& expected_step) {
  ParseContext context = op_context();
  context.find_constant = [&](const std::string& name, const TensorType&) { return std::optional(constants.at(name)); };
  const Graph graph = parse_graph(text, context);
  const std::vector<Tensor> want = evaluate(prepare_for_codegen(graph, Compute::f32), inputs);
  std::vector<X86Target> targets = target_levels();
  for (const X86Target& level : target_levels()) {
    targets.push_back(X86Target(level.features().with(Feature::vnni_emulated)));
    targets.push_back(with_emulated_tiles(level));
  }
  for (const X86Target& target : targets)
    for (int threads : {1, 2}) {
      const Ran ran = run_session(graph, inputs, {.device = x86_device(target), .threads = threads});
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(ran.outputs[i].same_bits(want[i])) << to_string(target) << " " << ran.names[i];
      if (want[0].elements() == 0) continue;  // without rows nothing is compiled
      std::string steps;
      for (const StepProfile& step : ran.profile.steps) steps += step.kind + " " + step.ops + "; ";
      EXPECT_NE(steps.find(expected_step), std::string::npos) << steps;
      EXPECT_EQ(steps.find("interpreted"), std::string::npos) << steps;
    }
}

TEST(IntegerProducts, OfDynamicScalesHaveTheBitsOfTheDefinition) {
  Philox rng(1);
  for (const char* format : {"int8", "int8.g1x0", "uint8", "uint8.asym", "uint8.g1x0.asym"})
    for (int64_t k : {33, 64, 130})
      for (int64_t m : {1, 3, 40}) {
        SCOPED_TRACE(fmt::format("{} {} {}", format, m, k));
        const std::string text = fmt::format(R"(
          %x : f32[2,{0},{1}] = input "x"
          %q = fake_quant %x {{format={2}}}
          %w : int8.channel[50,{1}] = const "w"
          %b : f32[50] = const "b"
          %y = linear %q, %w, %b
          %r = relu %y
          %v : int4.channel[7,{1}] = const "v"
          %z = linear %q, %v
          return %r as "r", %z as "z")",
                                             m, k, format);
        expect_same_bits(text,
                         {{"w", random_packed(rng, {50, k}, "int8.channel")},
                          {"v", random_packed(rng, {7, k}, "int4.channel")},
                          {"b", random_floats(rng, {50})}},
                         {{"x", random_floats(rng, {2, m, k}, DType::f32, -1, 3)}}, "gemm linear+dequantize_sums");
      }
}

// With everything that an epilogue takes, and rows and inputs that fill no tile.
TEST(IntegerProducts, OfBlocksHaveTheBitsOfTheDefinition) {
  Philox rng(3);
  for (const auto& [activations, weights] : {std::pair("mxint8", "mxint8"),
                                             {"mxint8", "mxint4"},
                                             {"mxint8", "int4.g128"},
                                             {"int8.g1x0", "int4.g32"},
                                             {"int8", "int8.g32.s=bf16"}})
    for (int64_t k : {33, 160})
      for (int64_t m : {0, 1, 40}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", activations, weights, m, k));
        const std::string text = fmt::format(R"(
          %x : f32[2,{0},{1}] = input "x"
          %q = fake_quant %x {{format={2}}}
          %w : {3}[50,{1}] = const "w"
          %b : f32[50] = const "b"
          %y = linear %q, %w, %b
          %r : f32[2,{0},50] = input "r"
          %a = relu %y
          %s = add %a, %r
          return %s as "s")",
                                             m, k, activations, weights);
        expect_same_bits(
            text, {{"w", random_packed(rng, {50, k}, weights)}, {"b", random_floats(rng, {50})}},
            {{"x", random_floats(rng, {2, m, k}, DType::f32, -1, 3)}, {"r", random_floats(rng, {2, m, 50})}},
            m == 0 ? "" : "block_gemm block_linear");
      }
}

// One program for all batches.
TEST(IntegerProducts, OfBlocksAreTheSameForSizesThatAreOpen) {
  Philox rng(4);
  const Tensor w = random_packed(rng, {50, 96}, "mxint8");
  ParseContext context = op_context();
  context.find_constant = [&](const std::string&, const TensorType&) { return std::optional(w); };
  const Graph graph = parse_graph(R"(
    %x : f32[B,96] = input "x"
    %q = fake_quant %x {format=mxint8}
    %w : mxint8[50,96] = const "w"
    %y = linear %q, %w
    return %y as "y")",
                                  context);
  for (int64_t m : {0, 1, 5, 140}) {
    const NamedTensors inputs{{"x", random_floats(rng, {m, 96})}};
    const std::vector<Tensor> want = evaluate(prepare_for_codegen(graph, Compute::f32), inputs);
    EXPECT_TRUE(run_session(graph, inputs, {.threads = 2}).outputs[0].same_bits(want[0])) << m;
  }
}

// The second layer's codes are made in the first one's epilogue.
TEST(IntegerProducts, OfStaticScalesAreQuantizedInTheEpilogueBefore) {
  Philox rng(2);
  for (const char* format : {"int8", "uint8.asym"}) {
    const bool has_zero = std::string_view(format).ends_with("asym");
    const std::string zero = has_zero ? "%z : f32[] = const \"zero\"\n" : "";
    const std::string text = fmt::format(R"(
      %x : f32[9,40] = input "x"
      %s : f32[] = const "scale"
      {1}
      %q = fake_quant %x, %s{2} {{format={0}}}
      %w : int8.channel[64,40] = const "w"
      %y = linear %q, %w
      %r = relu %y
      %p = fake_quant %r, %s{2} {{format={0}}}
      %v : int8.channel[24,64] = const "v"
      %t = linear %p, %v
      return %t as "t")",
                                         format, zero, has_zero ? ", %z" : "");
    expect_same_bits(text,
                     {{"w", random_packed(rng, {64, 40}, "int8.channel")},
                      {"v", random_packed(rng, {24, 64}, "int8.channel")},
                      {"scale", Tensor::scalar<float>(0.04f)},
                      {"zero", Tensor::scalar<float>(50)}},
                     {{"x", random_floats(rng, {9, 40}, DType::f32, -6, 6)}},
                     has_zero ? "gemm linear+dequantize_sums+relu+quantize_linear"
                              : "gemm linear+dequantize_sums+relu+quantize_linear+max");
  }
}

// Padding has the code of the zero point, also in lanes that are filled up; scales of outputs are one or many.
TEST(IntegerProducts, OfConvolutionsHaveTheBitsOfTheDefinition) {
  Philox rng(4);
  const std::array<std::string, 3> windows{"pads=[1,1,1,1]", "pads=[2,0,1,3], strides=[2,1]", "dilations=[2,2]"};
  size_t next = 0;
  for (const auto& [codes, zero] : {std::pair("u8", 0), {"u8", 3}, {"u8", 255}, {"i8", -128}, {"i8", 77}})
    for (const auto& [channels, groups] : {std::pair<int64_t, int64_t>{3, 1}, {8, 2}, {16, 1}, {17, 1}, {34, 34}}) {
      const std::string& window = windows[next++ % windows.size()];
      SCOPED_TRACE(fmt::format("{} {} {} in {}: {}", codes, zero, channels, groups, window));
      const bool is_signed = std::string_view(codes) == "i8";
      const DType dtype = is_signed ? DType::i8 : DType::u8;
      const Sizes64 weights{34, channels / groups, 3, 3};
      const std::string text = fmt::format(R"(
          %x : {0}[2,{1},9,7] = input "x"
          %s : f32[] = const "scale"
          %z : {0}[] = const "zero"
          %d = dequantize_linear %x, %s, %z {{dtype=f32}}
          %w : int8.channel[34,{2},3,3] = const "w"
          %b : f32[34] = const "b"
          %y = conv %d, %w, %b {{groups={3}, {4}}}
          %r = relu %y
          %q = quantize_linear %r, %s, %z {{dtype={0}}}
          return %q as "q")",
                                           codes, channels, channels / groups, groups, window);
      expect_same_bits(
          text,
          {{"w", random_packed(rng, weights, "int8.channel")},
           {"b", random_floats(rng, {34})},
           {"scale", Tensor::scalar<float>(0.04f)},
           {"zero", Tensor::from_doubles(dtype, {}, std::vector<double>{static_cast<double>(zero)})}},
          {{"x", random_integers(rng, {2, channels, 9, 7}, dtype, is_signed ? -128 : 0, is_signed ? 127 : 255)}},
          (channels == groups ? "window" : "conv") + std::string(" conv+dequantize_sums+add+relu+quantize_linear"));
    }
}

TEST(IntegerProducts, OfConvolutionsOfDynamicScalesHaveTheBitsOfTheDefinition) {
  Philox rng(5);
  for (const std::string format : {"int8", "uint8", "uint8.asym"}) {
    const std::string text = fmt::format(R"(
      %x : f32[2,6,5,8] = input "x"
      %q = fake_quant %x {{format={0}}}
      %w : int8.channel[5,72] = const "w"
      %y = conv %q, %w {{kernel_shape=[3,3], pads=[1,1,1,1], channels_last=1}}
      return %y as "y")",
                                         format);
    expect_same_bits(text, {{"w", random_packed(rng, {5, 72}, "int8.channel")}},
                     {{"x", random_floats(rng, {2, 6, 5, 8}, DType::f32, -1, 3)}}, "conv conv+dequantize_sums");
  }
}

// From a rounded input to the codes that the next layer reads, through one of each channel by itself.
TEST(IntegerProducts, OfDepthwiseConvolutionsKeepCodesBetweenLayers) {
  Philox rng(7);
  for (const char* format : {"int8", "uint8", "uint8.asym"}) {
    const bool has_zero = std::string_view(format).ends_with("asym");
    const std::string text = fmt::format(R"(
      %x : f32[2,20,9,7] = input "x"
      %s : f32[] = const "scale"
      %z : f32[] = const "zero"
      %p = fake_quant %x, %s{1} {{format={0}}}
      %v : int8.channel[20,1,3,3] = const "v"
      %d = conv %p, %v {{groups=20, pads=[1,1,1,1], strides=[2,1]}}
      %r = clip %d {{min=0, max=6}}
      %q = fake_quant %r, %s{1} {{format={0}}}
      %w : int8.channel[12,20,1,1] = const "w"
      %y = conv %q, %w
      return %y as "y")",
                                         format, has_zero ? ", %z" : "");
    expect_same_bits(text,
                     {{"v", random_packed(rng, {20, 1, 3, 3}, "int8.channel")},
                      {"w", random_packed(rng, {12, 20, 1, 1}, "int8.channel")},
                      {"scale", Tensor::scalar<float>(0.03f)},
                      {"zero", Tensor::scalar<float>(100)}},
                     {{"x", random_floats(rng, {2, 20, 9, 7}, DType::f32, -4, 4)}},
                     "window conv+dequantize_sums+clip+quantize_linear");
  }
}

// A chain of quantized layers, as exporters write it, keeps codes between its kernels and nothing else.
TEST(IntegerProducts, CodesGoThroughPoolsAndAdditions) {
  Philox rng(6);
  const std::string text = R"(
    %x : u8[1,8,12,12] = input "x"
    %s : f32[] = const "scale"
    %z : u8[] = const "zero"
    %d = dequantize_linear %x, %s, %z {dtype=f32}
    %w : int8.channel[8,8,3,3] = const "w"
    %y = conv %d, %w {pads=[1,1,1,1]}
    %q = quantize_linear %y, %s, %z {dtype=u8}
    %e = dequantize_linear %q, %s, %z {dtype=f32}
    %t = conv %e, %w {pads=[1,1,1,1]}
    %u = quantize_linear %t, %s, %z {dtype=u8}
    %f = dequantize_linear %u, %s, %z {dtype=f32}
    %a = add %f, %e
    %r = relu %a
    %p = quantize_linear %r, %s, %z {dtype=u8}
    %g = dequantize_linear %p, %s, %z {dtype=f32}
    %m = max_pool %g {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}
    %o = quantize_linear %m, %s, %z {dtype=u8}
    return %o as "o")";
  expect_same_bits(
      text,
      {{"w", random_packed(rng, {8, 8, 3, 3}, "int8.channel")},
       {"scale", Tensor::scalar<float>(0.03f)},
       {"zero", Tensor::scalar<uint8_t>(101)}},
      {{"x", random_integers(rng, {1, 8, 12, 12}, DType::u8, 0, 255)}},
      "conv conv+dequantize_sums+quantize_linear+dequantize_linear+add+relu+quantize_linear; window max_pool;");
}

// Rows are scaled each by itself: what else is in a batch changes no bit of one.
TEST(IntegerProducts, OfScalesOfRowsDoNotDependOnTheBatch) {
  Philox rng(3);
  const Tensor w = random_packed(rng, {40, 48}, "int8.channel"), x = random_floats(rng, {12, 48});
  Graph graph;
  const ValueId in = graph.add_input("x", {.dtype = DType::f32, .shape = {Dim::symbol("B"), 48}, .format = {}});
  const ValueId q = ops::fake_quant(graph, {.x = in, .format = parse_format("int8.g1x0")});
  graph.add_output(ops::linear(graph, {.x = q, .w = graph.add_constant("w", w)}), "y");
  const Tensor all = run_session(graph, {{"x", x}}, {}).outputs[0];
  for (int64_t i = 0; i < 12; ++i) {
    const Tensor row = take(x, {1, 48}, [&] {
      std::vector<int64_t> at(48);
      for (int64_t k = 0; k < 48; ++k) at[static_cast<size_t>(k)] = i * 48 + k;
      return at;
    }());
    const Tensor one = run_session(graph, {{"x", row}}, {}).outputs[0];
    for (size_t j = 0; j < 40; ++j) EXPECT_EQ(one.to_floats()[j], all.to_floats()[static_cast<size_t>(i) * 40 + j]);
  }
}

}  // namespace
}  // namespace hone::test
