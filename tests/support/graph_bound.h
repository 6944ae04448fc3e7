// A graph's values by the ops' reference evaluations, each element with a bound on how far generated f32 code may lie
// from it. Bounds start at the inputs (exact) and go through the nodes: what an op does to the errors of its operands,
// plus what its own arithmetic adds. Nodes that only move, compare or round exact elements stay exact.
// The same from real numbers: how far what the graph computes without rounding any sum or product may lie from the
// reference's. Two graphs that compute the same lie no further apart than both bounds together.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>

#include "base/checked.h"
#include "ir/pointwise.h"
#include "ops/registry.h"
#include "tests/support/batch_norm_bound.h"
#include "tests/support/expanded.h"
#include "tests/support/resampling_bound.h"
#include "tests/support/row_bound.h"
#include "tests/support/sum_bound.h"

namespace hone::test {

// Of an op of several results, by the graph that it expands to; the results alone, exact, where there is none.
std::vector<Bounded> bounded_by_expansion(const OpDef& op, const Attributes& attributes,
                                          std::span<const Bounded* const> operands, std::vector<Bounded> results,
                                          DistanceFrom from);

class NodeBound : BoundedNode {
 public:
  NodeBound(const OpDef& op, const Attributes& attributes, std::vector<const Bounded*> operands,
            DistanceFrom from = DistanceFrom::generated_code)
      : BoundedNode(op, attributes, std::move(operands), from) {}

  std::vector<Bounded> run() {
    std::vector<Bounded> results;
    for (Tensor& value : evaluate_on([](const Bounded& x) { return x.value; }))
      results.push_back({std::move(value), {}});
    if (std::string_view(op_.name).starts_with("batch_norm_"))
      return BatchNormBound(*this).in_training(std::move(results));
    if (std::string_view(op_.name) == "attention_gradient") return bound_gradients(results), results;
    if (results.size() != 1 && op_.moves) return moved(std::move(results));
    if (results.size() != 1) return bounded_by_expansion(op_, attributes_, operands_, std::move(results), from_);
    if (results[0].value.elements() == 0) return results;
    value_ = &results[0].value;
    std::vector<double> error = op_.pointwise ? pointwise() : other();
    if (is_float(value_->dtype()) && value_->dtype() != DType::f64 && !error.empty()) {
      const std::vector<double> y = value_->to_doubles();
      const double eps = unit_roundoff(value_->dtype());
      for (size_t i = 0; i < y.size(); ++i) error[i] = both_rounded_bound(y[i], error[i], eps);
    }
    const bool exact = std::all_of(error.begin(), error.end(), [](double e) { return e == 0; });
    if (!exact) results[0].error = std::move(error);
    return results;
  }

 private:
  std::vector<Bounded> moved(std::vector<Bounded> results) const {
    if (all_exact()) return results;
    const std::vector<Tensor> from = evaluate_on(errors);
    for (size_t i = 0; i < results.size(); ++i) results[i].error = from[i].to_doubles();
    return results;
  }

