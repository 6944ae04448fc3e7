#include "runtime/session.h"

#include <malloc.h>

#include <chrono>
#include <list>

#include "base/clock.h"
#include "codegen/llvm/compiler.h"
#include "ops/evaluate.h"
#include "runtime/check_finite.h"
#include "runtime/executable.h"
#include "runtime/split_graph.h"
#include "runtime/token_limits.h"

namespace hone {
namespace {

// Where a run leaves its times, and whether its results are looked at.
struct RunNotes {
  RunProfile* profile = nullptr;
  bool check = false;
};

// For models that are interpreted as a whole.
AfterNode finite_check(const Graph& graph, const NamedTensors& inputs) {
  return [&](NodeId n, std::span<const Tensor> results) {
    const Node& node = graph.node(n);
    for (size_t i = 0; i < results.size(); ++i)
      require_finite(graph, node.results[i], results[i], node.op->name, node.operands, inputs);
  };
}

// A specialisation: the part with constant shapes, compiled, and where shapes depend on data, the rest.
struct Specialised {
  Executable executable;
  std::vector<std::string> handed;  // labels of the executable's outputs
  std::optional<Graph> open;
  Bindings bindings;
  std::shared_ptr<const std::vector<StepProfile>> steps;

  std::vector<Tensor> run(const NamedTensors& inputs, Workspace& workspace, const RunNotes& notes) {
    if (notes.profile) {
      notes.profile->steps = *steps;
      notes.profile->owner = steps;
      notes.profile->marks_ns.clear();
      notes.profile->marks_ns.reserve(steps->size() + 1);
    }
    std::vector<Tensor> results = executable.run(inputs, workspace, notes.profile, notes.check);
    return open ? run_open(inputs, std::move(results), notes) : results;
  }

 private:
  std::vector<Tensor> run_open(const NamedTensors& inputs, std::vector<Tensor> results, const RunNotes& notes) const {
    NamedTensors handed_on;
    for (size_t i = 0; i < handed.size(); ++i) handed_on.emplace(handed[i], std::move(results[i]));
    std::vector<Tensor> values;
    for (ValueId v : open->inputs()) {
      const std::string& label = open->value(v).label;
      const auto found = handed_on.find(label);
      values.push_back(found == handed_on.end() ? inputs.at(label) : found->second);
    }
    if (notes.check) return evaluate_body(*open, std::move(values), bindings, finite_check(*open, inputs));
    if (!notes.profile) return evaluate_body(*open, std::move(values), bindings);
    return evaluate_body(*open, std::move(values), bindings,
                         [&](NodeId, std::span<const Tensor>) { notes.profile->marks_ns.push_back(steady_ns()); });
  }
};

std::vector<StepProfile> steps_of(const Executable& executable, const std::optional<Graph>& open) {
  std::vector<StepProfile> steps = executable.step_profiles();
  if (!open) return steps;
  for (NodeId n : open->nodes())
    steps.push_back({.name = open->value(open->node(n).results[0]).name,
                     .kind = "interpreted",
                     .ops = open->node(n).op->name,
                     .why_interpreted = "shapes depend on data"});
  return steps;
}

}  // namespace

std::vector<std::string> SessionStatistics::notes() const {
  std::vector<std::string> notes;
  for (const std::string& note : {cache_problem, objects_note})
    if (!note.empty()) notes.push_back(note);
  return notes;
}

struct Session::Impl {
  SessionOptions options;
  Compute compute = Compute::f32;
  std::optional<Target> target;  // none: nothing is compiled
  Graph graph;
  TokenLimits limits;
  SessionStatistics statistics;
  std::unique_ptr<KernelLibrary> library;
  std::unique_ptr<WeightStore> weights;
  Workspace workspace;
  std::list<std::pair<Bindings, Specialised>> executables;  // most recently used first

  bool compiles() const { return options.backend == Backend::cpu && options.optimise >= 2; }

  Specialised specialised(const Bindings& bindings) {
    SplitGraph parts = split_graph(graph, bindings);
    std::vector<std::string> handed;
    for (const Output& output : parts.fixed.outputs()) handed.push_back(output.label);
    Executable executable(std::move(parts.fixed), *library, *weights, static_cast<ValueId>(graph.value_capacity()),
                          {.target = *target, .fuse = options.fuse, .exact = options.exact}, options.threads,
                          workspace.bytes());
    auto steps = std::make_shared<const std::vector<StepProfile>>(steps_of(executable, parts.open));
    return {std::move(executable), std::move(handed), std::move(parts.open), bindings, std::move(steps)};
  }

