// Graphs that look at windows of images and lines: depthwise convolutions, pools, reductions over axes.
#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

TEST(Windows, DepthwiseConvolutionWithBiasActivationAndResidual) {
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

TEST(Windows, StridedAndPackedDepthwiseConvolutions) {
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

TEST(Windows, ConvolutionAlongALineWithDilation) {
  expect_text_conforms(R"(graph g {
      %x : f32[2,30,20] = input "x"
      %w : f32[20,3] = const "w"
      %y = conv %x, %w {channels_last=1, kernel_shape=[3], pads=[4,0], dilations=[2], groups=20}
      return %y as "y"
    })",
                       {}, {}, "window conv");
}

TEST(Windows, PoolsWithPaddingAndCeilMode) {
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

TEST(Windows, ReductionsOverAnyNeighbouringAxes) {
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
                             {}, {}, (last ? "row tanh+" : "columns tanh+") + std::string(op));
      }
}

}  // namespace
}  // namespace hone::test
