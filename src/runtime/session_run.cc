#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/threads.h"
#include "ops/evaluate.h"
#include "runtime/placed_views.h"
#include "runtime/session_impl.h"
#include "runtime/state_loan.h"

namespace hone {

std::vector<Tensor> Session::Impl::timed_run(const NamedTensors& given, const InputViews& inputs,
                                             const OutputViews& outputs, RunProfile* profile, Context* context) {
  const int64_t begin = profile ? steady_ns() : 0;
  if (profile) *profile = {};
  const bool apart = std::ranges::any_of(outputs, [](const auto& view) { return view.second.strides.has_value(); });
  std::vector<Tensor> results = inputs.empty() && !apart ? run(given, {inputs, outputs, nullptr, {}},
                                                               {.views = &outputs, .profile = profile}, context)
                                                         : viewed_run(given, inputs, outputs, profile, context);
  if (profile) profile->begin_ns = begin, profile->end_ns = steady_ns();
  return results;
}

std::vector<Tensor> Session::Impl::viewed_run(const NamedTensors& given, const InputViews& inputs,
                                              const OutputViews& outputs, RunProfile* profile, Context* context) {
  const MemoryScope scope(budget.get());
  const bool apart = compiles() && options.device->is_host();
  PlacedViews placed = place_views(graph, given, inputs, outputs, apart, limits);
  // Of a device in the host's memory, whose stages stay.
  Stage* stage =
      placed.layouts.empty() ? nullptr : stages->now()->with_layouts(graph, placed.layouts, options.max_layouts);
  if (!stage && !placed.layouts.empty()) placed = place_views(graph, given, inputs, outputs, false, limits);
  return run(placed.inputs, {inputs, outputs, stage, placed.strides},
             {.views = &placed.outputs, .apart = &placed.apart, .profile = profile}, context);
}

std::vector<Tensor> Session::Impl::checked_run(const NamedTensors& given, Context* context) {
  return run(given, {{}, {}, nullptr, {}}, {.check = true}, context);
}

std::vector<Tensor> Session::Impl::told_run(const NamedTensors& given, const UpdateWritten& written, Context* context) {
  return run(given, {{}, {}, nullptr, {}}, {.written = &written}, context);
}

// The stages are taken before what is held. So values are of the generation of the device's memory that the run works
// in, or of a later one: then its queue, which all goes through, throws DeviceLost.
std::vector<Tensor> Session::Impl::run(const NamedTensors& given, const Views& views, const RunNotes& notes,
                                       Context* context) {
  const MemoryScope scope(budget.get());
  const RunPool::Run run(pool, context ? context->workspace_.get() : nullptr);
  const std::shared_ptr<MadeStages> made = stages ? stages->now() : nullptr;
  if (parameters->empty() && held.states.empty()) {
    check_views(output_names, given, views.inputs, views.outputs);
    std::vector<Tensor> results = results_of(given, views, notes, made.get(), run.workspace());
    move_to_views(results, views.outputs);
    return results;
  }
  refuse_held(given, context);
  NamedTensors inputs = given;
  std::optional<Parameters::Loan> parameter_loan;
  if (held.changing.empty()) parameters->add_to(inputs);
  else parameter_loan.emplace(*parameters, inputs, held.changing);
  std::map<std::string, HeldTensor> own;  // state of this run alone
  if (!context) own = begun_with(inputs);
  StateLoan state_loan(held, context ? context->state_ : own, inputs);
  RunNotes with_loan = notes;
  with_loan.lent = &inputs;
  check_views(output_names, inputs, views.inputs, views.outputs);
  std::vector<Tensor> results = results_of(inputs, views, with_loan, made.get(), run.workspace());
  move_to_views(results, views.outputs);
  for (size_t i = 0; i < held.updates.size(); ++i) {
    const auto& [name, role] = held.updates[i];
    HeldTensor value(std::move(results[output_names.size() + i]), made ? made->generation() : 0);
    if (role == InputRole::parameter) parameter_loan->set(name, std::move(value));
    else state_loan.set(name, std::move(value));
  }
  results.resize(output_names.size());
  return results;
}

std::vector<Tensor> Session::Impl::results_of(const NamedTensors& given, const Views& views, const RunNotes& notes,
                                              MadeStages* made, Workspace& workspace) const {
  if (!made) return interpret(given, notes, workspace);
  return (views.stage ? *views.stage : made->first).run(given, views.strides, own_code, workspace, notes);
}

void Session::Impl::refuse_held(const NamedTensors& given, const Context* context) const {
  for (const auto& [name, tensor] : given) {
    if (parameters->has(name))
      fail("\"{}\" is a parameter, which the session holds; set_parameters() changes it between runs", name);
    if (context && held.states.contains(name))
      fail("\"{}\" is state, which a context holds; Context::set_state() sets it", name);
  }
}

// State that is given with the inputs, and no longer among them.
std::map<std::string, HeldTensor> Session::Impl::begun_with(NamedTensors& inputs) const {
  std::map<std::string, HeldTensor> state;
  for (const auto& [name, initial] : held.states)
    if (auto given = inputs.extract(name)) state.emplace(name, HeldTensor(std::move(given.mapped())));
  return state;
}

std::vector<Tensor> Session::Impl::interpret(const NamedTensors& given, const RunNotes& notes,
                                             const Workspace& workspace) const {
  bind_inputs(graph, given);
  check_tokens(limits, given);
  const Busy busy;
  const RunNotes checks{.check = notes.check};  // a model that is interpreted has no steps to time
  NamedTensors inputs = given;
  for (auto& [name, tensor] : inputs) tensor = tensor.on_host();
  return evaluate(graph, inputs, after_each(graph, inputs, workspace, checks));
}

// Outputs that lie elsewhere, to where the caller wants them.
void Session::Impl::move_to_views(std::vector<Tensor>& results, const OutputViews& views) const {
  for (size_t i = 0; i < output_names.size(); ++i) {
    const auto found = views.find(output_names[i]);
    if (found == views.end()) continue;
    const auto& [label, view] = *found;
    const std::span<const std::byte> bytes = results[i].data().bytes();
    const bool is_written = bytes.empty() && results[i].shape().empty();  // where elements lie apart
    if (is_written || bytes.data() == view.first()) continue;
    check_fits(label, view, results[i].dtype(), results[i].shape());
    if (view.strides) {
      copy_elements(view.shape, size_bytes(view.dtype), bytes.data(), Strides::dense(view.shape), view.bytes.data(),
                    *view.strides);
      results[i] = Tensor();
      continue;
    }
    if (!bytes.empty()) std::memcpy(view.bytes.data(), bytes.data(), bytes.size());
    results[i] = Tensor(view.dtype, view.shape, Buffer(nullptr, view.bytes));
  }
}

}  // namespace hone
