// A weight that a file stores as codes, scales and zero points:
//   dequantize_linear(codes, scale [, zero_point])   scale: one, or one for each index of an axis
//   reshape(dequantize_linear(codes [..,K/B,B,..], scale [..,K/B,1,..]), [..,K,..])   blocks of B along an axis
// becomes one packed constant. The format is made up from the codes that are there; a weight for which none decodes to
// the same bits stays.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "base/stop.h"
#include "base/threads.h"
#include "ops/elements.h"
#include "ops/evaluate.h"
#include "ops/registry.h"
#include "passes/captures.h"
#include "passes/match.h"
#include "passes/packed_transpose.h"
#include "passes/pass.h"
#include "passes/permutation.h"

namespace hone {
namespace {

// A plain constant, or one seen in another shape; none for other values.
std::optional<Tensor> known_tensor(const Graph& graph, ValueId id) {
  const NodeId reshape = produced_by(graph, id, "reshape");
  const Tensor* tensor = graph.constant(reshape == kNone ? id : graph.operand(reshape, 0));
  if (!tensor || tensor->is_packed() || !is_constant(graph.type(id).shape)) return std::nullopt;
  return tensor->reshaped(constant_shape(graph.type(id).shape));
}

// The small floats that formats have codes of.
const char* float_head(DType dtype) {
  if (dtype == DType::f8e4m3fn) return "fp8_e4m3";
  if (dtype == DType::f8e5m2) return "fp8_e5m2";
  return dtype == DType::f4e2m1 ? "fp4" : nullptr;
}

struct Affine {
  Tensor codes, scale;
  std::optional<Tensor> zero_point;
};

std::optional<Affine> affine_constants(const Graph& graph, const Node& node) {
  const std::optional<Tensor> codes = known_tensor(graph, node.operands[0]),
                              scale = known_tensor(graph, node.operands[1]);
  if (!codes || !scale || !(is_integer(codes->dtype()) || float_head(codes->dtype()))) return std::nullopt;
  if (node.operands.size() < 3 || node.operands[2] == kNone) return Affine{*codes, *scale, {}};
  const std::optional<Tensor> zero_point = known_tensor(graph, node.operands[2]);
  return zero_point ? std::optional<Affine>({*codes, *scale, zero_point}) : std::nullopt;
}

// Which elements share a scale. `firsts`: the first element of each group, in the format's order.
struct Groups {
  NodeId root;  // what the packed constant takes the place of
  std::string geometry;
  bool are_blocks = false;
  bool in_rows = false;  // each row, an index of the first axis, has groups of its own
  std::vector<int64_t> firsts;
};

// Axes of the codes along which scale or zero point differ.
std::vector<size_t> varying_axes(const Affine& affine) {
  const size_t rank = affine.codes.shape().size();
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto varies = [&](const Tensor& tensor) {
      const std::vector<int64_t>& shape = tensor.shape();
      return axis + shape.size() >= rank && shape[axis + shape.size() - rank] != 1;
    };
    if (varies(affine.scale) || (affine.zero_point && varies(*affine.zero_point))) axes.push_back(axis);
  }
  return axes;
}

// The axis of `codes` that `joined` has as one with the axis before it; 0 when there is none.
size_t joined_axis(const std::vector<int64_t>& codes, const std::vector<int64_t>& joined) {
  if (joined.size() + 1 != codes.size()) return 0;
  for (size_t axis = 1; axis < codes.size(); ++axis) {
    std::vector<int64_t> shape = codes;
    shape[axis - 1] *= shape[axis];
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    if (shape == joined) return axis;
  }
  return 0;
}

// The reshape that joins blocks, which do not differ inside.
std::optional<Groups> blocks(const Graph& graph, NodeId id, const Affine& affine) {
  const std::vector<Graph::Use> uses = graph.uses(graph.result(id));
  if (uses.size() != 1 || graph.use_count(graph.result(id)) != 1) return std::nullopt;
  const NodeId root = uses[0].node;
  if (std::string_view(graph.node(root).op->name) != "reshape") return std::nullopt;
  const Shape& joined = graph.type(graph.result(root)).shape;
  const std::vector<int64_t>& shape = affine.codes.shape();
  const size_t axis = is_constant(joined) ? joined_axis(shape, constant_shape(joined)) : 0;
  const std::vector<size_t> varying = varying_axes(affine);
  if (axis == 0 || std::find(varying.begin(), varying.end(), axis) != varying.end()) return std::nullopt;
  const AxisView view = around_axis(shape, axis);
  const int64_t per_line = shape[axis - 1];
  Groups groups{root, fmt::format(".g{}", view.length), true, axis > 1, {}};
  if (view.inner != 1) groups.geometry += fmt::format(".ax{}", axis - 1);
  for (int64_t lines = 0; lines < view.outer; lines += per_line)
    for (int64_t inner = 0; inner < view.inner; ++inner)
      for (int64_t block = lines; block < lines + per_line; ++block)
        groups.firsts.push_back(block * view.length * view.inner + inner);
  return groups;
}

std::optional<Groups> channels(NodeId id, const Affine& affine) {
  const std::vector<size_t> varying = varying_axes(affine);
  if (varying.empty()) return Groups{id, ".tensor", false, false, {0}};
  if (varying.size() > 1) return std::nullopt;
  const AxisView view = around_axis(affine.codes.shape(), varying[0]);
  const bool in_rows = varying[0] == 0;
  Groups groups{id, in_rows ? ".channel" : fmt::format(".channel.ax{}", varying[0]), false, in_rows, {}};
  for (int64_t channel = 0; channel < view.length; ++channel) groups.firsts.push_back(channel * view.inner);
  return groups;
}

// What `tensor`, which broadcasts to `shape`, holds for each of these elements.
std::vector<double> values_at(const Tensor& tensor, const std::vector<int64_t>& shape,
                              const std::vector<int64_t>& elements) {
  const std::vector<double> values = tensor.to_doubles();
  const std::vector<int64_t> strides = strides_of(shape), from = strides_broadcast(tensor.shape(), shape);
  std::vector<double> result;
  for (int64_t element : elements) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) offset += element / strides[axis] % shape[axis] * from[axis];
    result.push_back(values[static_cast<size_t>(offset)]);
  }
  return result;
}

