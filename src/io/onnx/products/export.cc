// Products of matrices: linear, matmul, attention. ONNX's operators take one element type; hone's read any and give f32
// or f64.
#include <cmath>
#include <limits>

#include "io/onnx/export_node.h"

namespace hone::onnx {
namespace {

using Integers = std::vector<int64_t>;

Names linear(const ExportNode& n) {
  const DType dtype = n.result_type().dtype;
  if (!is_float(dtype)) {
    const std::string sums =
        n.emit("MatMulInteger", {n.in(0), n.rearranged(1, n.type(1).dtype, n.type(1).shape, {1, 0})});
    return {n.has(2) ? n.emit("Add", {sums, n.in(2)}) : sums};
  }
  const bool keeps = n.keeps_layouts() && n.constant(1) && !n.constant(1)->is_packed();
  if (keeps && n.type(0).ranked && n.rank(0) == 2) {
    Names operands{n.in_as(0, dtype), n.in_as(1, dtype)};
    if (n.has(2)) operands.push_back(n.in_as(2, dtype));
    return {n.emit("Gemm", operands, {{"transB", int64_t{1}}})};
  }
  const std::string weights =
      keeps ? n.transpose(n.in_as(1, dtype), {1, 0}) : n.rearranged(1, dtype, n.type(1).shape, {1, 0});
  const std::string product = n.emit("MatMul", {n.in_as(0, dtype), weights});
  return {n.has(2) ? n.emit("Add", {product, n.in_as(2, dtype)}) : product};
}

Integers last_two_swapped(size_t rank) {
  Integers perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}

Names matmul(const ExportNode& n) {
  const DType dtype = n.result_type().dtype;
  std::string a = n.in_as(0, dtype), b = n.in_as(1, dtype);
  if (n.integer("transpose_a", 0) != 0) a = n.transpose(a, last_two_swapped(n.rank(0)));
  if (n.integer("transpose_b", 0) != 0) b = n.transpose(b, last_two_swapped(n.rank(1)));
  return {n.emit("MatMul", {a, b})};
}

Names einsum(const ExportNode& n) {
  const DType dtype = n.result_type().dtype;
  Names inputs;
  for (size_t i = 0; i < n.node().operands.size(); ++i) inputs.push_back(n.in_as(i, dtype));
  return {n.emit("Einsum", inputs, n.attributes())};
}

// attention spelled as MatMul, Softmax, MatMul on [B,H,S,D].
class Attention {
 public:
  explicit Attention(const ExportNode& n)
      : n_(n), heads_(n.integer("heads", 1)), groups_(n.integer("kv_heads", heads_)) {}

  std::string result() const {
    for (size_t i = 0; i < 3; ++i)  // of a node whose types are not known the rest is not either
      if (n_.rank(i) != 3) not_in_onnx("attention of {}", to_string(n_.type(i)));
    const std::string scores = masked(
        capped(n_.emit("Mul", {n_.emit("MatMul", {by_head(0, heads_, {0, 2, 1, 3}), by_head(1, groups_, {0, 2, 3, 1})}),
                               n_.number(scale(), dtype_)})));
    const std::string weights = softmax(scores);
    const std::string heads = n_.emit("MatMul", {weights, by_head(2, groups_, {0, 2, 1, 3})});
    return n_.reshape(n_.transpose(heads, {0, 2, 1, 3}), n_.result_type().shape, n_.result_type().shape);
  }

 private:
  double scale() const {
    const double columns = static_cast<double>(n_.type(0).shape[2].constant() / heads_);
    return n_.attributes().get_or<double>("scale", 1 / std::sqrt(columns));
  }

  // [B,S,H*D] as [B,S,H,D] with the axes in another order; heads of k and v once for each head of q that shares them.
  std::string by_head(size_t operand, int64_t heads, Integers perm) const {
    const Shape& shape = n_.type(operand).shape;
    std::string x =
        n_.reshape(n_.in_as(operand, dtype_), shape, {shape[0], shape[1], heads, shape[2].constant() / heads});
    if (heads != heads_) {
      Integers shared;
      for (int64_t h = 0; h < heads_; ++h) shared.push_back(h / (heads_ / heads));
      x = n_.emit("Gather", {x, n_.integers(shared)}, {{"axis", int64_t{2}}});
    }
    return n_.transpose(x, std::move(perm));
  }

