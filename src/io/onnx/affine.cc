#include "io/onnx/affine.h"

#include "base/checked.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/gather.h"
#include "ops/calls/quantize_linear.h"
#include "ops/calls/reduce.h"
#include "ops/rules.h"

namespace hone {
namespace {

// A vector along `axis` of x, as an operand that broadcasts to x; one element as a scalar.
ValueId along_axis(const OnnxNode& n, ValueId vector, size_t rank, int64_t axis) {
  if (vector == kNone || n.rank(vector) == 0) return vector;
  if (n.rank(vector) != 1)
    fail("a scale or zero point is {}; expected at most one dimension, or a block size", to_string(n.type(vector)));
  const Dim length = n.shape(vector, 1)[0];
  if (length == Dim(1)) return n.reshape(vector, {});
  Shape shape(rank - checked_axis(axis, rank), 1);
  shape[0] = length;
  return n.reshape(vector, shape);
}

// Whole blocks: x [..,K,..] is seen as [..,K/block,block,..], and a scale [..,K/block,..] as [..,K/block,1,..].
struct Blocks {
  size_t axis;
  Shape x;
};

Blocks blocks_of(const OnnxNode& n, const AffineCodes& codes) {
  Shape shape = n.shape(codes.x);
  const size_t axis = checked_axis(codes.axis, shape.size());
  shape[axis] = codes.block_size;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), n.shape(codes.scale, n.rank(codes.x))[axis]);
  return {axis, std::move(shape)};
}

ValueId per_block(const OnnxNode& n, ValueId scale, size_t axis) {
  if (scale == kNone) return kNone;
  Shape shape = n.shape(scale);
  if (axis >= shape.size()) fail("a scale or zero point is {}; expected one for each block", to_string(n.type(scale)));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  return n.reshape(scale, shape);
}

// The last block is cut: one scale for each place along the axis.
ValueId repeated(const OnnxNode& n, ValueId scale, size_t axis, int64_t length, int64_t block_size) {
  if (scale == kNone) return kNone;
  Tensor block(DType::i64, {length});
  const std::span<int64_t> blocks = block.mutable_as<int64_t>();
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<int64_t>(i) / block_size;
  return ops::gather(n, {.table = scale, .indices = n.constant(std::move(block)), .axis = static_cast<int64_t>(axis)});
}

// A scale of codes is no weight that stays what the file has: known ones are constants, whatever moved them.
ValueId settled(const OnnxNode& n, ValueId v) {
  if (v == kNone || n.graph().constant(v)) return v;
  const Tensor* known = n.constant(v);
  return known ? n.constant(*known) : v;
}

// Calls use(x, scale, zero) with operands that broadcast; its result has x's shape.
template <class Use>
ValueId aligned(const OnnxNode& n, const AffineCodes& codes, Use use) {
  const auto apply = [&](ValueId x, ValueId scale, ValueId zero) {
    return use(x, settled(n, scale), settled(n, zero));
  };
  const size_t rank = n.rank(codes.x);
  const auto vector = [&](ValueId v) { return along_axis(n, v, rank, codes.axis); };
  checked_range(codes.block_size, 0, int64_t{1} << 31, "block_size");
  if (codes.block_size == 0) return apply(codes.x, vector(codes.scale), vector(codes.zero));
  if (n.rank(codes.scale) != rank)
    fail("with a block size, scale is {}; expected {} dimensions", to_string(n.type(codes.scale)), rank);
  if (codes.zero != kNone && n.rank(codes.zero) != rank)
    fail("with a block size, zero point is {}; expected {} dimensions", to_string(n.type(codes.zero)), rank);
  const Shape shape = n.shape(codes.x);
  const Blocks blocks = blocks_of(n, codes);
  const Dim &length = shape[blocks.axis], covered = blocks.x[blocks.axis] * codes.block_size;
  if (length != covered && length.is_constant() && covered.is_constant()) {
    const auto each = [&](ValueId v) { return repeated(n, v, blocks.axis, length.constant(), codes.block_size); };
    return apply(codes.x, each(codes.scale), each(codes.zero));
  }
  const ValueId result = apply(n.reshape(codes.x, blocks.x), per_block(n, codes.scale, blocks.axis),
                               per_block(n, codes.zero, blocks.axis));
  return n.reshape(result, shape);
}

}  // namespace

ValueId dequantized(const OnnxNode& n, const AffineCodes& codes, DType dtype) {
  return aligned(n, codes, [&](ValueId x, ValueId scale, ValueId zero) {
    return ops::dequantize_linear(n, {.x = x, .scale = scale, .zero_point = zero, .dtype = dtype});
  });
}

ValueId quantized(const OnnxNode& n, const AffineCodes& codes, DType dtype, bool saturate) {
  if (!small_float(dtype)) saturate = true;  // integers always do
  return aligned(n, codes, [&](ValueId x, ValueId scale, ValueId zero) {
    const DType precision = n.type(scale).dtype;
    if (!saturate || precision != DType::f32) {
      x = ops::div(n, {n.cast(x, precision), scale});
      scale = n.scalar(1, DType::f32);
    }
    if (!saturate) return ops::cast_unsaturated(n, {.x = x, .dtype = dtype});
    return ops::quantize_linear(n, {.x = x, .scale = scale, .zero_point = zero, .dtype = dtype});
  });
}

// A tensor of zeros has scale 1, which any would do for; its quotients stay numbers.
AffineCodes quantized_dynamically(const OnnxNode& n, ValueId x) {
  const ValueId none = n.scalar(0, DType::f32);
  const Attributes all{{"keepdims", int64_t{0}}};
  const ValueId low = ops::min(n, {n.emit({&reduce_min_def, {x}, all}), none}),
                high = ops::max(n, {n.emit({&reduce_max_def, {x}, all}), none});
  const ValueId step = ops::div(n, {ops::sub(n, {high, low}), n.scalar(255, DType::f32)});
  const ValueId scale =
      ops::where(n, {.condition = ops::equal(n, {step, none}), .a = n.scalar(1, DType::f32), .b = step});
  const Attributes to_u8{{"dtype", DType::u8}};
  const ValueId zero = n.emit({&quantize_linear_def, {ops::neg(n, {low}), scale}, to_u8});
  return {n.emit({&quantize_linear_def, {x, scale, zero}, to_u8}), scale, zero};
}

}  // namespace hone