// Integers in as few bits as formats are stored in well; 0 when 16 do not do.
struct Range {
  int64_t low = 0, high = 0;
  void include(int64_t value) { low = std::min(low, value), high = std::max(high, value); }
  int signed_bits() const {
    return bits([](int64_t w) { return -(int64_t{1} << (w - 1)); }, 1);
  }
  int unsigned_bits() const {
    return bits([](int64_t) { return int64_t{0}; }, 0);
  }

 private:
  template <class Lowest>
  int bits(Lowest lowest, int sign) const {
    for (int w : {2, 4, 8, 16})
      if (low >= lowest(w) && high < int64_t{1} << (w - sign)) return w;
    return 0;
  }
};

// How codes of the file become codes of a format: with `by` added; floats as they are.
struct Encoding {
  std::string head;
  int bits = 0;  // of integers
  int64_t by = 0;
  std::vector<uint32_t> scales, zero_points;
};

std::vector<uint32_t> shifted(std::span<const int64_t> values, int64_t by, int bits) {
  std::vector<uint32_t> codes;
  for (int64_t value : values) codes.push_back(static_cast<uint32_t>((value + by) & ((int64_t{1} << bits) - 1)));
  return codes;
}

std::vector<uint32_t> f32_codes(std::span<const double> scales) {
  std::vector<uint32_t> codes;
  for (double scale : scales) codes.push_back(std::bit_cast<uint32_t>(static_cast<float>(scale)));
  return codes;
}

// Scale codes of an MX format whose elements have that many fraction bits; none unless all scales are powers of two.
std::optional<std::vector<uint32_t>> pow2_codes(std::span<const double> scales, int fraction_bits) {
  std::vector<uint32_t> codes;
  for (double scale : scales) {
    int exponent;
    const bool is_power = std::frexp(scale, &exponent) == 0.5;
    const int code = exponent - 1 + fraction_bits + 127;
    if (!is_power || code < 0 || code > 254) return std::nullopt;
    codes.push_back(static_cast<uint32_t>(code));
  }
  return codes;
}

std::optional<Encoding> encode_integers(Range range, std::span<const int64_t> zeros, std::span<const double> scales,
                                        bool are_blocks) {
  if (std::adjacent_find(zeros.begin(), zeros.end(), std::not_equal_to<>()) == zeros.end()) {
    const int64_t zero = zeros[0];
    const int bits = Range{std::min<int64_t>(range.low - zero, 0), std::max<int64_t>(range.high - zero, 0)}.signed_bits();
    if (bits == 0) return std::nullopt;
    const auto powers = are_blocks && bits <= 8 ? pow2_codes(scales, bits - 2) : std::nullopt;
    return Encoding{fmt::format("{}{}", powers ? "mxint" : "int", bits), bits, -zero,
                    powers ? *powers : f32_codes(scales), {}};
  }
  range.include(0);
  for (int64_t zero : zeros) range.include(zero);
  const int bits = range.low < 0 ? range.signed_bits() : range.unsigned_bits();
  if (bits == 0) return std::nullopt;
  const int64_t by = range.low < 0 ? int64_t{1} << (bits - 1) : 0;
  return Encoding{fmt::format("uint{}", bits), bits, by, f32_codes(scales), shifted(zeros, by, bits)};
}