  Specialised& executable(const Bindings& bindings) {
    for (auto it = executables.begin(); it != executables.end(); ++it)
      if (it->first == bindings) {
        executables.splice(executables.begin(), executables, it);
        return it->second;
      }
    const auto start = std::chrono::steady_clock::now();
    const double compiled_before = library->statistics().milliseconds, packed_before = weights->milliseconds();
    executables.emplace_front(bindings, specialised(bindings));
    if (executables.size() > options.max_specialisations) executables.pop_back();
    const Executable& made = executables.front().second.executable;
    statistics.compile_milliseconds = library->statistics().milliseconds;
    statistics.prepack_milliseconds = weights->milliseconds();
    statistics.specialise_milliseconds += milliseconds_since(start) -
                                          (library->statistics().milliseconds - compiled_before) -
                                          (weights->milliseconds() - packed_before);
    note_kernels(library->statistics());
    if (weights->milliseconds() > packed_before) malloc_trim(0);  // what laying weights out took on the way
    statistics.prepacked_bytes = weights->bytes() + made.own_weight_bytes();
    statistics.arena_bytes = made.arena().bytes;
    statistics.arena_lower_bound = made.arena().lower_bound;
    statistics.scratch_bytes = made.scratch_bytes() * options.threads;
    statistics.direct_weight_bytes = direct_bytes(made);
    return executables.front().second;
  }

  void note_kernels(const CompileStatistics& s) {
    statistics.kernels_compiled = s.compiled, statistics.kernels_cached = s.cached;
    statistics.kernels_carried = s.carried;
    statistics.cache_problem = s.cache_problem, statistics.objects_note = s.carried_note;
  }

  std::vector<Tensor> run(const NamedTensors& inputs, const RunNotes& notes) {
    const Bindings bindings = bind_inputs(graph, inputs);
    check_tokens(limits, inputs);
    if (compiles()) return executable(bindings).run(inputs, workspace, notes);
    return evaluate(graph, inputs, notes.check ? finite_check(graph, inputs) : AfterNode());
  }

  int64_t direct_bytes(const Executable& made) const {
    std::map<ValueId, int64_t> direct;
    for (const Step& step : made.lowered().steps)
      for (const PointerBinding& pointer : step.pointers)
        if (pointer.plane == PointerBinding::Plane::data && pointer.value != kNone)
          if (const ValueId v = made.lowered().alias_of[static_cast<size_t>(pointer.value)];
              v < static_cast<ValueId>(graph.value_capacity()))
            if (const Tensor* constant = graph.constant(v)) direct[v] = constant->bytes();
    int64_t total = 0;
    for (const auto& [value, bytes] : direct) total += bytes;
    return total;
  }
};

Session::Session(Graph graph, SessionOptions options) : impl_(std::make_unique<Impl>()) {
  const auto start = std::chrono::steady_clock::now();
  impl_->options = std::move(options);
  impl_->compute = impl_->options.compute ? *impl_->options.compute : stored_compute(graph);
  const SessionOptions& o = impl_->options;
  if (o.threads < 1) fail("threads is {}; at least 1 is needed", o.threads);
  if (o.target && !cpu_features().has_all_of(o.target->features()))
    fail("the target has {}; this CPU has {}", to_string(o.target->features()), to_string(cpu_features()));
  impl_->limits = token_limits(graph);
  if (o.max_specialisations < 1) fail("max_specialisations is 0; at least 1 is needed");
  if (o.optimise == 0 && impl_->compute == Compute::f32) impl_->graph = std::move(graph);
  else if (impl_->compiles() || impl_->compute != Compute::f32)
    impl_->graph = prepare_for_codegen(std::move(graph), impl_->compute, o.pipeline);
  else impl_->graph = canonicalise(std::move(graph), o.pipeline);
  impl_->graph.compact();
  if (impl_->compiles()) {
    impl_->target = o.target ? *o.target : host_target();
    impl_->library = std::make_unique<KernelLibrary>(CompilerOptions{.target = *impl_->target,
                                                                     .threads = o.threads,
                                                                     .cache_folder = o.cache_folder,
                                                                     .carried = o.carried,
                                                                     .keep_objects = o.keep_objects});
    impl_->weights = std::make_unique<WeightStore>(*impl_->target, o.threads);
  }
  impl_->statistics.prepare_milliseconds = milliseconds_since(start);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

std::vector<Tensor> Session::run(const NamedTensors& inputs, RunProfile* profile) {
  const int64_t begin = profile ? steady_ns() : 0;
  std::vector<Tensor> outputs = impl_->run(inputs, {.profile = profile});
  if (profile) profile->begin_ns = begin, profile->end_ns = steady_ns();
  return outputs;
}

std::vector<Tensor> Session::run_checked(const NamedTensors& inputs) { return impl_->run(inputs, {.check = true}); }

void Session::prepare(const Bindings& bindings) {
  for (const std::string& symbol : impl_->graph.symbols())
    if (bindings.count(symbol) == 0) fail("dimension {} of the model's inputs has no value", symbol);
  if (impl_->compiles()) impl_->executable(bindings);
}

std::string Session::objects() const {
  CHECK(impl_->compiles());
  return impl_->library->bundle();
}

const Graph& Session::graph() const { return impl_->graph; }
std::vector<std::string> Session::output_names() const {
  std::vector<std::string> names;
  for (const Output& output : impl_->graph.outputs()) names.push_back(output.label);
  return names;
}
const SessionStatistics& Session::statistics() const { return impl_->statistics; }
const std::optional<Target>& Session::target() const { return impl_->target; }
Compute Session::compute() const { return impl_->compute; }

}  // namespace hone
