// Packed constants as codes, scales and zero points that DequantizeLinear decodes to the same bits. A format's codes
// are numbers times a power of two; they are stored in the smallest ONNX type that holds those of this tensor exactly,
// and the power of two goes into the scale.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/float_bits.h"
#include "base/small_float.h"
#include "formats/zero_points.h"
#include "io/onnx/data_type.h"
#include "io/onnx/export_scope.h"
#include "io/onnx/packed_elements.h"
#include "ir/type.h"

namespace hone::onnx {
namespace {

using Sizes = std::vector<int64_t>;

// Where scales lie: one; one for each index along `axis` (block 0); or one for each `block` elements along it.
struct ScaleGrid {
  Sizes shape;
  int64_t axis = 0, block = 0;
  std::vector<int64_t> groups;  // of each scale, in row-major order
};

int64_t rounded_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

// FORMATS 3.4: groups are numbered line by line, the grouped axis last; tiles row by row of tiles.
ScaleGrid scale_grid(const Format& format, const Sizes& shape) {
  using Kind = Geometry::Kind;
  const Geometry& g = format.geometry;
  if (g.kind == Kind::none || g.kind == Kind::tensor || shape.empty()) return {.shape = {}, .groups = {0}};
  const auto rank = static_cast<int64_t>(shape.size());
  ScaleGrid grid{.axis = g.kind == Kind::tile ? rank - 1 : g.axis < 0 ? g.axis + rank : g.axis};
  const auto axis = static_cast<size_t>(grid.axis);
  if (g.kind == Kind::channel) {
    grid.shape = {shape[axis]};
    for (int64_t i = 0; i < shape[axis]; ++i) grid.groups.push_back(i);
    return grid;
  }
  grid.block = g.columns == 0 ? std::max<int64_t>(shape[axis], 1) : g.columns;
  grid.shape = shape;
  grid.shape[axis] = rounded_up(shape[axis], grid.block);
  const int64_t blocks = grid.shape[axis], count = element_count(grid.shape);
  int64_t inner = 1;
  for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t rows = rank > 1 && g.kind == Kind::tile ? shape[axis - 1] : 1;
  const int64_t tile_rows = g.kind != Kind::tile ? 1 : g.rows == 0 ? std::max<int64_t>(rows, 1) : g.rows;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t j = i / inner % blocks, line = i / inner / blocks * inner + i % inner;
    const int64_t tile_line = line / rows * rounded_up(rows, tile_rows) + line % rows / tile_rows;
    grid.groups.push_back(tile_line * blocks + j);
  }
  return grid;
}

// A type that codes may be stored in, and the opset whose DequantizeLinear reads it for scales of rank 0 and 1.
struct Storage {
  DType dtype;
  int since;
};
constexpr Storage kStorages[] = {{DType::i4, 21},     {DType::u4, 21},  {DType::f4e2m1, 23},
                                 {DType::i8, 13},     {DType::u8, 13},  {DType::f8e4m3fn, 19},
                                 {DType::f8e5m2, 19}, {DType::i16, 21}, {DType::u16, 21}};
constexpr int kBlocksSince = 21;

int bits_of(DType dtype) {
  if (is_integer(dtype)) return integer_bits(dtype);
  return dtype == DType::f4e2m1 ? 4 : 8;
}

bool holds(DType dtype, double value) {
  if (const SmallFloat* type = small_float(dtype)) {
    const auto f = static_cast<float>(value);
    const float read = decode_small_float(*type, encode_small_float(*type, f));
    return f == value &&
           (std::bit_cast<uint32_t>(read) == std::bit_cast<uint32_t>(f) || (std::isnan(f) && std::isnan(read)));
  }
  const int bits = integer_bits(dtype);
  const bool is_signed = dtype == DType::i4 || dtype == DType::i8 || dtype == DType::i16;
  const double low = is_signed ? -std::ldexp(1, bits - 1) : 0, high = std::ldexp(1, is_signed ? bits - 1 : bits) - 1;
  return value == std::trunc(value) && low <= value && value <= high && !(value == 0 && std::signbit(value));
}

// The exponent of the largest power of two that divides every number.
int unit_exponent(const std::vector<double>& values) {
  int least = 1100;
  for (double value : values) {
    if (value == 0 || !std::isfinite(value)) continue;
    int exponent = 0;
    const auto whole = static_cast<int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
    least = std::min(least, exponent - 53 + std::countr_zero(static_cast<uint64_t>(whole)));
  }
  return least == 1100 ? 0 : least;
}

struct Decoded {
  Tensor codes, scale;
  std::optional<Tensor> zero_point;
};

class PackedConstant {
 public:
  explicit PackedConstant(const Tensor& tensor)
      : tensor_(tensor),
        format_(*tensor.format()),
        codes_(codes_of(format_, tensor.shape(), tensor.planes())),
        grid_(scale_grid(format_, tensor.shape())) {
    // ONNX has neither sums of scales, nor minimums, nor groups that cross rows.
    if (format_.element.bits > 16 || scales_per_group(format_) > 1 ||
        format_.geometry.kind == Geometry::Kind::flattened)
      return;
    values_ = code_values(format_);
    std::vector<bool> is_used(values_.size(), false);
    for (uint32_t code : codes_) is_used[code] = true;
    for (uint32_t code = 0; code < is_used.size(); ++code)
      if (is_used[code]) used_.push_back(code);
  }

