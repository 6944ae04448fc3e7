#include "runtime/session.h"

#include <chrono>
#include <map>

#include "base/clock.h"
#include "runtime/own_code.h"
#include "runtime/session_impl.h"

namespace hone {

std::string_view device_name(const SessionOptions& options) { return options.device ? options.device->name() : "cpu"; }

std::vector<std::string> SessionStatistics::notes() const {
  std::vector<std::string> notes;
  for (const std::string& note : {cache_problem, objects_note})
    if (!note.empty()) notes.push_back(note);
  return notes;
}

namespace {

// Of constants of the graph that kernels read where they are.
int64_t direct_bytes(const Executable& made) {
  const Graph& graph = made.graph();
  std::map<ValueId, int64_t> direct;
  for (const Step& step : made.lowered().steps)
    for (const PointerBinding& pointer : step->pointers)
      if (pointer.plane == PointerBinding::Plane::data && pointer.value != kNone)
        if (const ValueId v = made.lowered().alias_of[static_cast<size_t>(pointer.value)]; v < made.shared_values())
          if (const Tensor* constant = graph.constant(v)) direct[v] = constant->bytes();
  int64_t total = 0;
  for (const auto& [value, bytes] : direct) total += bytes;
  return total;
}

}  // namespace

Session::Impl::Impl(const Graph& given, const Session* owner)
    : parameters(owner ? owner->impl_->parameters : std::make_shared<Parameters>(given)), held(given) {
  if (owner) parameters->check_same(given);
  for (const Output& output : given.outputs())
    if (output.updates == kNone) output_names.push_back(output.label);
}

Graph Session::Impl::prepared(Graph given) const {
  if (options.optimise == 0 && compute == Compute::f32) {
  } else if (compiles() || compute != Compute::f32) {
    given = prepare_for_codegen(std::move(given), compute, options.pipeline,
                                options.device ? options.device->pipeline() : kChannelsLast);
  } else {
    given = canonicalise(std::move(given), options.pipeline);
  }
  given.compact();
  return given;
}

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
  if (o.memory_limit < 0) fail("memory_limit is {}; a number of bytes, or 0 for none, is needed", o.memory_limit);
  if (o.memory_limit > 0) impl_->budget = std::make_shared<MemoryBudget>(o.memory_limit);
  const MemoryScope scope(impl_->budget.get());
  if (o.max_specialisations < 1) fail("max_specialisations is 0; at least 1 is needed");
  if (o.optimise >= 2) impl_->options.device = device_or_cpu(o.device);
  impl_->graph = impl_->prepared(std::move(graph));
  if (o.optimise >= 2) {
    const std::shared_ptr<Device>& device = o.device;
    if (o.no_fallback && !device->compiles())
      fail("--no-fallback: device {} has no kernels at all; leave the flag out, or choose another --device",
           device->name());
    impl_->stages =
        std::make_unique<SessionStages>(impl_->graph, impl_->limits, impl_->pool, o,
                                        [impl = impl_.get()](Graph g) { return impl->prepared(std::move(g)); });
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
  return impl_->told_run(inputs, written, &context);
}

std::vector<Tensor> Session::run_checked(const NamedTensors& inputs) { return impl_->checked_run(inputs, nullptr); }

std::vector<Tensor> Session::run_checked(Context& context, const NamedTensors& inputs) {
  return impl_->checked_run(inputs, &context);
}

void Session::prepare(const Bindings& bindings, Code code) {
  for (const std::string& symbol : impl_->graph.symbols())
    if (bindings.count(symbol) == 0) fail("dimension {} of the model's inputs has no value", symbol);
  const MemoryScope scope(impl_->budget.get());
  const RunPool::Run run(impl_->pool);
  if (!impl_->stages) return;
  const std::shared_ptr<MadeStages> made = impl_->stages->now();
  made->first.specialised(bindings, run.workspace(), code == Code::these_sizes);
}

void Session::close() { impl_->pool.close(); }

std::string Session::objects() const {
  CHECK(impl_->compiles());
  const std::shared_ptr<MadeStages> made = impl_->stages->last();
  const std::lock_guard lock(made->shared.making);
  return made->shared.kernels.compiler->bundle();
}

const Graph& Session::graph() const { return impl_->graph; }
std::vector<std::string> Session::output_names() const { return impl_->output_names; }
std::vector<std::string> Session::parameter_names() const { return impl_->parameters->names(); }
Tensor Session::parameter(const std::string& name) const { return impl_->parameters->get(name); }
int64_t Session::parameter_version(const std::string& name) const { return impl_->parameters->version(name); }
void Session::set_parameters(const NamedTensors& values) { impl_->parameters->set(values); }
void Session::forget_laid_out() {
  if (!impl_->stages) return;
  const std::shared_ptr<MadeStages> made = impl_->stages->last();
  made->shared.kernels.parameters.clear();
  if (const auto& host = made->shared.kernels.on_host) host->parameters.clear();
}
SessionStatistics Session::statistics() const {
  SessionStatistics statistics;
  if (impl_->stages) {
    const std::shared_ptr<MadeStages> made = impl_->stages->last();
    const std::lock_guard lock(made->shared.mutex);
    statistics = made->shared.statistics;
    if (const auto& last = made->shared.last) statistics.direct_weight_bytes = direct_bytes(last->executable);
  }
  statistics.prepare_milliseconds = impl_->prepare_milliseconds;
  statistics.workspaces = impl_->pool.made();
  return statistics;
}
const Device* Session::device() const { return impl_->compiles() ? impl_->options.device.get() : nullptr; }
Compute Session::compute() const { return impl_->compute; }

}  // namespace hone
