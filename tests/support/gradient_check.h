// Gradients, as rules emit them, held to central differences of the reference evaluation in double.
//
// The loss is the sum of all elements of the outputs times random weights. Differences are taken with steps h, 2h, 4h
// and extrapolated: D(h) = (4 d(h) - d(2h)) / 3 is off by a multiple of h^4, so D(2h) - D(h) is 15 times the error of
// D(h) where the loss is smooth. To that come the roundings of the outputs that change, over h: h = 2^-13 and outputs
// in f64 leave about 1e-10 of their size, 2^-6 and outputs that an op rounds to f32 about 1e-5. Where the sum is much
// larger, a kink or tie is within 4h, and nothing is said of that element.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/philox.h"
#include "gradients/gradient.h"
#include "ops/evaluate.h"
#include "tests/support/op_case.h"

namespace hone::test {

// Emits the gradients by each of the graph's inputs (kNone: zero), given those of its outputs (kNone where not a
// float).
using EmitGradients = std::function<std::vector<ValueId>(Graph&, std::span<const ValueId> d_outputs)>;

struct GradientReport {
  std::string fault;                    // "" where the gradients are right
  int checked = 0, skipped = 0;         // elements
  std::map<std::string, int> non_zero;  // of those that were checked, by input
};

class GradientCheck {
 public:
  // Symbols of the graph are bound by `inputs`. Differentiates by the inputs of f64 and f32.
  GradientCheck(const Graph& graph, std::map<std::string, Tensor> inputs, Philox& rng)
      : graph_(graph), inputs_(std::move(inputs)), rng_(rng) {
    for (const Tensor& output : evaluate(graph_, inputs_)) {
      std::vector<double> weights;
      const bool counts = is_float(output.dtype()) && output.container() == Container::none && !output.is_packed();
      if (counts)
        for (int64_t i = 0; i < output.elements(); ++i)
          weights.push_back(rng.uniform(0.5f, 2) * (rng.below(2) ? 1 : -1));
      weights_.push_back(std::move(weights));
      rounds_to_f32_ |= counts && output.dtype() == DType::f32;
      is_coarse_ |= counts && output.dtype() != DType::f32 && output.dtype() != DType::f64;
    }
    for (const auto& [name, tensor] : inputs_)
      if (is_float(tensor.dtype()) && tensor.container() == Container::none)
        largest_ = std::max(largest_, largest_of(tensor));
  }

  GradientReport run(const EmitGradients& emit) {
    Graph graph = graph_;
    std::vector<ValueId> d_outputs;
    for (size_t i = 0; i < weights_.size(); ++i) {
      const ValueId output = graph.outputs()[i].value;
      const std::vector<int64_t> sizes = constant_shape(graph.type(output).shape);
      const bool counts = !weights_[i].empty();
      d_outputs.push_back(counts ? graph.add_constant("", Tensor::from_doubles(gradient_dtype(graph.type(output).dtype),
                                                                               sizes, weights_[i]))
                                 : kNone);
    }
    const std::vector<ValueId> gradients = emit(graph, d_outputs);
    for (ValueId id : gradients)
      if (id != kNone) graph.add_output(id, fmt::format("gradient {}", graph.outputs().size()));
    verify(graph);
    std::vector<Tensor> values = evaluate(graph, inputs_);
    size_t next = weights_.size();
    GradientReport report;
    for (size_t i = 0; i < graph_.inputs().size() && report.fault.empty(); ++i) {
      const std::string& label = graph_.value(graph_.inputs()[i]).label;
      const Tensor& x = inputs_.at(label);
      const Tensor* gradient = i < gradients.size() && gradients[i] != kNone ? &values[next++] : nullptr;
      if (x.dtype() == DType::f64 || (x.dtype() == DType::f32 && !x.is_packed())) check(label, gradient, report);
    }
    return report;
  }

 private:
  static constexpr int kElements = 10;  // of each input
  // Of an evaluation in double, in unit roundoffs of the largest number in it: the longest sums of samples have a few
  // hundred terms, whose roundings are not all of one sign. Results in f32 are rounded a few times more, at their size.
  static constexpr double kRoundings = 64, kRoundingsF32 = 8;

