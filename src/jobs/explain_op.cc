#include "jobs/explain_op.h"

#include <charconv>
#include <limits>

#include "formats/packed.h"
#include "ops/calls/cast.h"
#include "ops/calls/quantize.h"

namespace hone {
namespace {

std::vector<std::string> result_types() { return {"f32", "bf16"}; }

constexpr OptionField<DequantizeFlags> kFields[] = {
    flag("shape", "With --op: rows,columns", &DequantizeFlags::shape, {.only_with = "op"}),
    flag("format", "With --op: number format of the codes", &DequantizeFlags::format, {.only_with = "op"}),
    flag("type", "With --op: type of the result", &DequantizeFlags::type,
         {.choices = result_types, .only_with = "op"})};

}  // namespace

std::span<const OptionField<DequantizeFlags>> DequantizeFlags::fields() { return kFields; }

DequantizeOptions DequantizeFlags::dequantize() const {
  return {.shape = parse_matrix_shape(shape),
          .format = parse_format(format),
          .type = type == "bf16" ? DType::bf16 : DType::f32};
}

std::array<int64_t, 2> parse_matrix_shape(const std::string& text) {
  std::array<int64_t, 2> shape{};
  const char *at = text.data(), *const end = at + text.size();
  for (size_t i = 0; i < 2; ++i) {
    const auto [after, error] = std::from_chars(at, end, shape[i]);
    const bool ends = i == 1 ? after == end : after != end && *after == ',';
    if (error != std::errc() || !ends || shape[i] < 1)
      fail("--shape {}: expected two sizes of 1 or more: rows,columns, as 4096,14336", text);
    at = after + (i < 1);
  }
  if (shape[0] > std::numeric_limits<int64_t>::max() / 16 / shape[1])
    fail("--shape {}: the matrix is too large for any memory", text);
  return shape;
}

void refuse_without_codes(const char* flag, const Format& format) {
  if (is_plain_float(format) || is_fake_only(format))
    fail("--{} {}: it has no codes; accepted: packed formats (hone formats), e.g. mxint8", flag, to_string(format));
}

Model dequantize_model(const DequantizeOptions& options) {
  refuse_without_codes("format", options.format);
  plane_bytes(options.format, options.shape);  // refuses shapes that have none
  Model model;
  model.path = model.name = "dequantize";
  Graph& g = model.graph;
  g.name = "dequantize";
  const ValueId codes = g.add_input(
      "codes",
      {.dtype = DType::f32, .shape = {Dim(options.shape[0]), Dim(options.shape[1])}, .format = options.format});
  ValueId y = ops::dequantize(g, {.x = codes});
  if (options.type != DType::f32) y = ops::cast(g, {.x = y, .dtype = options.type});
  g.add_output(y, "y");
  return model;
}

}  // namespace hone
