#include "kernels/quantize/spans.h"

#include "formats/codecs.h"
#include "formats/packed.h"
#include "formats/scale.h"
#include "kernels/quantize/programs.h"

namespace hone {
namespace {

using Kind = Geometry::Kind;

}  // namespace

QuantizeSpans quantize_spans(const Format& format) {
  switch (format.geometry.kind) {
    case Kind::none:
    case Kind::tensor:
      return QuantizeSpans::whole;
    case Kind::channel:
      return QuantizeSpans::lines;
    case Kind::group:
    case Kind::flattened:
      return QuantizeSpans::groups;
    case Kind::tile:
      break;
  }
  CHECK(false, "{} has tiles", to_string(format));
}

Support quantize_support(const Format& format) {
  if (is_two_level(format)) return {fmt::format("{} has scales of scales", to_string(format))};
  if (format.geometry.kind == Kind::tile) return {fmt::format("{} has tiles of scales", to_string(format))};
  if (quantize_spans(format) == QuantizeSpans::whole && quantize_programs(format).scales.size() > 1)
    return {fmt::format("{} compares scales over a whole tensor", to_string(format))};
  return {};
}

bool packs_in_f32(const Format& format) {
  const ElementParams& element = format.element;
  const bool is_integer = format.codec == &int_codec && element.bits == 8 && element.is_signed && element.symmetric &&
                          element.fraction_bits == 6 && !element.round_floor;
  const bool is_power =
      format.scale_kind == &pow2_scale && format.scale.bits == 8 && format.scale.rule == ScaleRule::floor;
  return is_integer && is_power && quantize_spans(format) == QuantizeSpans::groups;
}

QuantizeStages quantize_stages(const Format& format) {
  const QuantizePrograms p = quantize_programs(format);
  QuantizeStages stages;
  if (quantize_spans(format) != QuantizeSpans::whole) stages.count = p.has_global;
  else
    for (size_t first = 0; first < p.reductions.size(); ++stages.count) first = p.end_of_stage(first);
  if (stages.count > 0) stages.part_bytes = (std::ssize(p.reductions) + 1) * static_cast<int64_t>(sizeof(double));
  return stages;
}

Support quantize_args(const Format& format, std::span<const int64_t> shape, QuantizeArgs& args) {
  if (const Support support = quantize_support(format); !support.supported()) return support;
  const std::string name = to_string(format);
  const PackedLayout p = packed_layout(format, shape);
  const int64_t elems = element_count(std::vector(shape.begin(), shape.end()));
  args = {.lines = 1, .length = elems};
  if (elems == 0) return {};
  const int64_t rank = std::max<int64_t>(1, std::ssize(shape));
  const int64_t axis = format.geometry.axis < 0 ? format.geometry.axis + rank : format.geometry.axis;
  int64_t inner = 1;
  for (int64_t a = axis + 1; a < rank; ++a) inner *= shape[static_cast<size_t>(a)];
  switch (format.geometry.kind) {
    case Kind::channel:
      args.lines = p.lines;
      args.length = args.line_stride = inner;
      args.stretches = elems / (p.lines * inner);
      args.stretch_stride = p.lines * inner;
      if (inner == 1 && args.stretches > 1) return {fmt::format("{}: channels along the last axis", name)};
      break;
    case Kind::group:
      if (inner != 1) return {fmt::format("{}: groups along another axis than the last", name)};
      [[fallthrough]];
    case Kind::flattened:
      args.lines = p.lines, args.length = args.line_stride = p.line_elems;
      args.groups_per_line = p.groups_per_line;
      break;
    default:
      break;
  }
  return {};
}

Support pack_support(const Format& format, std::span<const int64_t> shape) {
  if (const Support support = quantize_support(format); !support.supported()) return support;
  if (zero_needs_another_code(format) && !is_residual(format))
    return {fmt::format("{} has padding that is not what zero is rounded to", to_string(format))};
  if (format.geometry.kind == Geometry::Kind::flattened)
    return {fmt::format("{} has groups that cross rows", to_string(format))};
  const PackedLayout p = packed_layout(format, shape);
  if (p.groups_per_line > 1 && p.padded_elems / p.groups_per_line * (format.element.bits / p.code_planes) % 8 != 0)
    return {fmt::format("groups of {} do not start on a byte", to_string(format))};
  if (element_count(std::vector(shape.begin(), shape.end())) == 0) return {"there are no elements"};
  return {};
}

std::string name_of_lines(Format format) {
  if (format.geometry.kind == Geometry::Kind::channel) format.geometry.axis = 0;
  if (format.geometry.kind == Geometry::Kind::group) format.geometry.axis = -1;
  return to_string(format);
}

QuantizeArgs pack_args(const Format& format, const PackedLayout& p) {
  QuantizeArgs args{.lines = p.lines,
                    .length = p.line_elems,
                    .line_stride = p.line_elems,
                    .groups_per_line = std::max<int64_t>(1, p.groups_per_line),
                    .line_bytes = p.line_bytes,
                    .plane_bytes = p.padded_lines * p.line_bytes};
  // Lines of whole groups follow each other like the groups of one line.
  const int bits = format.element.bits / p.code_planes;
  if (format.geometry.kind == Geometry::Kind::group && p.padded_elems == p.line_elems && p.group_elems * bits % 8 == 0)
    args.lines = 1, args.length = p.lines * p.line_elems, args.groups_per_line = p.groups;
  return args;
}

}  // namespace hone