  // A sink is one more column. So is what makes the weights of a query that sees no key 0: the lowest finite score,
  // whose weight is 0 beside any that is seen.
  std::string softmax(std::string scores) const {
    const bool has_column = n_.has(4) || n_.integer("blind_is_zero", 0) != 0;
    if (!has_column) return n_.emit("Softmax", {scores}, {{"axis", int64_t{-1}}});
    const Dim &queries = n_.type(0).shape[1], &keys = n_.type(1).shape[1];
    const double lowest = dtype_ == DType::f64 ? std::numeric_limits<double>::lowest()
                                               : static_cast<double>(std::numeric_limits<float>::lowest());
    const std::string each =
        n_.has(4) ? n_.reshape(n_.in_as(4, dtype_), {heads_}, {1, heads_, 1, 1}) : n_.number(lowest, dtype_);
    const std::string column = n_.emit("Expand", {each, n_.sizes({n_.type(0).shape[0], heads_, queries, 1})});
    const std::string all = n_.emit("Concat", {scores, column}, {{"axis", int64_t{3}}});
    const std::string weights = n_.emit("Softmax", {all}, {{"axis", int64_t{-1}}});
    return n_.emit("Slice", {weights, n_.integers({0}), n_.sizes({keys}), n_.integers({3})});
  }

  std::string capped(std::string scores) const {
    const double cap = n_.attributes().get_or<double>("softcap", 0);
    if (cap == 0) return scores;
    const std::string factor = n_.number(cap, dtype_);
    return n_.emit("Mul", {n_.emit("Tanh", {n_.emit("Div", {scores, factor})}), factor});
  }

  std::string masked(std::string scores) const {
    const std::string hidden = n_.number(-std::numeric_limits<double>::infinity(), dtype_);
    if (n_.has(3) && n_.type(3).dtype == DType::boolean) scores = n_.emit("Where", {n_.in(3), scores, hidden});
    else if (n_.has(3)) scores = n_.emit("Add", {scores, n_.in_as(3, dtype_)});
    const auto limit = [&](const char* name) { return n_.attributes().get_or<int64_t>(name, -1); };
    const int64_t before = limit("before"), behind = n_.integer("causal", 0) != 0 ? 0 : limit("behind");
    if (before >= 0) scores = n_.emit("Where", {triangle(-before, true), scores, hidden});
    if (behind >= 0) scores = n_.emit("Where", {triangle(behind, false), scores, hidden});
    return scores;
  }
  // [S,T]: whether key t is at the position of query s plus `by`, or behind (`upper`) or before that.
  std::string triangle(int64_t by, bool upper) const {
    const Dim &queries = n_.type(0).shape[1], &keys = n_.type(1).shape[1];
    const Dim first = n_.integer("from_start", 0) != 0 ? Dim(0) : keys - queries;
    const std::string ones =
        n_.emit("ConstantOfShape", {n_.sizes({queries, keys})}, {{"value", Tensor::of<float>({1}, {1})}});
    const std::string diagonal = n_.emit("Squeeze", {n_.sizes({first + by})});
    const std::string seen = n_.emit("Trilu", {ones, diagonal}, {{"upper", int64_t{upper}}});
    return n_.cast(seen, DType::f32, DType::boolean);
  }

  const ExportNode& n_;
  const int64_t heads_, groups_;
  const DType dtype_ = n_.result_type().dtype;
};

Names attention(const ExportNode& n) { return {Attention(n).result()}; }

Names linear_attention(const ExportNode& n) {
  n.needs(27, "LinearAttention");
  const bool decays = n.has(4), corrects = n.has(5);
  Attributes attributes{
      {"q_num_heads", n.integer("heads", 1)},
      {"kv_num_heads", n.integer("kv_heads", 1)},
      {"update_rule", std::string(decays ? (corrects ? "gated_delta" : "gated") : (corrects ? "delta" : "linear"))}};
  if (n.attributes().has("scale")) {
    const double scale = n.attributes().get<double>("scale");
    if (scale == 0) not_in_onnx("LinearAttention reads a scale of 0 as its default");
    attributes.set("scale", scale);
  }
  Names inputs;
  for (size_t i = 0; i < n.node().operands.size(); ++i)
    inputs.push_back(!n.has(i) ? "" : i == 3 ? n.in(i) : n.in_as(i, n.type(0).dtype));
  return n.emit_all("LinearAttention", inputs, attributes, 2);
}

constexpr ExportRule kRules[] = {{"attention", attention},
                                 {"einsum", einsum},
                                 {"linear", linear},
                                 {"linear_attention", linear_attention},
                                 {"matmul", matmul}};

}  // namespace

std::span<const ExportRule> product_rules() { return kRules; }

}  // namespace hone::onnx