  void bound_gradients(std::vector<Bounded>& results) const {
    if (operand(0).elements() == 0 || operand(1).elements() == 0) return;
    const auto bounds = attention(4).gradients(operand_row(3));
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].value.dtype() != DType::f64) results[i].error = bounds[i];
  }

  Errors other() {
    const std::string_view name = op_.name;
    if (!is_float(value_->dtype()) && all_exact()) return {};  // sums of codes
    if (name == "attention") return attention(3).result();
    if (name == "batch_norm" && value_->dtype() == DType::f32) return BatchNormBound(*this).applied();
    for (const auto family : {&NodeBound::sums, &NodeBound::rows, &NodeBound::resampled})
      if (std::optional<Errors> error = (this->*family)()) return *error;
    if (all_exact()) return {};
    if (name == "reduce_min")  // any of the elements may be the least
      return NodeBound(ops::get("reduce_max"), attributes_, operands_, from_).evaluate_on(errors)[0].to_doubles();
    if (op_.moves || op_.view || name == "gather" || name == "concat" || name == "max_pool" || name == "reduce_max")
      return evaluate_on(errors)[0].to_doubles();  // an element of the operands, or an extreme of some
    return unknown();
  }

  std::optional<Errors> sums() const {
    const std::string_view name = op_.name;
    const SumBound bound(*this);
    if (name == "linear" || name == "matmul") return bound.products(operand(0).dim(-1));
    if (name == "block_linear") return bound.block_products();
    if (name == "conv") return bound.products(operand(1).elements() / operand(1).dim(0));
    if (name == "conv_transpose") return bound.products(operand(1).elements() / operand(1).dim(1));
    if (name == "conv_input_gradient") return bound.products(operand(1).elements() / channels_of(*value_));
    if (name == "conv_weight_gradient") return bound.products(operand(0).elements() / value_->dim(0));
    if (name == "einsum" && is_float(value_->dtype()) && operands_.size() <= 2) return bound.einsum();
    if (name == "dft" || name == "stft") return bound.transformed();
    if (name == "reduce_sum" || name == "reduce_mean")
      return is_float(operand(0).dtype()) ? bound.sums(operand(0).elements() / std::max<int64_t>(1, value_->elements()))
                                          : Errors{};
    if (name == "mean_pool" || name == "avg_pool" || name == "avg_pool_gradient")
      return bound.sums(operand(0).elements());
    if (name == "gather_gradient") return bound.sums(operand(1).elements());
    if (name == "scatter_elements" || name == "scatter_nd") return bound.scattered();
    if (name == "max_pool_gradient") return bound.sums_at_extremes();
    return std::nullopt;
  }

  std::optional<Errors> rows() const {
    const std::string_view name = op_.name;
    const RowBound bound(*this);
    if (name == "softmax" || name == "log_softmax") return bound.softmax(name == "log_softmax");
    if (name == "layer_norm" || name == "rms_norm" || name == "l2_normalise") return bound.normalised();
    if (name == "softmax_gradient" || name == "log_softmax_gradient" || name == "layer_norm_gradient" ||
        name == "rms_norm_gradient" || name == "l2_normalise_gradient")
      return bound.gradient();
    return std::nullopt;
  }

  std::optional<Errors> resampled() const {
    const std::string_view name = op_.name;
    const ResamplingBound bound(*this);
    if (name == "resize" && attributes_.get_or<std::string>("mode", "nearest") != "nearest") return bound.resized();
    if (name == "grid_sample" && attributes_.get_or<std::string>("mode", "linear") != "cubic")
      return bound.sampled(std::ldexp(1.0, static_cast<int>(operand(0).shape().size()) - 2));
    if (const double samples = static_cast<double>(attributes_.get_or<int64_t>("sampling_ratio", 0));
        name == "roi_align" && samples > 0 && attributes_.get_or<std::string>("mode", "avg") == "avg")
      return bound.sampled(4 * samples * samples);
    return std::nullopt;
  }

  int64_t channels_of(const Tensor& images) const {
    return images.dim(attributes_.get_or<int64_t>("channels_last", 0) != 0 ? -1 : 1);
  }

  // --- element by element --------------------------------------------------------------------------------------------
  static uint64_t bits_of(Scalar type, double x) {
    if (type == Scalar::f32) return bits(static_cast<float>(x));
    if (type == Scalar::f64) return bits(x);
    return wrapped(type, static_cast<Wide>(x));
  }

  Errors pointwise() {
    std::vector<DType> dtypes;
    std::array<bool, 8> present{};
    for (size_t i = 0; i < operands_.size(); ++i) {
      present[i] = has(i);
      dtypes.push_back(has(i) ? operand(i).dtype() : DType::f32);
    }
    const Program program = pointwise_program(op_, dtypes, attributes_, std::span(present.data(), operands_.size()));
    const bool stays_exact =
        from_ == DistanceFrom::generated_code ? !has_transcendental(program) : std::string_view(op_.name) == "round_to";
    if (all_exact() && stays_exact) return {};
    const std::vector<int64_t> sizes = value_->shape();
    std::vector<std::vector<int64_t>> offsets(operands_.size());
    std::vector<Errors> values(operands_.size());
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!has(i)) continue;
      values[i] = operand(i).to_doubles();
      for_each_offset(sizes, strides_broadcast(operand(i).shape(), sizes),
                      [&](int64_t at) { offsets[i].push_back(at); });
    }
    ProgramBound bound(program, from_);
    Errors out;
    for (size_t e = 0; e < static_cast<size_t>(value_->elements()); ++e) {
      std::vector<uint64_t> args(operands_.size(), 0);
      Errors off(operands_.size(), 0.0);
      for (size_t i = 0; i < operands_.size(); ++i) {
        if (!has(i)) continue;
        const auto at = static_cast<size_t>(offsets[i][e]);
        args[i] = bits_of(compute_scalar(dtypes[i]), values[i][at]);
        if (!operands_[i]->exact()) off[i] = operands_[i]->error[at];
      }
      out.push_back(bound(args, off));
    }
    return out;
  }

  // --- attention -----------------------------------------------------------------------------------------------------
  // Of attention and of its gradient, whose mask is another operand.
  AttentionBound attention(size_t mask) const {
    const int64_t heads = attributes_.get<int64_t>("heads"), kv_heads = attributes_.get_or<int64_t>("kv_heads", heads);
    const int64_t columns = operand(0).dim(2) / heads;
    AttentionBound bound{.q = operand_row(0),
                         .k = operand_row(1),
                         .v = operand_row(2),
                         .mask = operand_row(mask),
                         .batches = operand(0).dim(0),
                         .queries = operand(0).dim(1),
                         .keys = operand(1).dim(1),
                         .heads = heads,
                         .kv_heads = kv_heads,
                         .columns = columns,
                         .value_columns = operand(2).dim(2) / kv_heads,
                         .scale = attributes_.get_or<double>("scale", 1 / std::sqrt(static_cast<double>(columns))),
                         .softcap = attributes_.get_or<double>("softcap", 0),
                         .is_chosen = has(mask) && operand(mask).dtype() == DType::boolean,
                         .blind_is_zero = attributes_.get_or<int64_t>("blind_is_zero", 0) != 0,
                         .rounds_weights = mask == 3 && operand(0).dtype() == DType::bf16 &&
                                           operand(1).dtype() == DType::bf16 && operand(2).dtype() == DType::bf16};
    if (attributes_.get_or<int64_t>("from_start", 0) == 0) bound.first = bound.keys - bound.queries;
    if (attributes_.has("before")) bound.before = attributes_.get<int64_t>("before");
    if (attributes_.has("behind")) bound.behind = attributes_.get<int64_t>("behind");
    if (attributes_.get_or<int64_t>("causal", 0) != 0) bound.behind = 0;
    if (mask == 3 && has(4)) bound.sinks = operand_row(4);
    if (has(mask))
      bound.mask_strides = strides_broadcast(operand(mask).shape(),
                                             std::vector<int64_t>{bound.batches, heads, bound.queries, bound.keys});
    return bound;
  }
};