  std::vector<std::vector<double>> outputs_at(const std::string& label, const Tensor& x) {
    std::map<std::string, Tensor> inputs = inputs_;
    inputs[label] = x;
    const std::vector<Tensor> outputs = evaluate(graph_, inputs);
    std::vector<std::vector<double>> values;
    for (size_t i = 0; i < outputs.size(); ++i)
      values.push_back(weights_[i].empty() ? std::vector<double>() : outputs[i].to_doubles());
    return values;
  }

  static double largest_of(const Tensor& x) {
    double largest = 0;
    for (double v : x.to_doubles())
      if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
    return largest;
  }

  struct Difference {
    double value = 0, error = 0;
  };

  Difference difference(const std::string& label, size_t element) {
    const Tensor& x = inputs_.at(label);
    std::vector<double> values = x.to_doubles();
    const double at = values[element], step = (rounds_to_f32_ ? 0x1p-6 : 0x1p-13) * std::max(1.0, std::abs(at));
    double rounding = 0;
    const auto stored = [&](double v) {
      return x.dtype() == DType::f32 ? static_cast<double>(static_cast<float>(v)) : v;
    };
    const auto slope = [&](double h) {
      const double up = values[element] = stored(at + h);
      const auto above = outputs_at(label, Tensor::from_doubles(x.dtype(), x.shape(), values));
      const double down = values[element] = stored(at - h);
      const auto below = outputs_at(label, Tensor::from_doubles(x.dtype(), x.shape(), values));
      double sum = 0, off = 0;
      for (size_t i = 0; i < above.size(); ++i)
        for (size_t k = 0; k < above[i].size(); ++k) {
          if (above[i][k] == below[i][k]) continue;
          const double size = std::max(std::abs(above[i][k]), std::abs(below[i][k]));
          sum += weights_[i][k] * (above[i][k] - below[i][k]);
          off += std::abs(weights_[i][k]) * (kRoundings * 0x1p-53 * std::max(size, largest_) +
                                             (rounds_to_f32_ ? kRoundingsF32 * 0x1p-24 * size : 0));
        }
      rounding = std::max(rounding, off);
      return sum / (up - down);
    };
    const double d1 = slope(step), d2 = slope(2 * step), d4 = slope(4 * step);
    const double fine = (4 * d1 - d2) / 3, coarse = (4 * d2 - d4) / 3;
    return {fine, std::abs(coarse - fine) + rounding / step};
  }

  void check(const std::string& label, const Tensor* gradient, GradientReport& report) {
    const Tensor& x = inputs_.at(label);
    if (x.elements() == 0 || is_coarse_) return;
    const std::vector<double> found =
        gradient ? gradient->to_doubles() : std::vector<double>(static_cast<size_t>(x.elements()), 0.0);
    if (gradient && gradient->shape() != x.shape()) {
      report.fault =
          fmt::format("the gradient by {} is {}, not {}", label, to_string(gradient->type()), to_string(x.type()));
      return;
    }
    const std::vector<double> values = x.to_doubles();
    for (int n = 0; n < kElements; ++n) {
      const size_t element = rng_.below(static_cast<uint32_t>(x.elements()));
      if (!std::isfinite(values[element])) continue;
      const Difference want = difference(label, element);
      const bool says_something = want.error <= 0x1p-7 * std::max(1.0, std::abs(want.value));
      ++(says_something ? report.checked : report.skipped);
      if (!says_something) continue;
      report.non_zero[label] += std::abs(want.value) > 4096 * want.error;
      const double unit = gradient && gradient->dtype() == DType::f32 ? 0x1p-24 : 0x1p-53;
      if (std::abs(found[element] - want.value) <= want.error + kRoundings * unit * std::abs(want.value)) continue;
      report.fault = fmt::format("the gradient by {}, element {}, is {}; the difference is {} within {:.2g}", label,
                                 element, found[element], want.value, want.error);
      return;
    }
  }