  const ScaleGrid& grid() const { return grid_; }

  // The codes in `dtype` where that decodes to the same bits. Which types are tried depends on the format alone, but
  // for the codes that only some tensors have. Integers have no -0.
  std::optional<Decoded> in(DType dtype) const {
    const bool is_float_format = format_.element.exponent_bits > 0, is_float_type = small_float(dtype) != nullptr;
    if (values_.empty() || is_float_format != is_float_type || bits_of(dtype) < format_.element.bits)
      return std::nullopt;
    const int exponent = small_float(dtype) ? 0 : unit_exponent(values_);
    for (uint32_t code : used_)
      if (!holds(dtype, std::ldexp(values_[code], -exponent))) return std::nullopt;
    std::optional<Decoded> result{{stored(dtype, exponent), scales(exponent), zero_points(dtype)}};
    if (!decodes_to_the_same_bits(*result)) result.reset();
    return result;
  }

 private:
  Tensor stored(DType dtype, int exponent) const {
    std::vector<double> table;
    for (double value : values_) table.push_back(std::ldexp(value, -exponent));
    std::vector<float> values;
    for (uint32_t code : codes_) values.push_back(static_cast<float>(table[code]));
    return Tensor::from_floats(dtype, tensor_.shape(), values);
  }

  Tensor scales(int exponent) const {
    const std::vector<double> stored =
        scale_values(format_, scale_codes_of(format_, tensor_.shape(), tensor_.planes()));
    const std::vector<uint32_t> outer = outer_codes_of(format_, tensor_.shape(), tensor_.planes());
    const PackedLayout layout = packed_layout(format_, tensor_.shape());
    float global = 1;
    if (outer.empty() && tensor_.global().size() > 0)
      std::memcpy(&global, tensor_.global().bytes().data(), sizeof global);
    std::vector<float> values;
    for (int64_t group : grid_.groups) {
      const double scale = stored.empty() ? 1 : stored[static_cast<size_t>(group)];
      const float of_group =
          outer.empty() ? global
                        : f16_to_f32(static_cast<uint16_t>(outer[static_cast<size_t>(layout.super_of(group))]));
      values.push_back(std::ldexp(static_cast<float>(scale * of_group), exponent));
    }
    return Tensor::of<float>(grid_.shape, values);
  }

  std::optional<Tensor> zero_points(DType dtype) const {
    const std::vector<uint32_t> zeros = zero_points_of(format_, tensor_.planes());
    if (zeros.empty()) return std::nullopt;
    std::vector<float> values;
    for (int64_t group : grid_.groups) values.push_back(static_cast<float>(zeros[static_cast<size_t>(group)]));
    return Tensor::from_floats(dtype, grid_.shape, values);
  }

  // Of the element at `index`, in the grid.
  size_t place(int64_t index) const {
    if (grid_.shape.empty()) return 0;
    int64_t inner = 1;
    for (size_t i = static_cast<size_t>(grid_.axis) + 1; i < tensor_.shape().size(); ++i) inner *= tensor_.shape()[i];
    const int64_t length = tensor_.dim(static_cast<int>(grid_.axis)), at = index / inner % length;
    if (grid_.block == 0) return static_cast<size_t>(at);
    const int64_t blocks = rounded_up(length, grid_.block);
    return static_cast<size_t>((index / inner / length * blocks + at / grid_.block) * inner + index % inner);
  }