struct BoundOptions {
  DistanceFrom from = DistanceFrom::generated_code;
  std::function<std::vector<double>(const Tensor& constant)> constant_error = {};  // empty: they are exact
};

// The nodes' results, from inputs and constants, which are there.
inline void follow_bounds(const Graph& concrete, std::vector<Bounded>& values, DistanceFrom from) {
  for (NodeId n : concrete.nodes()) {
    const Node& node = concrete.node(n);
    std::vector<const Bounded*> operands;
    for (ValueId v : node.operands) operands.push_back(v == kNone ? nullptr : &values[static_cast<size_t>(v)]);
    if (!node.subgraphs.empty()) {  // what bodies compute has to be exact
      std::vector<const Tensor*> tensors;
      for (const Bounded* operand : operands) tensors.push_back(operand ? &operand->value : nullptr);
      std::vector<Tensor> results = evaluate_node(*node.op, tensors, node.attributes, node.subgraphs);
      for (size_t i = 0; i < results.size(); ++i)
        values[static_cast<size_t>(node.results[i])].value = std::move(results[i]);
      continue;
    }
    std::vector<Bounded> results = NodeBound(*node.op, node.attributes, operands, from).run();
    for (size_t i = 0; i < results.size(); ++i) values[static_cast<size_t>(node.results[i])] = std::move(results[i]);
  }
}