std::optional<Encoding> encode_floats(DType dtype, std::span<const int64_t> zeros, std::span<const double> scales,
                                      bool are_blocks) {
  if (std::any_of(zeros.begin(), zeros.end(), [](int64_t zero) { return zero != 0; })) return std::nullopt;
  const std::string head = float_head(dtype);
  const auto powers = are_blocks ? pow2_codes(scales, 0) : std::nullopt;
  if (!powers && dtype == DType::f4e2m1) return std::nullopt;
  return Encoding{.head = powers ? "mx" + head : head, .scales = powers ? *powers : f32_codes(scales),
                  .zero_points = {}};
}

// Zero points that are whole numbers, whatever their type; one 0 where there are none.
std::optional<std::vector<int64_t>> zeros_of(const Affine& affine, const Groups& groups) {
  std::vector<int64_t> zeros(groups.firsts.size(), 0);
  if (!affine.zero_point) return zeros;
  const std::vector<double> values = values_at(*affine.zero_point, affine.codes.shape(), groups.firsts);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::trunc(values[i]) != values[i] || std::abs(values[i]) > 0xffff) return std::nullopt;
    zeros[i] = static_cast<int64_t>(values[i]);
  }
  return zeros;
}

// --- Row by row, so that a weight is never there as wider numbers as a whole ------------------------------------------

constexpr int64_t kElementsAtOnce = 1 << 18;

struct Rows {
  int64_t first, count;
};

std::vector<Rows> parts_of(const std::vector<int64_t>& shape) {
  const int64_t rows = shape[0], each = std::max<int64_t>(1, kElementsAtOnce / (element_count(shape) / rows));
  std::vector<Rows> parts;
  for (int64_t first = 0; first < rows; first += each) parts.push_back({first, std::min(each, rows - first)});
  return parts;
}

// A view of some rows of a plain tensor.
Tensor rows_of(const Tensor& tensor, Rows rows) {
  std::vector<int64_t> shape = tensor.shape();
  const size_t row = tensor.data().size() / static_cast<size_t>(shape[0]);
  shape[0] = rows.count;
  const auto bytes = tensor.data().bytes().subspan(static_cast<size_t>(rows.first) * row,
                                                   static_cast<size_t>(rows.count) * row);
  return {tensor.dtype(), std::move(shape), Buffer(std::make_shared<const Buffer>(tensor.data()), bytes)};
}

Affine rows_of(const Affine& whole, Rows rows) {
  const auto part = [&](const Tensor& beside) {  // one for all rows, or as many rows as there are of codes
    const bool has_rows = beside.shape().size() == whole.codes.shape().size() && beside.shape()[0] != 1;
    return has_rows ? rows_of(beside, rows) : beside;
  };
  Affine affine{rows_of(whole.codes, rows), part(whole.scale), {}};
  if (whole.zero_point) affine.zero_point = part(*whole.zero_point);
  return affine;
}

Range range_of(const Tensor& codes) {
  Range range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (const Rows& rows : parts_of(codes.shape()))
    for (int64_t code : rows_of(codes, rows).to_integers()) range.include(code);
  return range;
}

std::vector<uint32_t> codes_of(const Tensor& codes, const Encoding& encoding) {
  if (is_integer(codes.dtype())) return shifted(codes.to_integers(), encoding.by, encoding.bits);
  std::vector<uint32_t> bits;
  for (std::byte code : codes.data().bytes()) bits.push_back(std::to_integer<uint32_t>(code));
  return bits;
}

std::optional<Encoding> encoding_of(const Affine& affine, const Groups& groups) {
  const std::optional<std::vector<int64_t>> zeros = zeros_of(affine, groups);
  if (!zeros) return std::nullopt;
  const std::vector<double> scales = values_at(affine.scale, affine.codes.shape(), groups.firsts);
  if (!is_integer(affine.codes.dtype()))
    return encode_floats(affine.codes.dtype(), *zeros, scales, groups.are_blocks);
  const Range range = range_of(affine.codes);
  constexpr int64_t kFar = 1 << 20;  // beyond all codes less zero points of 16 bits
  if (range.low < -kFar || range.high > kFar) return std::nullopt;
  return encode_integers(range, *zeros, scales, groups.are_blocks);
}

