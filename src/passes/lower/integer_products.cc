// Rounded activations that meet integer weights: the product is taken of the codes (docs/FORMATS.md, section 11).
//   linear(fake_quant(x), w)                   scales by what is given, or by x
//   linear(dequantize_linear(codes, s, z), w)  codes that there are already
// become dequantize_sums(linear(codes of x, codes of w), scale of x, scales of w), and the bias is added; where w has
// scales of groups, block_linear(codes of x, w) * scale of x. And linear(fake_quant(x), w) becomes
// block_linear(quantize(x), w) where x is rounded in groups of 8 bits with powers of two. conv as the first: channels
// first where the scale is given, so that transposes can pass what is made; others when they have sunk. Channels that
// conv of codes reads fill lanes of four, but those of depthwise ones.
#include <cmath>
#include <map>

#include "formats/codecs.h"
#include "formats/scale.h"
#include "ops/block_products.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/block_linear.h"
#include "ops/calls/conv.h"
#include "ops/calls/fake_quant.h"
#include "ops/calls/integer_products.h"
#include "ops/calls/linear.h"
#include "ops/calls/pad.h"
#include "ops/calls/quantize.h"
#include "ops/calls/quantize_linear.h"
#include "ops/calls/reshape.h"
#include "ops/conv_weights.h"
#include "ops/integer_activations.h"
#include "ops/sliding_window.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

constexpr int64_t kMostProducts = 65536;  // 2^16 * 255 * 128 is below 2^31: no sum wraps

struct Codes {
  ValueId codes = kNone, scale = kNone, zero = kNone;  // of activations; zero: kNone is 0
};
struct Weights {
  ValueId codes = kNone, scale = kNone, sums = kNone;  // sums of the codes of each output, made when first asked for
};

bool fits_i8(const Format& format) {
  const ElementParams& e = format.element;
  return format.codec == &int_codec && format.scale_kind == &f32_max_scale && e.fraction_bits == 0 &&
         e.bits <= (e.is_signed ? 8 : 7);
}

// One scale, or one for each row: what a sum of products can be multiplied by.
bool has_integers(const Tensor& w) {
  const std::vector<int64_t>& shape = w.shape();
  if (!w.is_packed() || shape.size() < 2 || w.elements() == 0 || !fits_i8(*w.format())) return false;
  if (w.elements() / shape[0] > kMostProducts) return false;
  const Geometry& g = w.format()->geometry;
  const bool first = g.axis == 0 || g.axis == -static_cast<int>(shape.size());
  return g.kind == Geometry::Kind::tensor || (g.kind == Geometry::Kind::channel && first);
}

// Codes of 8 bits are bytes as they lie.
Tensor codes_as_bytes(const Tensor& w) {
  const ElementParams& e = w.format()->element;
  if (e.bits == 8) return Tensor(DType::i8, w.shape(), w.data());
  Tensor bytes(DType::i8, w.shape());
  std::byte* out = bytes.mutable_data();
  const uint32_t sign = e.is_signed ? 1u << (e.bits - 1) : 0;
  for (uint32_t code : codes_of(*w.format(), w.shape(), w.planes()))
    *out++ = static_cast<std::byte>((code ^ sign) - sign);
  return bytes;
}

Tensor scales_as_floats(const Tensor& w) {
  std::vector<int64_t> shape;
  if (w.format()->geometry.kind == Geometry::Kind::channel) shape.push_back(w.dim(0));
  if (w.format()->scale.type == ScaleType::f32) return Tensor(DType::f32, shape, w.scales());
  const std::vector<double> scales = scale_values(*w.format(), scale_codes_of(*w.format(), w.shape(), w.planes()));
  return Tensor::of<float>(shape, {scales.begin(), scales.end()});
}

Tensor sums_of_rows(const Tensor& codes) {
  const auto bytes = codes.as<int8_t>();
  const auto k = static_cast<size_t>(codes.elements() / codes.dim(0));
  std::vector<int32_t> sums(static_cast<size_t>(codes.dim(0)));
  for (size_t i = 0; i < bytes.size(); ++i) sums[i / k] += bytes[i];
  return Tensor::of<int32_t>({codes.dim(0)}, sums);
}

