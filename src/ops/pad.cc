// pad: a tensor with a border of one value, or of its own elements, around it.
#include <algorithm>
#include <numeric>

#include "base/memory_limit.h"
#include "ops/elements.h"
#include "ops/moves.h"
#include "ops/read_positions.h"
#include "ops/rules.h"
#include "ops/transposed.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"pads", AttributeKind::shape, false,
     "positions before each axis, then positions after each; negative ones cut; here or as the third operand"},
    {"axes", AttributeKind::integers, false, "axes that are padded, here or as the fourth operand; default: all"},
    {"mode", AttributeKind::string, false,
     "constant (default), edge (the nearest element), reflect (mirrored, the edge once), wrap (from the other end)"},
};

// None where they are computed.
std::optional<std::vector<size_t>> padded_axes(const auto& a, size_t rank) {
  if (a.attributes.has("axes") || a.has(3)) {
    const std::optional<std::vector<int64_t>> axes = axes_argument(a, 3);
    return axes ? std::optional(checked_axes(*axes, rank)) : std::nullopt;
  }
  std::vector<size_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string mode_of(const Attributes& attributes) {
  const std::string mode = attributes.get_or<std::string>("mode", "constant");
  for (const char* known : {"constant", "edge", "reflect", "wrap"})
    if (mode == known) return mode;
  fail("mode {} is unknown; accepted: constant, edge, reflect, wrap", mode);
}

std::vector<TensorType> infer_pad(const InferArgs& a) {
  mode_of(a.attributes);
  if (a.has(1) && a[1].dtype != a[0].dtype)
    fail("the value is {}; its element type must be that of x, {}", to_string(a[1]), to_string(a[0].dtype));
  if (a.has(1)) expect_rank(a[1], 0, 0, "the value");
  const std::optional<std::vector<size_t>> axes = padded_axes(a, a[0].rank());
  const std::optional<Shape> pads = dims_argument(a, 2, "pads");
  if (!axes) return {type_of_rank(a[0].dtype, a[0].rank())};
  if (pads && pads->size() != 2 * axes->size()) fail("pads has {} values for {} axes", pads->size(), axes->size());
  Shape shape = a[0].shape;
  for (size_t i = 0; i < axes->size(); ++i) {
    Dim& dim = shape[(*axes)[i]];
    dim = pads ? dim + (*pads)[i] + (*pads)[i + axes->size()] : Dim::unknown();
    if (dim.is_constant() && dim.constant() < 0) fail("pads cut more from axis {} than it has", (*axes)[i]);
  }
  return {plain_type(a[0].dtype, shape)};
}

// Where position `i` of an axis of `length`, or of its border, is read; -1 for the value.
int64_t read_position(int64_t i, int64_t length, const std::string& mode) {
  if (i >= 0 && i < length) return i;
  if (mode == "constant") return -1;
  if (length == 0) fail("mode {} has no element to put into the border of an axis without elements", mode);
  if (mode == "edge") return std::clamp<int64_t>(i, 0, length - 1);
  const auto modulo = [](int64_t n, int64_t period) { return (n % period + period) % period; };
  if (mode == "wrap") return modulo(i, length);
  const int64_t folded = modulo(i, std::max<int64_t>(2 * (length - 1), 1));
  return std::min(folded, 2 * (length - 1) - folded);
}

// For each position of the padded axis the one that is read. Negative pads cut first; what they leave is padded.
std::vector<int64_t> read_positions(int64_t length, int64_t before, int64_t after, const std::string& mode) {
  const auto cut_by = [](int64_t pad) { return pad < 0 ? checked_sub(0, pad) : 0; };
  const int64_t cut = cut_by(before), left = checked_sub(checked_sub(length, cut), cut_by(after));
  if (left < 0) fail("pads of {} and {} cut more than the {} elements of an axis", before, after, length);
  require_memory(checked_mul(checked_add(left, checked_add(std::max<int64_t>(before, 0), std::max<int64_t>(after, 0))),
                             sizeof(int64_t)),
                 "the positions of a pad");
  std::vector<int64_t> positions;
  for (int64_t i = -std::max<int64_t>(before, 0); i < left + std::max<int64_t>(after, 0); ++i) {
    const int64_t position = read_position(i, left, mode);
    positions.push_back(position < 0 ? -1 : position + cut);
  }
  return positions;
}

}  // namespace

std::vector<std::vector<int64_t>> padded_positions(const EvalArgs& a, const std::vector<int64_t>& shape) {
  const std::vector<int64_t> pads = integers_argument(a, 2, "pads");
  const std::vector<size_t> axes = padded_axes(a, shape.size()).value();
  const std::string mode = mode_of(a.attributes);
  std::vector<std::vector<int64_t>> positions;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto padded = static_cast<size_t>(std::find(axes.begin(), axes.end(), d) - axes.begin());
    const bool pads_axis = padded < axes.size();
    positions.push_back(
        read_positions(shape[d], pads_axis ? pads[padded] : 0, pads_axis ? pads[padded + axes.size()] : 0, mode));
  }
  return positions;
}

namespace {

std::vector<Tensor> eval_pad(const EvalArgs& a) {
  const Tensor x = plain(a[0]), value = a.has(1) ? plain(a[1]) : Tensor(x.dtype(), {});
  require_memory(element_count(sizes_of(a.results[0])) * static_cast<int64_t>(2 * sizeof(int64_t)),
                 "the positions of a pad");
  const std::vector<int64_t> sizes = sizes_of(a.results[0]), strides = strides_of(x.shape());
  const std::vector<std::vector<int64_t>> positions = padded_positions(a, x.shape());
  std::vector<int64_t> offsets = {0};  // in x, of the result's elements over the axes so far; -1 for the value
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> longer;
    check_stop();
    for (int64_t offset : offsets)
      for (int64_t read : positions[d]) longer.push_back(offset < 0 || read < 0 ? -1 : offset + read * strides[d]);
    offsets = std::move(longer);
  }
  ElementWriter out(x.dtype(), sizes);
  for (int64_t offset : offsets) out.append(offset < 0 ? value : x, std::max<int64_t>(offset, 0));
  return {out.finish()};
}

std::optional<std::vector<Move>> pad_moves(const MoveArgs& a) {
  if (!a.are_known) return std::nullopt;
  std::vector<Stretches> axes;
  for (const std::vector<int64_t>& reads : padded_positions(a.given, a.shapes[0])) axes.push_back(stretches(reads));
  return one_move(std::move(axes));
}

}  // namespace

extern constinit const OpDef pad_def{
    .name = "pad",
    .doc =
        "x with a border around it, as NumPy's pad: of a value (a scalar, the second operand; default 0), or of its "
        "own elements. Negative pads cut.",
    .operands = {"x", optional("value"), computed("computed_pads"), computed("computed_axes")},
    .attributes = kAttributes,
    .infer = infer_pad,
    .eval = eval_pad,
    .transposed = transposed_on_axes,
    .moves = true,
    .move_map = pad_moves};

}  // namespace hone
