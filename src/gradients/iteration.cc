#include "gradients/iteration.h"

#include "gradients/accumulate.h"
#include "ir/inline_graph.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/control.h"

namespace hone {
namespace {

using List = std::vector<int64_t>;
using Values = std::vector<ValueId>;

void append(Values& to, const Values& more) { to.insert(to.end(), more.begin(), more.end()); }

TensorType gradient_type(TensorType type) {
  type.dtype = gradient_dtype(type.dtype);
  return type;
}

ValueId zeros_like(Graph& g, const TensorType& type) { return zeros(g, gradient_dtype(type.dtype), type.shape); }

// The iterations walked backwards.
class Backward {
 public:
  Backward(Graph& graph, const Iteration& forward, std::span<const ValueId> d_results, std::span<const bool> wanted)
      : g_(graph), forward_(forward), d_results_(d_results), wanted_(wanted) {}

  Values run() {
    const Values kept = starting_states();
    const size_t states = forward_.states.size(), sliced = forward_.sliced.size();
    // Carried from iteration to iteration: the states' gradients, and sums of the captures'.
    for (size_t i = 0; i < states; ++i)
      if (is_differentiable(forward_.states[i]))
        carry(i, d_results_[i] != kNone ? d_results_[i] : zeros_like(g_, g_.type(forward_.states[i])));
    for (size_t i = 0; i < forward_.captures.size(); ++i)
      if (wanted_[states + sliced + i] && is_differentiable(forward_.captures[i]))
        carry(states + sliced + i, zeros_like(g_, g_.type(forward_.captures[i])));
    // Taken slice by slice: the states, what is sliced forward, the gradients of what is collected.
    Values inputs;
    for (size_t i = 0; i < states; ++i) inputs.push_back(slice(kept[i], body_type(i), 0, 1));
    for (size_t i = 0; i < sliced; ++i)
      inputs.push_back(slice(forward_.sliced[i], body_type(states + i), forward_.axes[i], 1 - forward_.directions[i]));
    Values d_outputs(d_results_.size(), kNone);
    for (size_t i = states; i < d_results_.size(); ++i)
      if (d_results_[i] != kNone)
        d_outputs[i] = slice(d_results_[i], gradient_type(forward_.body.type(forward_.body.outputs()[i].value)),
                             forward_.result_axes[i - states], 1 - forward_.result_directions[i - states]);
    for (size_t i = 0; i < forward_.captures.size(); ++i)
      inputs.push_back(body_.add_input(fmt::format("capture {}", i), body_type(states + sliced + i)));
    back_.captures = forward_.captures;

    const Values outputs = inline_graph(body_, forward_.body, inputs);
    for (const Carried& each : carried_)
      if (each.input < states) d_outputs[each.input] = each.d;
    std::vector<Seed> seeds;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (d_outputs[i] != kNone) seeds.push_back({outputs[i], d_outputs[i]});
    return unpack(emit_body(seeds, inputs));
  }

 private:
  struct Carried {
    size_t input;  // of the forward body
    ValueId d;     // of this one: its gradient so far
  };

  bool is_differentiable(ValueId v) const {
    const TensorType& type = g_.type(v);
    return is_float(type.dtype) && !type.is_packed() && type.container == Container::none;
  }
  const TensorType& body_type(size_t input) const { return forward_.body.type(forward_.body.inputs()[input]); }

  // Each state as the iterations found it, along a new first axis.
  Values starting_states() {
    if (forward_.states.empty()) return {};
    Iteration recording = forward_;
    const size_t states = forward_.states.size();
    std::vector<Output> outputs(forward_.body.outputs().begin(),
                                forward_.body.outputs().begin() + static_cast<ptrdiff_t>(states));
    for (size_t i = 0; i < states; ++i) outputs.push_back({recording.body.inputs()[i], fmt::format("kept {}", i)});
    recording.body.set_outputs(outputs);
    recording.result_axes = recording.result_directions = List(states, 0);
    const Values results = emit_iteration(g_, recording);
    return {results.begin() + static_cast<ptrdiff_t>(states), results.end()};
  }

  void carry(size_t input, ValueId initial) {
    carried_.push_back({input, body_.add_input(fmt::format("d {}", input), gradient_type(body_type(input)))});
    back_.states.push_back(initial);
  }

  ValueId slice(ValueId v, const TensorType& type, int64_t axis, int64_t direction) {
    back_.sliced.push_back(v);
    back_.axes.push_back(axis);
    back_.directions.push_back(direction);
    return body_.add_input(fmt::format("slice {}", back_.sliced.size()), type);
  }

  // The body's outputs: what it carries on, then the gradients of the slices.
  Values emit_body(const std::vector<Seed>& seeds, const Values& inputs) {
    const Values gradients = accumulate_gradients(body_, seeds, inputs);
    const size_t states = forward_.states.size();
    for (const Carried& each : carried_) {
      ValueId d = gradients[each.input];
      if (each.input >= states) d = d == kNone ? each.d : ops::add(body_, {each.d, d});
      else if (d == kNone) d = zeros_like(body_, body_.type(inputs[each.input]));
      body_.add_output(d, fmt::format("d {}", each.input));
    }
    for (size_t i = 0; i < forward_.sliced.size(); ++i) {
      const ValueId d = gradients[states + i];
      if (d == kNone || !wanted_[states + i]) continue;
      body_.add_output(d, fmt::format("d {}", states + i));
      collected_.push_back(states + i);
      back_.result_axes.push_back(forward_.axes[i]);
      back_.result_directions.push_back(1 - forward_.directions[i]);
    }
    back_.body = std::move(body_);
    return back_.body.outputs().empty() ? Values() : emit_iteration(g_, back_);
  }

  Values unpack(const Values& results) const {
    Values gradients(forward_.states.size() + forward_.sliced.size() + forward_.captures.size(), kNone);
    size_t next = 0;
    for (const Carried& each : carried_) gradients[each.input] = results[next++];
    for (size_t input : collected_) gradients[input] = results[next++];
    return gradients;
  }

  Graph& g_;
  const Iteration& forward_;
  std::span<const ValueId> d_results_;
  std::span<const bool> wanted_;
  Graph body_;
  Iteration back_;
  std::vector<Carried> carried_;
  std::vector<size_t> collected_;  // inputs of the forward body
};

}  // namespace

Values emit_iteration(Graph& graph, const Iteration& iteration) {
  Values operands = iteration.states;
  append(operands, iteration.sliced);
  append(operands, iteration.captures);
  return graph.emit_all({&scan_def,
                         operands,
                         {{"states", std::ssize(iteration.states)},
                          {"scans", std::ssize(iteration.sliced)},
                          {"scan_axes", iteration.axes},
                          {"scan_directions", iteration.directions},
                          {"result_axes", iteration.result_axes},
                          {"result_directions", iteration.result_directions}},
                         {iteration.body}});
}

Values iteration_gradient(Graph& graph, const Iteration& iteration, std::span<const ValueId> d_results,
                          std::span<const bool> wanted) {
  return Backward(graph, iteration, d_results, wanted).run();
}

}  // namespace hone
