#include "runtime/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

#include "base/clock.h"
#include "base/threads.h"
#include "ops/evaluate.h"
#include "runtime/own_code.h"
#include "runtime/parameters.h"
#include "runtime/placed_views.h"
#include "runtime/stage.h"
#include "runtime/token_limits.h"

namespace hone {

std::string_view device_name(const SessionOptions& options) { return options.device ? options.device->name() : "cpu"; }

std::vector<std::string> SessionStatistics::notes() const {
  std::vector<std::string> notes;
  for (const std::string& note : {cache_problem, objects_note})
    if (!note.empty()) notes.push_back(note);
  return notes;
}

namespace {

// What a graph reads beside what callers give, and what of it changes in a run.
struct HeldValues {
  std::map<std::string, std::optional<Tensor>> states;  // and what they begin as
  struct Update {
    std::string name;
    InputRole role;
  };
  std::vector<Update> updates;        // the results behind the outputs
  std::vector<std::string> changing;  // parameters among them

  explicit HeldValues(const Graph& graph) {
    for (ValueId id : graph.inputs())
      if (const Value& input = graph.value(id); input.role == InputRole::state) states[input.label] = input.initial;
    for (const Output& output : graph.outputs()) {
      if (output.updates == kNone) continue;
      const Value& held = graph.value(output.updates);
      updates.push_back({held.label, held.role});
      if (held.role == InputRole::parameter) changing.push_back(held.label);
    }
  }
};

std::string text_of(const Layouts& layouts) {
  std::string text;
  for (const auto* values : {&layouts.inputs, &layouts.outputs}) {
    for (const auto& [label, strides] : *values) text += fmt::format("{} {}\n", label, to_string(strides));
    text += '\n';
  }
  return text;
}

// State that is lent to one run, which alone looks at its bytes then, unless someone did before.
class StateLoan {
 public:
  StateLoan(const HeldValues& held, std::map<std::string, Tensor>* state, NamedTensors& inputs)
      : state_(state), inputs_(inputs) {
    for (const auto& [name, initial] : held.states) {
      if (!state) fail("the model keeps state (\"{}\"): run it with a Context, which holds it", name);
      const auto found = state->find(name);
      if (found == state->end() && !initial)
        fail("state \"{}\" is read before it is set; Context::set_state() sets it", name);
      inputs.insert_or_assign(name, found == state->end() ? *initial : found->second);
    }
    for (const HeldValues::Update& update : held.updates) {
      if (update.role != InputRole::state) continue;
      const auto [place, is_new] = state->try_emplace(update.name);
      lent_.push_back({&*place, is_new});
      place->second = Tensor();
    }
  }
  ~StateLoan() {
    for (const Lent& lent : lent_) {
      if (lent.set) continue;
      if (lent.is_new) state_->erase(lent.place->first);
      else lent.place->second = std::move(inputs_.at(lent.place->first));
    }
  }
  StateLoan(const StateLoan&) = delete;
  StateLoan& operator=(const StateLoan&) = delete;

  void set(const std::string& name, const Tensor& value) noexcept {
    for (Lent& lent : lent_)
      if (lent.place->first == name) lent.place->second = value, lent.set = true;
  }

 private:
  struct Lent {
    std::pair<const std::string, Tensor>* place;
    bool is_new, set = false;
  };
  std::map<std::string, Tensor>* state_;
  NamedTensors& inputs_;
  std::vector<Lent> lent_;
};

}  // namespace

struct Session::Impl {
  SessionOptions options;
  Compute compute = Compute::f32;
  Graph graph;
  TokenLimits limits;
  double prepare_milliseconds = 0;
  RunPool pool;
  std::vector<Bindings> own_code;        // sizes for which the model bundles some
  std::unique_ptr<StagesShared> shared;  // where code is compiled
  std::unique_ptr<Stage> first;
  std::mutex laid_mutex;
  std::map<std::string, std::unique_ptr<Stage>> laid;  // for runs in which something lies apart, by the text of that
  const std::shared_ptr<Parameters> parameters;
  const HeldValues held;
  std::vector<std::string> output_names;