// What computes them at once lies no further from the expansion's reference than code of the expansion does, whose
// values are rounded more often; and that is as far from the op's own reference as it is.
inline std::vector<Bounded> bounded_by_expansion(const OpDef& op, const Attributes& attributes,
                                                 std::span<const Bounded* const> operands, std::vector<Bounded> results,
                                                 DistanceFrom from) {
  std::vector<TensorType> types;
  std::vector<const TensorType*> given;
  for (const Bounded* operand : operands) types.push_back(operand ? operand->value.type() : TensorType());
  for (size_t i = 0; i < types.size(); ++i) given.push_back(operands[i] ? &types[i] : nullptr);
  if (std::ranges::any_of(results, [](const Bounded& each) { return each.value.elements() == 0; })) return results;
  const auto [graph, inputs] = expanded(op, attributes, given);
  if (graph.outputs().empty()) return results;
  std::vector<Bounded> values(graph.value_capacity());
  for (ValueId v : graph.constants()) values[static_cast<size_t>(v)].value = *graph.constant(v);
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) values[static_cast<size_t>(inputs[i])] = *operands[i];
  follow_bounds(graph, values, from);
  for (size_t i = 0; i < results.size(); ++i) {
    const Bounded& found = values[static_cast<size_t>(graph.outputs()[i].value)];
    const std::vector<double> own = found.value.to_doubles(), wanted = results[i].value.to_doubles();
    const double eps = unit_roundoff(results[i].value.dtype());
    for (size_t e = 0; e < own.size(); ++e)
      results[i].error.push_back(
          both_rounded_bound(wanted[e], std::abs(own[e] - wanted[e]) + (found.exact() ? 0 : found.error[e]), eps));
  }
  return results;
}

// The graph's outputs, in their order.
inline std::vector<Bounded> bounded_outputs(const Graph& graph, const std::map<std::string, Tensor>& inputs,
                                            const BoundOptions& options = {}) {
  const Graph concrete = specialise(graph, bind_inputs(graph, inputs));
  std::vector<Bounded> values(concrete.value_capacity());
  for (ValueId v : concrete.constants()) {
    Bounded& constant = values[static_cast<size_t>(v)];
    constant.value = *concrete.constant(v);
    if (options.constant_error) constant.error = options.constant_error(constant.value);
  }
  for (ValueId v : concrete.inputs()) values[static_cast<size_t>(v)].value = inputs.at(concrete.value(v).label);
  follow_bounds(concrete, values, options.from);
  std::vector<Bounded> outputs;
  for (const Output& output : concrete.outputs()) {
    outputs.push_back(values[static_cast<size_t>(output.value)]);
    if (Tensor& value = outputs.back().value; value.is_packed()) value = unpack(value);  // as callers get it
  }
  return outputs;
}

// What is wrong with `got`; "" when every element lies within its bound. Exact elements have the same bits (or are both
// NaN).
inline std::string element_fault_of(const Tensor& got, const Bounded& want) {
  if (got.container() != Container::none) return got.same_bits(want.value) ? "" : "holds other items";
  if (!(got.type() == want.value.type()))
    return fmt::format("is {} instead of {}", to_string(got.type()), to_string(want.value.type()));
  if (got.dtype() == DType::string) return got.same_bits(want.value) ? "" : "holds other strings";
  if (want.exact() && got.same_bits(want.value)) return "";
  const std::vector<double> x = got.to_doubles(), y = want.value.to_doubles();
  for (size_t i = 0; i < x.size(); ++i) {
    const double bound = want.exact() ? 0 : want.error[i];
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    const bool same = x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i]);
    if (!same && !(std::abs(x[i] - y[i]) <= bound))
      return fmt::format("element {} is {} instead of {}, {} off; bound {}", i, x[i], y[i], std::abs(x[i] - y[i]),
                         bound);
  }
  return "";
}

// Root mean squares of the errors and of the values, because single elements may cancel to nothing.
struct BoundSize {
  double error = 0, magnitude = 0;
};
inline BoundSize bound_size(const Bounded& want) {
  BoundSize size;
  const std::vector<double> y = want.value.to_doubles();
  for (size_t i = 0; i < y.size(); ++i) {
    if (!std::isfinite(y[i])) continue;
    if (!want.exact()) size.error += want.error[i] * want.error[i];
    size.magnitude += y[i] * y[i];
  }
  const auto count = static_cast<double>(std::max<size_t>(y.size(), 1));
  return {std::sqrt(size.error / count), std::sqrt(size.magnitude / count)};
}

// The same, and a bound as wide as the values, which would let anything pass, is a fault too.
inline std::string fault_of(const Tensor& got, const Bounded& want) {
  if (std::string fault = element_fault_of(got, want); !fault.empty()) return fault;
  if (want.exact()) return "";
  const auto [error, magnitude] = bound_size(want);
  return error <= magnitude / 4 ? "" : fmt::format("the bound says nothing: {} of {}", error, magnitude);
}

}  // namespace hone::test
