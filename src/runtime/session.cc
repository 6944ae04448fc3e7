#include "runtime/session.h"

#include <malloc.h>

#include <chrono>
#include <list>

#include "codegen/compiler.h"
#include "ops/evaluate.h"
#include "runtime/executable.h"
#include "runtime/split_graph.h"

namespace hone {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Compute compute_of(const Graph& graph, const SessionOptions& options) {
  if (options.compute) return *options.compute;
  const auto stored = graph.metadata.find("compute");
  return stored == graph.metadata.end() ? Compute::f32 : parse_compute(stored->second);
}

// A specialisation: the part with constant shapes, compiled, and where shapes depend on data, the rest.
struct Specialised {
  Executable executable;
  std::vector<std::string> handed;  // labels of the executable's outputs
  std::optional<Graph> open;
  Bindings bindings;

  std::vector<Tensor> run(const NamedTensors& inputs, Workspace& workspace, RunProfile* profile) {
    std::vector<Tensor> results = executable.run(inputs, workspace, profile);
    return open ? run_open(inputs, std::move(results), profile) : results;
  }

 private:
  std::vector<Tensor> run_open(const NamedTensors& inputs, std::vector<Tensor> results, RunProfile* profile) const {
    NamedTensors handed_on;
    for (size_t i = 0; i < handed.size(); ++i) handed_on.emplace(handed[i], std::move(results[i]));
    std::vector<Tensor> values;
    for (ValueId v : open->inputs()) {
      const std::string& label = open->value(v).label;
      const auto found = handed_on.find(label);
      values.push_back(found == handed_on.end() ? inputs.at(label) : found->second);
    }
    const auto start = std::chrono::steady_clock::now();
    auto last = start;
    const auto note = [&](NodeId n, std::span<const Tensor>) {
      const auto now = std::chrono::steady_clock::now();
      const std::chrono::duration<double, std::milli> elapsed = now - last;
      const Node& node = open->node(n);
      profile->steps.push_back({.name = open->value(node.results[0]).name,
                                .kind = "interpreted",
                                .ops = node.op->name,
                                .why_interpreted = "shapes depend on data",
                                .milliseconds = elapsed.count()});
      last = now;
    };
    results = evaluate_body(*open, std::move(values), bindings, profile ? AfterNode(note) : nullptr);
    if (profile) profile->total_milliseconds += milliseconds_since(start);
    return results;
  }
};

}  // namespace

struct Session::Impl {
  SessionOptions options;
  Compute compute = Compute::f32;
  IsaLevel isa = IsaLevel::avx2;
  Graph graph;
  std::vector<std::string> symbols;
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
    return {Executable(std::move(parts.fixed), *library, *weights, static_cast<ValueId>(graph.value_capacity()),
                       {.isa = isa, .fuse = options.fuse, .exact = options.exact}, options.threads),
            std::move(handed), std::move(parts.open), bindings};
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
    statistics.kernels_carried = s.carried, statistics.kernels_spilled = s.spilled;
    statistics.cache_problem = s.cache_problem, statistics.objects_note = s.carried_note;
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
  impl_->compute = compute_of(graph, impl_->options);
  const SessionOptions& o = impl_->options;
  if (o.threads < 1) fail("threads is {}; at least 1 is needed", o.threads);
  if (o.isa && *o.isa > best_isa_level())
    fail("isa is {}, which this CPU lacks; the best it has is {}", to_string(*o.isa), to_string(best_isa_level()));
  if (o.max_specialisations < 1) fail("max_specialisations is 0; at least 1 is needed");
  if (o.optimise == 0 && impl_->compute == Compute::f32) impl_->graph = std::move(graph);
  else if (impl_->compiles() || impl_->compute != Compute::f32)
    impl_->graph = prepare_for_codegen(std::move(graph), impl_->compute, o.pipeline);
  else impl_->graph = canonicalise(std::move(graph), o.pipeline);
  impl_->graph.compact();
  if (impl_->compiles()) {
    impl_->isa = o.isa ? *o.isa : best_isa_level();
    impl_->library = std::make_unique<KernelLibrary>(CompilerOptions{.isa = impl_->isa,
                                                                     .threads = o.threads,
                                                                     .cache_folder = o.cache_folder,
                                                                     .carried = o.carried,
                                                                     .keep_objects = o.keep_objects});
    impl_->weights = std::make_unique<WeightStore>(impl_->isa, o.threads);
  }
  impl_->statistics.prepare_milliseconds = milliseconds_since(start);
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;

std::vector<Tensor> Session::run(const NamedTensors& inputs, RunProfile* profile) {
  const Bindings bindings = bind_inputs(impl_->graph, inputs);
  if (!impl_->compiles()) return evaluate(impl_->graph, inputs);
  return impl_->executable(bindings).run(inputs, impl_->workspace, profile);
}

void Session::prepare(const Bindings& bindings) {
  for (const std::string& symbol : impl_->graph.symbols())
    if (bindings.count(symbol) == 0) fail("dimension {} of the model's inputs has no value", symbol);
  if (impl_->compiles()) impl_->executable(bindings);
}

const Executable& Session::executable(const Bindings& bindings) {
  CHECK(impl_->compiles());
  prepare(bindings);
  return impl_->executable(bindings).executable;
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
IsaLevel Session::isa() const { return impl_->isa; }
Compute Session::compute() const { return impl_->compute; }

}  // namespace hone