// The part of `of_groups` that belongs to these of `all` rows.
std::span<const uint32_t> part_of(const std::vector<uint32_t>& of_groups, bool in_rows, Rows rows, int64_t all) {
  if (!in_rows) return of_groups;
  const size_t each = of_groups.size() / static_cast<size_t>(all);
  return std::span(of_groups).subspan(static_cast<size_t>(rows.first) * each, static_cast<size_t>(rows.count) * each);
}

void append(std::vector<std::byte>& plane, const std::vector<std::byte>& part) {
  plane.insert(plane.end(), part.begin(), part.end());
}

// The planes of all rows as those of the parts behind each other. Formats whose lines run across rows are stored
// otherwise, which the caller finds out.
Planes planes_of_parts(const Affine& affine, const Groups& groups, const Encoding& encoding, const Format& format,
                       const std::vector<int64_t>& shape, const std::vector<Rows>& parts) {
  if (parts.size() == 1) return planes_of(format, shape, codes_of(affine.codes, encoding), encoding.scales, encoding.zero_points);
  Planes planes;
  for (const Rows& rows : parts) {
    std::vector<int64_t> part_shape = shape;
    part_shape[0] = rows.count;
    const Planes part = planes_of(format, part_shape, codes_of(rows_of(affine.codes, rows), encoding),
                                  part_of(encoding.scales, groups.in_rows, rows, shape[0]),
                                  part_of(encoding.zero_points, groups.in_rows, rows, shape[0]));
    if (planes.codes.empty()) planes.codes.reserve(static_cast<size_t>(plane_bytes(format, shape).codes));
    append(planes.codes, part.codes);
    if (!groups.in_rows && &rows != &parts.front()) continue;
    append(planes.scales, part.scales);
    append(planes.zero_points, part.zero_points);
  }
  return planes;
}

Buffer as_buffer(std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {owner, *owner};
}

Tensor dequantised(const Affine& affine, const Node& node) {
  const Tensor* operands[] = {&affine.codes, &affine.scale, affine.zero_point ? &*affine.zero_point : nullptr};
  return evaluate_node(*node.op, std::span(operands).first(node.operands.size()), node.attributes)[0];
}

bool decodes_to_the_same_bits(const Tensor& packed, const Affine& affine, const Node& node) {
  const std::vector<Rows> parts = parts_of(affine.codes.shape());
  const int64_t row = packed.elements() / affine.codes.shape()[0];
  std::atomic<bool> same = true;
  parallel_for(static_cast<int64_t>(parts.size()), [&](int64_t i) {
    if (!same) return;
    const Rows& rows = parts[static_cast<size_t>(i)];
    std::vector<float> found(static_cast<size_t>(rows.count * row));
    unpack_range(*packed.format(), packed.shape(), packed.planes(), rows.first * row, found);
    const Tensor wanted = dequantised(rows_of(affine, rows), node);
    if (std::memcmp(found.data(), wanted.data().bytes().data(), found.size() * sizeof(float)) != 0) same = false;
  });
  return same;
}

std::optional<Tensor> packed(const Affine& affine, const Groups& groups, const Node& node,
                             const std::vector<int64_t>& shape) {
  const std::optional<Encoding> encoding = encoding_of(affine, groups);
  if (!encoding) return std::nullopt;
  const Format format =
      parse_format(encoding->head + groups.geometry + (encoding->zero_points.empty() ? "" : ".asym"));
  const PlaneBytes bytes = plane_bytes(format, shape);
  const std::vector<Rows> whole{{0, shape[0]}};
  for (const std::vector<Rows>& parts : {affine.codes.shape()[0] == shape[0] ? parts_of(shape) : whole, whole}) {
    Planes planes = planes_of_parts(affine, groups, *encoding, format, shape, parts);
    if (std::ssize(planes.codes) != bytes.codes || std::ssize(planes.scales) != bytes.scales ||
        std::ssize(planes.zero_points) != bytes.zero_points)
      continue;
    Tensor tensor = Tensor::packed(format, shape, as_buffer(std::move(planes.codes)),
                                   as_buffer(std::move(planes.scales)), as_buffer(std::move(planes.zero_points)), {});
    if (decodes_to_the_same_bits(tensor, affine, node)) return tensor;
    if (parts.size() == 1) break;
  }
  return std::nullopt;
}

