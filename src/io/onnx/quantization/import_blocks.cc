// Weights of com.microsoft that hold several codes in a byte, with a scale for each block of them: MatMulNBits,
// GatherBlockQuantized. Unpacked to a byte a code; recognise_packed (passes/) makes a packed constant of what is left.
#include <algorithm>

#include "base/checked.h"
#include "io/onnx/affine.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"

namespace hone {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";

int checked_bits(const OnnxNode& n, int64_t bits) {
  if (bits != 2 && bits != 4 && bits != 8) n.unsupported(fmt::format("{} bits; supported: 2, 4, 8", bits));
  return static_cast<int>(bits);
}

// The codes of each row of bytes, the first in the lowest bits; `columns` of them are kept.
Tensor unpacked_rows(const Tensor& bytes, int bits, int64_t rows, int64_t columns) {
  const int64_t row_bytes = rows == 0 ? 0 : bytes.elements() / rows, per_byte = 8 / bits;
  if (bytes.dtype() != DType::u8 || row_bytes < columns / per_byte + (columns % per_byte != 0))
    fail("packed codes are {}; expected u8 with {} codes of {} bits for each of {} rows", to_string(bytes.type()),
         columns, bits, rows);
  const std::span<const uint8_t> from = bytes.as<uint8_t>();
  Tensor codes(DType::u8, {rows, columns});
  const std::span<uint8_t> to = codes.mutable_as<uint8_t>();
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t row = i / columns, column = i % columns;
    const int byte = from[static_cast<size_t>(row * row_bytes + column / per_byte)];
    to[static_cast<size_t>(i)] = static_cast<uint8_t>(byte >> column % per_byte * bits & ((1 << bits) - 1));
  }
  return codes;
}

const Tensor& known(const OnnxNode& n, int input, const char* what) {
  const Tensor* tensor = n.plain_constant(n.in(input));
  if (!tensor) n.unsupported(fmt::format("{} that are computed; supported: an initializer", what));
  return *tensor;
}

Tensor middle_of_range(int bits, int64_t rows, int64_t blocks) {
  Tensor zeros(DType::u8, {rows, blocks});
  std::ranges::fill(zeros.mutable_as<uint8_t>(), static_cast<uint8_t>(1 << (bits - 1)));
  return zeros;
}

// Under the name of the constant that it is made from.
ValueId derived(const OnnxNode& n, int input, Tensor value) {
  const std::string& label = n.graph().value(n.in(input)).label;
  return n.constant(std::move(value), label.empty() ? "" : label + ".codes");
}

int64_t blocks_in(int64_t columns, int64_t block) { return columns / block + (columns % block != 0); }

// Codes [rows,columns] in blocks along the columns, as f32. Zero points at input `zero` are floats, or packed like the
// codes, or in the middle of the range.
ValueId weights(const OnnxNode& n, int codes, int scales, int zero, int bits, int64_t rows, int64_t columns,
                int64_t block) {
  const int64_t blocks = blocks_in(columns, block);
  AffineCodes found{.x = derived(n, codes, unpacked_rows(known(n, codes, "codes"), bits, rows, columns)),
                    .scale = n.cast(n.reshape(n.in(scales), {rows, blocks}), DType::f32),
                    .axis = 1,
                    .block_size = block};
  if (!n.has(zero)) found.zero = n.constant(middle_of_range(bits, rows, blocks));
  else if (is_float(n.type(n.in(zero)).dtype)) found.zero = n.cast(n.reshape(n.in(zero), {rows, blocks}), DType::f32);
  else found.zero = derived(n, zero, unpacked_rows(known(n, zero, "zero points"), bits, rows, blocks));
  return dequantized(n, found, DType::f32);
}

std::vector<ValueId> import_matmul_nbits(OnnxNode& n) {
  if (n.has(4)) n.unsupported("g_idx, which orders columns by group");
  const int bits = checked_bits(n, n.integer("bits", 4));
  const int64_t rows = n.count("N"), columns = n.count("K"), block = n.count("block_size");
  if (block * bits % 8 != 0) fail("block_size is {}; accepted with {} bits: multiples of {}", block, bits, 8 / bits);
  const int64_t blocks = blocks_in(columns, block);
  // Each row of codes covers whole blocks.
  const Tensor& codes = known(n, 1, "codes");
  if (codes.elements() != checked_mul(checked_mul(rows, blocks), block * bits / 8))
    fail("the codes are {}; expected {} rows of {} blocks of {} codes of {} bits", to_string(codes.type()), rows,
         blocks, block, bits);
  const ValueId w = weights(n, 1, 2, 3, bits, rows, columns, block);
  const DType dtype = n.type(n.in(0)).dtype;
  return {n.cast(ops::linear(n, {.x = n.in(0), .w = w, .b = n.in_or_none(5)}), dtype)};
}

std::vector<ValueId> import_gather_block_quantized(OnnxNode& n) {
  const ValueId data = n.in(0), scale = n.in(2);
  const size_t rank = n.rank(data);
  const int64_t axis = n.integer("quantize_axis", 1), block = n.count("block_size", 128);
  checked_axis(axis, rank);
  const Attributes along{{"axis", n.integer("gather_axis", 0)}};
  ValueId table;
  if (n.type(data).dtype != DType::u8) {
    table = dequantized(n, {data, n.cast(scale, DType::f32), n.in_or_none(3), axis, block}, DType::f32);
  } else {
    if (axis != static_cast<int64_t>(rank) - 1 && axis != -1)
      n.unsupported(fmt::format("quantize_axis {} of bytes; supported: the last", axis));
    const int bits = checked_bits(n, n.integer("bits", 4));
    Shape shape = n.shape(data);
    shape.back() = shape.back() * (8 / bits);
    if (!is_constant(shape)) n.unsupported("data that are computed; supported: an initializer");
    const std::vector<int64_t> sizes = constant_shape(shape);
    const int64_t columns = sizes.back(), rows = checked_product(std::span(sizes).first(sizes.size() - 1));
    if (rows == 0 || columns == 0) fail("the data are {}; expected codes", to_string(n.type(data)));
    table = n.reshape(weights(n, 0, 2, 3, bits, rows, columns, block), shape);
  }
  return {n.cast(n.emit({&gather_def, {table, n.in(1)}, along}), n.type(scale).dtype)};
}

constexpr OnnxOperator kOperators[] = {
    {"GatherBlockQuantized", 1, import_gather_block_quantized, kMicrosoft},
    {"MatMulNBits", 1, import_matmul_nbits, kMicrosoft},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_block_quantized_def{.name = "block_quantized", .operators = kOperators};

}  // namespace hone