  Impl(const Graph& given, const Session* owner)
      : parameters(owner ? owner->impl_->parameters : std::make_shared<Parameters>(given)), held(given) {
    if (owner) parameters->check_same(given);
    for (const Output& output : given.outputs())
      if (output.updates == kNone) output_names.push_back(output.label);
  }

  bool compiles() const { return options.compiles(); }

  // What a run reads and writes of its caller's memory.
  struct Views {
    const InputViews& inputs;
    const OutputViews& outputs;
    Stage* stage;  // null: the first
    const Bindings& strides;
  };

  std::vector<Tensor> run(const NamedTensors& given, const Views& views, const RunNotes& notes, Context* context) {
    const RunPool::Run run(pool, context ? context->workspace_.get() : nullptr);
    if (parameters->empty() && held.states.empty()) {
      check_views(output_names, given, views.inputs, views.outputs);
      std::vector<Tensor> results = results_of(given, views, notes, run.workspace());
      move_to_views(results, views.outputs);
      return results;
    }
    refuse_held(given);
    NamedTensors inputs = given;
    std::optional<Parameters::Loan> parameter_loan;
    if (held.changing.empty()) parameters->add_to(inputs);
    else parameter_loan.emplace(*parameters, inputs, held.changing);
    StateLoan state_loan(held, context ? &context->state_ : nullptr, inputs);
    RunNotes with_loan = notes;
    with_loan.lent = &inputs;
    check_views(output_names, inputs, views.inputs, views.outputs);
    std::vector<Tensor> results = results_of(inputs, views, with_loan, run.workspace());
    move_to_views(results, views.outputs);
    for (size_t i = 0; i < held.updates.size(); ++i) {
      const auto& [name, role] = held.updates[i];
      const Tensor& value = results[output_names.size() + i];
      if (role == InputRole::parameter) parameter_loan->set(name, value);
      else state_loan.set(name, value);
    }
    results.resize(output_names.size());
    return results;
  }

  std::vector<Tensor> results_of(const NamedTensors& given, const Views& views, const RunNotes& notes,
                                 Workspace& workspace) {
    if (!first) return interpret(given, notes, workspace);
    return (views.stage ? *views.stage : *first).run(given, views.strides, own_code, workspace, notes);
  }

  void refuse_held(const NamedTensors& given) const {
    for (const auto& [name, tensor] : given) {
      if (parameters->has(name))
        fail("\"{}\" is a parameter, which the session holds; set_parameters() changes it between runs", name);
      if (held.states.contains(name))
        fail("\"{}\" is state, which a context holds; Context::set_state() sets it", name);
    }
  }

  std::vector<Tensor> interpret(const NamedTensors& given, const RunNotes& notes, const Workspace& workspace) {
    bind_inputs(graph, given);
    check_tokens(limits, given);
    const Busy busy;
    const RunNotes checks{.check = notes.check};  // a model that is interpreted has no steps to time
    NamedTensors inputs = given;
    for (auto& [name, tensor] : inputs) tensor = tensor.on_host();
    return evaluate(graph, inputs, after_each(graph, inputs, workspace, checks));
  }