// Vectors, such as biases, stay: kernels read them as they are. Gives the bytes of the codes that took part.
int64_t recognise(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const std::optional<Affine> affine = affine_constants(graph, node);
  if (!affine || node.attributes.get<DType>("dtype") != DType::f32 ||
      graph.type(node.results[0]).shape != to_shape(affine->codes.shape()))
    return 0;
  std::optional<Groups> groups = blocks(graph, id, *affine);
  if (!groups) groups = channels(id, *affine);
  if (!groups) return 0;
  const std::vector<int64_t> shape = constant_shape(graph.type(graph.result(groups->root)).shape);
  if (shape.size() < 2 || element_count(shape) == 0) return 0;
  const std::optional<Tensor> constant = packed(*affine, *groups, node, shape);
  if (!constant) return 0;
  const ValueId value = graph.add_constant("", *constant);
  replace_by_value(graph, groups->root, value);
  if (groups->root != id) graph.erase(id);
  ValueId codes = node.operands[0];
  if (const NodeId reshape = graph.producer(codes); reshape != kNone) {
    codes = graph.operand(reshape, 0);
    if (graph.use_count(graph.result(reshape)) == 0) graph.erase(reshape);
  }
  graph.set_label(value, derived_label(graph, codes, ".packed"));
  return affine->codes.bytes();
}

bool transpose(Graph& graph, NodeId id) {
  const ValueId source = graph.operand(id, 0);
  const Tensor* tensor = graph.constant(source);
  std::optional<Tensor> result = tensor ? packed_transpose(*tensor) : std::nullopt;
  if (!result || graph.type(graph.result(id)).shape != to_shape(result->shape())) return false;
  const auto perm = graph.node(id).attributes.get_or<std::vector<int64_t>>("perm", {1, 0});
  if ((perm[0] + 2) % 2 != 1) return false;
  const ValueId value = graph.add_constant("", *std::move(result));
  replace_by_value(graph, id, value);
  graph.set_label(value, derived_label(graph, source, ".transposed"));
  return true;
}

// conv by a packed matrix [O, window * I] that is spread out as [O,window,I] and then [O,I,window] reads the matrix.
bool gather_weights(Graph& graph, NodeId conv) {
  const NodeId moved = produced_by(graph, graph.operand(conv, 1), "transpose");
  const NodeId spread = moved == kNone ? kNone : produced_by(graph, graph.operand(moved, 0), "reshape");
  if (spread == kNone || graph.node(conv).attributes.has("kernel_shape")) return false;
  const ValueId matrix = graph.operand(spread, 0);
  const TensorType& type = graph.type(graph.result(spread));
  if (!graph.constant(matrix) || graph.type(matrix).rank() != 2 || !type.is_static() || type.rank() < 3 ||
      type.shape[0] != graph.type(matrix).shape[0])
    return false;
  Permutation channels_second(type.rank());
  std::iota(channels_second.begin(), channels_second.end(), 0);
  std::rotate(channels_second.begin() + 1, channels_second.end() - 1, channels_second.end());
  if (permutation_of(graph, moved) != channels_second) return false;
  const std::vector<int64_t> window = constant_shape({type.shape.begin() + 1, type.shape.end() - 1});
  graph.set_operand(conv, 1, matrix);
  graph.set_attribute(conv, "kernel_shape", window);
  for (NodeId unused : {moved, spread})
    if (graph.use_count(graph.result(unused)) == 0) graph.erase(unused);
  return true;
}

Graph recognise_packed(Graph graph, const PassContext&) {
  constexpr int64_t kHeld = 8 << 20;  // bytes of codes that are no longer read before they are let go
  int64_t held = 0;
  bool changed = false;
  for (NodeId id : graph.nodes("dequantize_linear")) {
    check_stop();
    const int64_t codes = recognise(graph, id);
    held += codes, changed |= codes > 0;
    if (held > kHeld) graph.erase_unused_constants(), held = 0;
  }
  for (NodeId id : graph.nodes("transpose")) changed |= transpose(graph, id);
  for (NodeId id : graph.nodes("conv")) changed |= gather_weights(graph, id);
  if (!changed) return graph;
  graph.erase_unused_constants();
  retype_captures(graph);
  graph.reinfer();
  return graph;
}

}  // namespace

extern constinit const PassDef recognise_packed_def{
    .name = "recognise_packed",
    .doc =
        "dequantize_linear of a constant becomes a constant packed in a format (int4.g32, uint8.channel.asym, mxint8, "
        "…) that decodes to the same bits; a transpose of a packed matrix becomes one too, and so do weights of a conv "
        "that are spread out from one.",
    .run = recognise_packed};

}  // namespace hone