  const Graph& graph_;
  std::map<std::string, Tensor> inputs_;
  Philox& rng_;
  std::vector<std::vector<double>> weights_;        // by output; empty where it is no float
  double largest_ = 1;                              // of all inputs
  bool rounds_to_f32_ = false, is_coarse_ = false;  // an output is f32; of fewer bits, which differences do not show
};

// One call as a graph. Float operands that are no arguments of the op are inputs, in f64 where the op takes that, and
// moved at random by up to a thousandth of themselves, so that none is equal; the others are constants.
enum class InputSizes : uint8_t { constant, open };  // open: each above 1 is a symbol, equal ones the same
struct CallGraph {
  Graph graph;
  std::map<std::string, Tensor> inputs;
  NodeId node = kNone;
  std::vector<int> input_of;  // by operand: which of the graph's inputs it is; -1 for none
};

inline Tensor moved_apart(const Tensor& x, DType dtype, Philox& rng) {
  std::vector<double> values = x.to_doubles();
  for (double& v : values) v *= 1 + 1e-3 * rng.uniform(-1, 1);
  return Tensor::from_doubles(dtype, x.shape(), values);
}

inline CallGraph call_graph(const OpDef& op, const OpCase& one, DType dtype, Philox& rng,
                            InputSizes sizes = InputSizes::constant) {
  CallGraph call;
  std::vector<ValueId> operands;
  for (size_t i = 0; i < one.operands.size(); ++i) {
    call.input_of.push_back(-1);
    operands.push_back(kNone);
    if (!one.operands[i]) continue;
    const Tensor& x = *one.operands[i];
    const bool is_plain_float = is_float(x.dtype()) && !x.is_packed() && x.container() == Container::none;
    if (!is_plain_float || op.operands.of(i).argument) {
      operands.back() = call.graph.add_constant("", x);
      continue;
    }
    const std::string label = fmt::format("operand {}", i);
    call.inputs[label] = moved_apart(x, dtype, rng);
    call.input_of.back() = static_cast<int>(call.graph.inputs().size());
    TensorType type = call.inputs[label].type();
    for (Dim& dim : type.shape)
      if (sizes == InputSizes::open && dim.constant() > 1) dim = Dim::symbol("N" + dim.to_string());
    operands.back() = call.graph.add_input(label, type);
  }
  call.node = call.graph.add_node(op, operands, one.attributes);
  const std::vector<ValueId> results = call.graph.node(call.node).results;
  for (size_t i = 0; i < results.size(); ++i) call.graph.add_output(results[i], fmt::format("result {}", i));
  return call;
}

using Rule = std::function<std::vector<ValueId>(const GradientArgs&)>;

inline EmitGradients emit_by(const Rule& rule, const CallGraph& call) {
  return [&rule, &call](Graph& graph, std::span<const ValueId> d_outputs) {
    const size_t operands = call.input_of.size();
    const auto wanted = std::make_unique<bool[]>(operands);
    for (size_t i = 0; i < operands; ++i) wanted[i] = call.input_of[i] >= 0;
    const std::vector<ValueId> by_operand = rule({graph, call.node, d_outputs, {wanted.get(), operands}});
    std::vector<ValueId> gradients(graph.inputs().size(), kNone);
    for (size_t i = 0; i < operands && i < by_operand.size(); ++i)
      if (call.input_of[i] >= 0) gradients[static_cast<size_t>(call.input_of[i])] = by_operand[i];
    return gradients;
  };
}

// Of one call, by its op's rule or another.
inline GradientReport check_gradient(const OpDef& op, const OpCase& one, Philox& rng, const Rule& rule = gradients_of) {
  const auto run = [&](DType dtype) {
    const CallGraph call = call_graph(op, one, dtype, rng);
    return GradientCheck(call.graph, call.inputs, rng).run(emit_by(rule, call));
  };
  const auto takes_f64 = [&] {
    try {
      const CallGraph call = call_graph(op, one, DType::f64, rng);
      evaluate(call.graph, call.inputs);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  return run(takes_f64() ? DType::f64 : DType::f32);
}

}  // namespace hone::test