  // Outputs that lie elsewhere, to where the caller wants them.
  void move_to_views(std::vector<Tensor>& results, const OutputViews& views) const {
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

  // For runs in which these lie apart; null when there are too many others.
  Stage* stage_for(const Layouts& layouts) {
    const std::lock_guard lock(laid_mutex);
    const std::string text = text_of(layouts);
    auto found = laid.find(text);
    if (found == laid.end()) {
      if (laid.size() >= options.max_layouts) return nullptr;
      found = laid.emplace(text, std::make_unique<Stage>(graph, *shared, shared->kernels, 0, layouts)).first;
    }
    return found->second.get();
  }

  std::vector<Tensor> viewed_run(const NamedTensors& given, const InputViews& inputs, const OutputViews& outputs,
                                 RunProfile* profile, Context* context) {
    const bool apart = first && compiles() && shared->kernels.device->is_host();
    PlacedViews placed = place_views(graph, given, inputs, outputs, apart, limits);
    Stage* stage = placed.layouts.empty() ? nullptr : stage_for(placed.layouts);
    if (!stage && !placed.layouts.empty()) placed = place_views(graph, given, inputs, outputs, false, limits);
    return run(placed.inputs, {inputs, outputs, stage, placed.strides},
               {.views = &placed.outputs, .apart = &placed.apart, .profile = profile}, context);
  }

  std::vector<Tensor> timed_run(const NamedTensors& given, const InputViews& inputs, const OutputViews& outputs,
                                RunProfile* profile, Context* context) {
    const int64_t begin = profile ? steady_ns() : 0;
    if (profile) *profile = {};
    const bool apart = std::ranges::any_of(outputs, [](const auto& view) { return view.second.strides.has_value(); });
    std::vector<Tensor> results = inputs.empty() && !apart ? run(given, {inputs, outputs, nullptr, {}},
                                                                 {.views = &outputs, .profile = profile}, context)
                                                           : viewed_run(given, inputs, outputs, profile, context);
    if (profile) profile->begin_ns = begin, profile->end_ns = steady_ns();
    return results;
  }

  std::vector<Tensor> checked_run(const NamedTensors& given, Context* context) {
    return run(given, {{}, {}, nullptr, {}}, {.check = true}, context);
  }

  int64_t direct_bytes(const Executable& made) const {
    std::map<ValueId, int64_t> direct;
    for (const Step& step : made.lowered().steps)
      for (const PointerBinding& pointer : step->pointers)
        if (pointer.plane == PointerBinding::Plane::data && pointer.value != kNone)
          if (const ValueId v = made.lowered().alias_of[static_cast<size_t>(pointer.value)];
              v < static_cast<ValueId>(graph.value_capacity()))
            if (const Tensor* constant = graph.constant(v)) direct[v] = constant->bytes();
    int64_t total = 0;
    for (const auto& [value, bytes] : direct) total += bytes;
    return total;
  }
};

Session::Session(Graph graph, SessionOptions options) : impl_(std::make_unique<Impl>(graph, options.parameters_of)) {
  const auto start = std::chrono::steady_clock::now();
  impl_->options = std::move(options);
  impl_->options.parameters_of = nullptr;  // it may go before this one
  impl_->compute = impl_->options.compute ? *impl_->options.compute : stored_compute(graph);
  const SessionOptions& o = impl_->options;
  if (o.threads < 1) fail("threads is {}; at least 1 is needed", o.threads);
  impl_->limits = token_limits(graph);
  if (!o.bundled.empty()) impl_->own_code = sizes_with_own_code(graph);
  if (o.no_fallback && o.optimise < 2)
    fail("--no-fallback asks for a kernel for each step, and -O{} for none: leave one of them out", o.optimise);
  if (o.max_specialisations < 1) fail("max_specialisations is 0; at least 1 is needed");
  if (o.optimise >= 2) impl_->options.device = device_or_cpu(o.device);
  if (o.optimise == 0 && impl_->compute == Compute::f32) impl_->graph = std::move(graph);
  else if (impl_->compiles() || impl_->compute != Compute::f32)
    impl_->graph = prepare_for_codegen(std::move(graph), impl_->compute, o.pipeline,
                                       o.device ? o.device->pipeline() : kChannelsLast);
  else impl_->graph = canonicalise(std::move(graph), o.pipeline);
  impl_->graph.compact();
  if (o.optimise >= 2) {
    const std::shared_ptr<Device>& device = o.device;
    if (o.no_fallback && !device->compiles())
      fail("--no-fallback: device {} has no kernels at all; leave the flag out, or choose another --device",
           device->name());
    impl_->shared = std::make_unique<StagesShared>(
        LowerOptions{.device = device,
                     .host = host_kernels_for(*device),
                     .no_fallback = o.no_fallback,
                     .fuse = o.fuse && device->compiles(),
                     .no_winograd = o.no_winograd},
        o.max_specialisations, impl_->limits, impl_->pool, device,
        CompilerOptions{
            .threads = o.threads, .cache_folder = o.cache_folder, .bundled = o.bundled, .keep_objects = o.keep_objects},
        static_cast<ValueId>(impl_->graph.value_capacity()));
    impl_->first = std::make_unique<Stage>(impl_->graph, *impl_->shared, impl_->shared->kernels);
  }
  impl_->prepare_milliseconds = milliseconds_since(start);
}

Session::~Session() {
  if (impl_) close();
}
Session::Session(Session&&) noexcept = default;

std::vector<Tensor> Session::run(const NamedTensors& inputs, RunProfile* profile) {
  return impl_->timed_run(inputs, {}, {}, profile, nullptr);
}

std::vector<Tensor> Session::run(Context& context, const NamedTensors& inputs, RunProfile* profile) {
  return impl_->timed_run(inputs, {}, {}, profile, &context);
}

std::vector<Tensor> Session::run(Context& context, const NamedTensors& inputs, const OutputViews& outputs,
                                 RunProfile* profile) {
  return impl_->timed_run(inputs, {}, outputs, profile, &context);
}

std::vector<Tensor> Session::run(Context& context, const NamedTensors& inputs, const InputViews& views,
                                 const OutputViews& outputs, RunProfile* profile) {
  return impl_->timed_run(inputs, views, outputs, profile, &context);
}

std::vector<Tensor> Session::run(Context& context, const NamedTensors& inputs, const UpdateWritten& written) {
  return impl_->run(inputs, {{}, {}, nullptr, {}}, {.written = &written}, &context);
}

std::vector<Tensor> Session::run_checked(const NamedTensors& inputs) { return impl_->checked_run(inputs, nullptr); }

std::vector<Tensor> Session::run_checked(Context& context, const NamedTensors& inputs) {
  return impl_->checked_run(inputs, &context);
}

void Session::prepare(const Bindings& bindings, Code code) {
  for (const std::string& symbol : impl_->graph.symbols())
    if (bindings.count(symbol) == 0) fail("dimension {} of the model's inputs has no value", symbol);
  const RunPool::Run run(impl_->pool);
  if (impl_->first) impl_->first->specialised(bindings, run.workspace(), code == Code::these_sizes);
}

void Session::close() { impl_->pool.close(); }

std::string Session::objects() const {
  CHECK(impl_->compiles());
  const std::lock_guard lock(impl_->shared->making);
  return impl_->shared->kernels.compiler->bundle();
}

const Graph& Session::graph() const { return impl_->graph; }
std::vector<std::string> Session::output_names() const { return impl_->output_names; }
std::vector<std::string> Session::parameter_names() const { return impl_->parameters->names(); }
Tensor Session::parameter(const std::string& name) const { return impl_->parameters->get(name); }
int64_t Session::parameter_version(const std::string& name) const { return impl_->parameters->version(name); }
void Session::set_parameters(const NamedTensors& values) { impl_->parameters->set(values); }
void Session::forget_laid_out() {
  if (!impl_->shared) return;
  impl_->shared->kernels.parameters.clear();
  if (const auto& host = impl_->shared->kernels.on_host) host->parameters.clear();
}
SessionStatistics Session::statistics() const {
  SessionStatistics statistics;
  if (impl_->shared) {
    const std::lock_guard lock(impl_->shared->mutex);
    statistics = impl_->shared->statistics;
    if (impl_->shared->last) statistics.direct_weight_bytes = impl_->direct_bytes(impl_->shared->last->executable);
  }
  statistics.prepare_milliseconds = impl_->prepare_milliseconds;
  statistics.workspaces = impl_->pool.made();
  return statistics;
}
const Device* Session::device() const { return impl_->compiles() ? impl_->options.device.get() : nullptr; }
Compute Session::compute() const { return impl_->compute; }

}  // namespace hone