  bool decodes_to_the_same_bits(const Decoded& d) const {
    const std::vector<float> codes = d.codes.to_floats(), scale = d.scale.to_floats(),
                             zero = d.zero_point ? d.zero_point->to_floats() : std::vector<float>(scale.size(), 0.0f),
                             wanted = tensor_.to_floats();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const size_t at = place(static_cast<int64_t>(i));
      const float got = (d.zero_point ? codes[i] - zero[at] : codes[i]) * scale[at];
      if (std::bit_cast<uint32_t>(got) != std::bit_cast<uint32_t>(wanted[i]) &&
          !(std::isnan(got) && std::isnan(wanted[i])))
        return false;
    }
    return true;
  }

  const Tensor& tensor_;
  const Format& format_;
  const std::vector<uint32_t> codes_;
  const ScaleGrid grid_;
  std::vector<double> values_;  // of every code
  std::vector<uint32_t> used_;  // codes, each once
};

// A format of about the same width that ONNX holds.
std::string nearest(const ElementParams& element) {
  if (element.exponent_bits == 0) return element.bits > 8 ? "int16" : "int8";
  if (element.bits > 8) return "fp16 or bf16";
  return element.exponent_bits > 4 ? "fp8_e5m2" : "fp8_e4m3";
}

std::string text_of(const Decoded& decoded, const ScaleGrid& grid) {
  const std::string codes(data_type_name(data_type_of(decoded.codes.dtype())));
  const std::string scales = grid.shape.empty() ? "one scale"
                             : grid.block == 0  ? fmt::format("scale per index of axis {}", grid.axis)
                                                : fmt::format("scale per {} along axis {}", grid.block, grid.axis);
  return fmt::format("{}, {}{}", codes, scales, decoded.zero_point ? ", zero point" : "");
}

int64_t stored_bytes(const Tensor& tensor) { return packed_bytes(tensor.dtype(), tensor.elements()); }

std::string write_decoded(ExportScope& scope, const Decoded& decoded, const ScaleGrid& grid, const std::string& label) {
  Names inputs{scope.add_initializer(decoded.codes, label), scope.add_initializer(decoded.scale, label + ".scale")};
  if (decoded.zero_point) inputs.push_back(scope.add_initializer(*decoded.zero_point, label + ".zero_point"));
  Attributes attributes;
  if (!grid.shape.empty()) attributes.set("axis", grid.axis);
  if (grid.block > 0) attributes.set("block_size", grid.block);
  const std::string name = scope.context().unique(label + ".decoded");
  scope.add_node("DequantizeLinear", inputs, {name}, attributes);
  return name;
}

void note_format(ExportContext& context, const Tensor& tensor, const Decoded& decoded, const ScaleGrid& grid) {
  const std::string format = to_string(*tensor.format()), written = text_of(decoded, grid);
  ExportedFormat& entry = context.formats[format + " " + written];
  entry.format = format, entry.written = written;
  ++entry.constants;
  entry.packed_bytes += tensor.bytes();
  entry.bytes += stored_bytes(decoded.codes) + decoded.scale.bytes();
  if (decoded.zero_point) entry.bytes += stored_bytes(*decoded.zero_point);
}

}  // namespace

std::string packed_constant(ExportScope& scope, const Tensor& tensor, const std::string& label) {
  const PackedConstant constant(tensor);
  const ScaleGrid& grid = constant.grid();
  std::string too_new;
  for (const Storage& storage : kStorages) {
    const std::optional<Decoded> decoded = constant.in(storage.dtype);
    if (!decoded) continue;
    const int since = grid.block > 0 ? std::max(storage.since, kBlocksSince) : storage.since;
    try {
      scope.context().need(since, text_of(*decoded, grid));
    } catch (const NotInOnnx& reason) {  // a wider type may do
      if (too_new.empty()) too_new = reason.what();
      continue;
    }
    note_format(scope.context(), tensor, *decoded, grid);
    return write_decoded(scope, *decoded, grid, label);
  }
  if (!too_new.empty()) throw NotInOnnx(too_new);
  not_in_onnx("no type of ONNX decodes to the same numbers; the nearest format that fits: {}",
              nearest(tensor.format()->element));
}

}  // namespace hone::onnx