// Weights [O,I,taps], or as a matrix [O,taps,I], with `more` inputs whose weights are 0.
Tensor with_more_inputs(const Tensor& w, int64_t channels, int64_t more) {
  std::vector<int64_t> shape = w.shape();
  const bool is_matrix = shape.size() == 2;
  const int64_t lines = is_matrix ? w.elements() / channels : shape[0], line = w.elements() / lines,
                added = is_matrix ? more : line / channels * more;
  if (is_matrix) shape[1] = shape[1] / channels * (channels + more);
  else shape[1] += more;
  Tensor wider(w.dtype(), shape);
  const std::byte* from = w.data().bytes().data();
  std::byte* to = wider.mutable_data();
  for (int64_t i = 0; i < lines; ++i, from += line, to += line + added) {
    std::copy_n(from, line, to);
    std::fill_n(to + line, added, std::byte{0});
  }
  return wider;
}

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph) {}

  void run() {
    const std::vector<NodeId> nodes(graph_.nodes().begin(), graph_.nodes().end());
    for (NodeId id : nodes) {
      const Node node = graph_.node(id);
      if (node.op != &linear_def && node.op != &conv_def) continue;
      const Tensor* w = graph_.constant(node.operands[1]);
      if (!w || !w->is_packed() || graph_.type(node.results[0]).dtype != DType::f32) continue;
      if (node.op == &conv_def && !fits_conv(node)) continue;
      graph_.set_insertion_point(id);
      if (const ValueId y = node.op == &linear_def ? block_product(node, *w) : kNone; y != kNone)
        replace_by_value(graph_, id, with_bias(node, y));
      else if (has_integers(*w))
        if (const Codes* x = codes_of_input(node.operands[0]); x && (node.op == &linear_def || has_one_scale(*x)))
          rewrite(id, *x);
      graph_.set_insertion_point(kNone);
    }
    for (NodeId id : graph_.nodes(conv_def)) fill_lanes(id);
    graph_.erase_unused_constants();
  }

 private:
  // One channel in each group, as the kernel class of windows multiplies them.
  bool is_depthwise(const Node& node) const {
    const Shape w = conv_weight_shape(node.attributes, graph_.type(node.operands[1]).shape);
    const Dim taps = element_count(spatial(w));
    return w[1] == Dim(1) && w[0] == Dim(node.attributes.get_or<int64_t>("groups", 1)) && taps.is_constant() &&
           taps.constant() <= kMostTapsOfCodes;
  }

  // Channels that fill lanes of four codes, or can, or lie in lanes.
  bool fits_conv(const Node& node) const {
    const TensorType& x = graph_.type(node.operands[0]);
    const bool last = channels_last(node.attributes);
    if (!x.ranked || x.rank() < 3 || x.rank() > 4) return false;
    const int64_t groups = node.attributes.get_or<int64_t>("groups", 1);
    const Dim& channels = last ? x.shape.back() : x.shape[1];
    if (!channels.is_constant() || (groups > 1 && channels.constant() / groups % 4 != 0 && !is_depthwise(node)))
      return false;
    if (node.operands.size() > 2 && node.operands[2] != kNone && graph_.type(node.operands[2]).is_packed())
      return false;
    const NodeId rounded = produced_by(graph_, node.operands[0], fake_quant_def);
    if (rounded == kNone) return true;
    const std::vector<ValueId>& operands = graph_.node(rounded).operands;
    const bool is_given = operands.size() > 1 && operands[1] != kNone;
    const Format format = graph_.node(rounded).attributes.get<Format>("format");
    return format.geometry.kind == Geometry::Kind::tensor && (last || is_given);
  }

  // A window lies across rows, and padding has the zero point.
  bool has_one_scale(const Codes& x) const {
    return graph_.type(x.scale).rank() == 0 && (x.zero == kNone || graph_.type(x.zero).rank() == 0);
  }

  // Further channels have codes of 0 and weights of 0.
  void fill_lanes(NodeId id) {
    const Node node = graph_.node(id);
    const TensorType& x = graph_.type(node.operands[0]);
    const Tensor* w = graph_.constant(node.operands[1]);
    if (is_float(x.dtype) || !w || w->is_packed() || w->elements() == 0 || !x.ranked || x.rank() < 3 || x.rank() > 4 ||
        node.attributes.get_or<int64_t>("groups", 1) != 1)
      return;
    const size_t axis = channels_last(node.attributes) ? x.rank() - 1 : 1;
    const int64_t channels = constant_shape(conv_weight_shape(node.attributes, to_shape(w->shape())))[1],
                  more = (4 - channels % 4) % 4;
    if (more == 0) return;
    graph_.set_insertion_point(id);
    Shape pads(2 * x.rank(), 0);
    pads[x.rank() + axis] = more;
    std::vector<ValueId> operands = node.operands;
    operands[0] = ops::pad(graph_, {.x = operands[0], .pads = pads});
    operands[1] = graph_.add_constant("", with_more_inputs(*w, channels, more));
    const ValueId y = graph_.emit(conv_def, operands, node.attributes);
    replace_by_value(graph_, id, y);
    graph_.set_insertion_point(kNone);
    graph_.set_label(operands[1], derived_label(graph_, node.operands[1], ".filled"));
  }

  // kNone where there is none. Scales of i8 are applied last.
  ValueId block_product(const Node& node, const Tensor& w) {
    const ValueId x = node.operands[0], weights = node.operands[1];
    if (!no_block_weights(*w.format()).empty() || w.elements() == 0) return kNone;
    if (const ValueId packed = packed_in_groups(x, *w.format()); packed != kNone)
      return ops::block_linear(graph_, {.x = packed, .w = weights});
    if (has_scale_of_rows(*w.format()) || !is_rounded_to_i8(x)) return kNone;
    const Codes* codes = codes_of_input(x);
    if (!codes || codes->zero != kNone) return kNone;
    return ops::mul(graph_, {ops::block_linear(graph_, {.x = codes->codes, .w = weights}), codes->scale});
  }

  // x, if it is rounded in groups that meet those of w.
  ValueId packed_in_groups(ValueId x, const Format& w) {
    const NodeId id = produced_by(graph_, x, fake_quant_def);
    if (id == kNone || graph_.node(id).operands.size() > 1 || !graph_.type(x).ranked || graph_.type(x).rank() == 0)
      return kNone;
    const Format format = graph_.node(id).attributes.get<Format>("format");
    if (!no_block_activations(format, static_cast<int>(graph_.type(x).rank())).empty()) return kNone;
    if (!has_scale_of_rows(w) && w.geometry.columns % format.geometry.columns != 0) return kNone;
    const auto [found, is_new] = packed_.try_emplace(x, kNone);
    if (is_new) found->second = ops::quantize(graph_, {.x = graph_.operand(id, 0), .format = format});
    return found->second;
  }

  bool is_rounded_to_i8(ValueId x) const {
    if (const NodeId id = produced_by(graph_, x, fake_quant_def); id != kNone)
      return graph_.node(id).attributes.get<Format>("format").element.is_signed;
    const NodeId id = produced_by(graph_, x, dequantize_linear_def);
    return id != kNone && graph_.type(graph_.operand(id, 0)).dtype == DType::i8;
  }

  ValueId with_bias(const Node& node, ValueId y) {
    if (node.operands.size() < 3 || node.operands[2] == kNone) return y;
    return ops::add(graph_, {y, along_channels(node.operands[2], node)});
  }

  // A vector along the channels of images that come channels first.
  ValueId along_channels(ValueId v, const Node& node) {
    if (v == kNone || node.op == &linear_def || channels_last(node.attributes) || graph_.type(v).rank() == 0) return v;
    Shape shape(graph_.type(node.results[0]).rank() - 1, 1);
    shape[0] = graph_.type(v).shape[0];
    return ops::reshape(graph_, {.x = v, .shape = shape});
  }

  void rewrite(NodeId id, const Codes& x) {
    const Node node = graph_.node(id);
    Weights& w = weights(node.operands[1]);
    if (x.zero != kNone && w.sums == kNone) w.sums = graph_.add_constant("", sums_of_rows(*graph_.constant(w.codes)));
    std::vector<ValueId> operands{x.codes, w.codes};
    if (node.op == &conv_def && x.zero != kNone) operands.insert(operands.end(), {kNone, x.zero});
    const ValueId sums = graph_.emit(*node.op, operands, node.attributes);
    const ValueId y = ops::dequantize_sums(graph_, {.sums = sums,
                                                    .x_scale = x.scale,
                                                    .w_scale = along_channels(w.scale, node),
                                                    .x_zero = x.zero,
                                                    .w_sums = x.zero == kNone ? kNone : along_channels(w.sums, node)});
    replace_by_value(graph_, id, with_bias(node, y));
  }

  Weights& weights(ValueId id) {
    Weights& w = weights_[id];
    if (w.codes != kNone) return w;
    const Tensor tensor = *graph_.constant(id);
    w.codes = graph_.add_constant("", codes_as_bytes(tensor));
    w.scale = graph_.add_constant("", scales_as_floats(tensor));
    if (const std::string& label = graph_.value(id).label; !label.empty()) graph_.set_label(w.codes, label + ".codes");
    return w;
  }

  // Null where they are no integers. New nodes come before what reads them first.
  const Codes* codes_of_input(ValueId x) {
    const auto [found, is_new] = codes_.try_emplace(x);
    if (is_new) found->second = make_codes(x);
    return found->second.codes == kNone ? nullptr : &found->second;
  }

  Codes make_codes(ValueId x) {
    if (const NodeId id = produced_by(graph_, x, fake_quant_def); id != kNone) return rounded(graph_.node(id));
    if (const NodeId id = produced_by(graph_, x, dequantize_linear_def); id != kNone) return stored(graph_.node(id));
    return {};
  }

  // By one scale, or one for each row.
  Codes stored(const Node& node) const {
    const DType dtype = graph_.type(node.operands[0]).dtype;
    const ValueId scale = node.operands[1], zero = node.operands.size() > 2 ? node.operands[2] : kNone;
    if ((dtype != DType::i8 && dtype != DType::u8) || !graph_.type(scale).ranked ||
        !graph_.type(node.results[0]).ranked)
      return {};
    const Shape& shape = graph_.type(node.results[0]).shape;
    const auto is_of_rows = [&](ValueId v) {
      const Shape& own = graph_.type(v).shape;
      return own.empty() ||
             (own.size() == shape.size() && own.back() == Dim(1) &&
              std::equal(own.begin(), own.end() - 1, shape.begin())) ||
             element_count(own) == Dim(1);
    };
    if (!is_of_rows(scale) || graph_.type(scale).dtype != DType::f32) return {};
    if (zero != kNone && (!is_of_rows(zero) || graph_.type(zero).dtype != dtype)) return {};
    if (graph_.type(node.operands[0]).shape != shape) return {};
    return {node.operands[0], scale, zero != kNone && uniform_value(graph_, zero) == 0.0 ? kNone : zero};
  }

  Codes rounded(Node node) {
    const Format format = node.attributes.get<Format>("format");
    if (!no_integer_activations(format).empty()) return {};
    const ValueId x = node.operands[0];
    if (node.operands.size() > 1 && node.operands[1] != kNone) return rounded_by(node, format);
    if (format.geometry.kind == Geometry::Kind::tile && graph_.type(x).rank() < 2) return {};
    const std::vector<ValueId> made = ops::quantize_dynamic(graph_, {.x = x, .format = format});
    return {made[0], made[1], format.scale_kind->zero_point ? made[2] : kNone};
  }

  // i8 saturates at -127, as the format has it.
  Codes rounded_by(const Node& node, const Format& format) {
    const Tensor* given = graph_.constant(node.operands[1]);
    const Tensor* given_zero = node.operands.size() > 2 ? graph_.constant(node.operands[2]) : nullptr;
    const bool has_zero = format.scale_kind->zero_point != nullptr;
    const auto is_number = [](const Tensor* t) { return t && t->elements() == 1 && std::isfinite(t->to_floats()[0]); };
    if (!is_number(given) || (has_zero && !is_number(given_zero))) return {};
    const float scale = std::max(given->to_floats()[0], static_cast<float>(smallest_normal_scale(format)));
    Codes codes{.scale = graph_.add_scalar<float>(scale)};
    if (has_zero) {
      const float zero = std::clamp(std::nearbyint(given_zero->to_floats()[0]), 0.0f, 255.0f);
      codes.zero = graph_.add_scalar<uint8_t>(static_cast<uint8_t>(zero));
    }
    const DType dtype = format.element.is_signed ? DType::i8 : DType::u8;
    codes.codes = ops::quantize_linear(
        graph_, {.x = node.operands[0], .scale = codes.scale, .zero_point = codes.zero, .dtype = dtype});
    if (dtype == DType::i8) codes.codes = ops::max(graph_, {codes.codes, graph_.add_scalar<int8_t>(-127)});
    return codes;
  }

  Graph& graph_;
  std::map<ValueId, Codes> codes_;
  std::map<ValueId, ValueId> packed_;  // in groups, of what is rounded to them
  std::map<ValueId, Weights> weights_;
};

Graph integer_products(Graph graph, const PassContext&) {
  Rewriter(graph).run();
  return graph;
}

}  // namespace

extern constinit const PassDef integer_products_def{
    .name = "integer_products",
    .doc =
        "linear of activations that are rounded to int8, uint8 or uint8.asym, of the tensor or of each row, with "
        "integer weights multiplies codes, and so does conv of those of the tensor; what that makes stands for the "
        "same numbers. linear of int8 with weights in groups, or of mxint8, adds exact sums of blocks.",
    .run = integer_products};

}  // namespace hone
