#include "runtime/session.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>

#include "base/clock.h"
#include "base/memory_limit.h"
#include "base/threads.h"
#include "codegen/llvm/compiler.h"
#include "ops/evaluate.h"
#include "runtime/open_graph.h"
#include "runtime/own_code.h"
#include "runtime/run_pool.h"
#include "runtime/specialised.h"
#include "runtime/split_graph.h"
#include "runtime/token_limits.h"

namespace hone {
namespace {

// The inputs' labels, as a NamedTensors has them: sorted.
struct InputKind {
  std::string label;
  DType dtype;
  Container container;
};

std::vector<InputKind> sorted_inputs(const Graph& graph) {
  std::vector<InputKind> kinds;
  for (ValueId v : graph.inputs()) {
    const Value& input = graph.value(v);
    kinds.push_back({input.label, input.type.dtype, input.type.container});
  }
  std::ranges::sort(kinds, {}, &InputKind::label);
  return kinds;
}

// Whether the inputs are these and have these shapes.
bool have_shapes(const NamedTensors& inputs, std::span<const InputKind> kinds,
                 std::span<const std::vector<int64_t>> shapes) {
  if (inputs.size() != kinds.size() || inputs.size() != shapes.size()) return false;
  size_t i = 0;
  for (const auto& [label, tensor] : inputs) {
    const InputKind& kind = kinds[i];
    if (label != kind.label || tensor.dtype() != kind.dtype || tensor.is_packed() ||
        tensor.container() != kind.container || tensor.shape() != shapes[i])
      return false;
    ++i;
  }
  return true;
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
  std::vector<InputKind> inputs;
  RunPool pool;
  // One thread at a time makes a specialisation, with what only it uses then.
  std::mutex making;
  std::unique_ptr<SharedKernels> shared;
  std::optional<OpenGraph> open;  // once it has been looked for
  bool open_known = false;
  std::vector<Bindings> own_code;  // sizes for which the model carries some
  // What is read and changed by all, for a moment.
  mutable std::mutex mutex;
  SessionStatistics statistics;
  std::shared_ptr<const Specialised> last;  // made
  struct Kept {
    Bindings bindings;
    std::shared_ptr<const Specialised> made;   // which runs keep that have it when it is dropped
    bool asked_for = false;                    // by prepare(): code for these sizes alone
    std::vector<std::vector<int64_t>> shapes;  // that inputs had which gave these bindings; empty before the first run
  };
  std::list<Kept> kept;  // most recently used first

  bool compiles() const { return options.backend == Backend::cpu && options.optimise >= 2; }

  std::shared_ptr<const Specialised> specialised(const Bindings& bindings, int64_t held) {
    SplitGraph parts = split_graph(graph, bindings);
    std::vector<std::string> handed;
    for (const Output& output : parts.fixed.outputs()) handed.push_back(output.label);
    RunSizes sizes(parts.fixed);
    Executable executable(std::make_shared<PreparedGraph>(std::move(parts.fixed), lower_options()), std::move(sizes),
                          *shared, held);
    return std::make_shared<const Specialised>(std::move(executable), std::move(parts.open), std::move(handed),
                                               bindings);
  }

  LowerOptions lower_options() const { return {.target = *target, .fuse = options.fuse, .exact = options.exact}; }

  // By code for any sizes; null where the model has none, or sizes depend on data.
  std::shared_ptr<const Specialised> general(const Bindings& bindings, int64_t held) {
    if (!open_known) open = OpenGraph::of(graph, lower_options());
    open_known = true;
    if (!open) return nullptr;
    std::optional<RunSizes> sizes = open->sizes(bindings);
    if (!sizes) return nullptr;
    return std::make_shared<const Specialised>(Executable(open->prepared(), std::move(*sizes), *shared, held),
                                               std::nullopt, std::vector<std::string>(), bindings);
  }

  // The first that `fits`, which is then the most recently used; nullptr when there is none.
  template <class Fits>
  Kept* find(const Fits& fits) {
    const auto found = std::ranges::find_if(kept, fits);
    if (found == kept.end()) return nullptr;
    kept.splice(kept.begin(), kept, found);
    return &*found;
  }

  // Of which these inputs have the shapes; nullptr when they never came before, or do not fit the model.
  std::shared_ptr<const Specialised> kept_for(const NamedTensors& given) {
    const std::lock_guard lock(mutex);
    const Kept* k = find([&](const Kept& each) { return have_shapes(given, inputs, each.shapes); });
    return k ? k->made : nullptr;
  }

  std::shared_ptr<const Specialised> kept_for(const Bindings& bindings, bool asked_for) {
    const std::lock_guard lock(mutex);
    const Kept* k = find([&](const Kept& each) { return each.bindings == bindings && each.asked_for >= asked_for; });
    return k ? k->made : nullptr;
  }

  void note_shapes(const Bindings& bindings, const NamedTensors& given) {
    const std::lock_guard lock(mutex);
    Kept* k = find([&](const Kept& each) { return each.bindings == bindings; });
    if (!k) return;
    k->shapes.clear();
    for (const auto& [label, tensor] : given) k->shapes.push_back(tensor.shape());
  }

  // `asked_for`: with code for these sizes alone.
  std::shared_ptr<const Specialised> executable(const Bindings& bindings, const Workspace& workspace, bool asked_for) {
    if (auto found = kept_for(bindings, asked_for)) return found;
    const std::lock_guard one(making);
    if (auto found = kept_for(bindings, asked_for)) return found;  // another thread has made it
    workspace.check_step();                                        // while this one waited, it may have been cancelled
    return make(bindings, workspace.bytes(), asked_for);
  }

  // `take()`, and where memory is short, once more without that of workspaces that no run has now.
  template <class Take>
  auto with_room(const Take& take) {
    try {
      return take();
    } catch (const MemoryError&) {
      if (!pool.drop_idle()) throw;
    }
    return take();
  }

  std::shared_ptr<const Specialised> make(const Bindings& bindings, int64_t held, bool asked_for) {
    const auto start = std::chrono::steady_clock::now();
    const double compiled_before = shared->library.statistics().milliseconds,
                 packed_before = shared->weights.milliseconds();
    std::shared_ptr<const Specialised> made = with_room([&] {
      std::shared_ptr<const Specialised> any = asked_for ? nullptr : general(bindings, held);
      return any ? any : specialised(bindings, held);
    });
    const double compiling = shared->library.statistics().milliseconds - compiled_before;
    const double packing = shared->weights.milliseconds() - packed_before;
    if (packing > 0) malloc_trim(0);  // what laying weights out took on the way
    std::list<Kept> dropped;          // freed when the mutex is
    const std::lock_guard lock(mutex);
    for (auto k = kept.begin(); k != kept.end();) {  // by code for any sizes
      const auto next = std::next(k);
      if (k->bindings == bindings) dropped.splice(dropped.end(), kept, k);
      k = next;
    }
    kept.push_front({bindings, made, asked_for, {}});
    if (kept.size() > options.max_specialisations) dropped.splice(dropped.end(), kept, std::prev(kept.end()));
    statistics.specialise_milliseconds += milliseconds_since(start) - compiling - packing;
    note(made->executable);
    last = made;
    return made;
  }

  void note(const Executable& made) {
    statistics.compile_milliseconds = shared->library.statistics().milliseconds;
    statistics.prepack_milliseconds = shared->weights.milliseconds();
    note_kernels(shared->library.statistics());
    statistics.prepacked_bytes = shared->weights.bytes() + made.own_weight_bytes();
    statistics.arena_bytes = made.arena().bytes;
    statistics.arena_lower_bound = made.arena().lower_bound;
    statistics.scratch_bytes = made.scratch_bytes() * options.threads;
  }

  void note_kernels(const CompileStatistics& s) {
    statistics.kernels_compiled = s.compiled, statistics.kernels_cached = s.cached;
    statistics.kernels_carried = s.carried;
    statistics.cache_problem = s.cache_problem, statistics.objects_note = s.carried_note;
  }

  std::vector<Tensor> run(const NamedTensors& given, const RunNotes& notes, Workspace* workspace) {
    const RunPool::Run run(pool, workspace);
    return compiles() ? run_compiled(given, notes, run.workspace()) : interpret(given, notes, run.workspace());
  }

  std::vector<Tensor> interpret(const NamedTensors& given, const RunNotes& notes, const Workspace& workspace) {
    bind_inputs(graph, given);
    check_tokens(limits, given);
    const Busy busy;
    const RunNotes checks{.check = notes.check};  // a model that is interpreted has no steps to time
    return evaluate(graph, given, after_each(graph, given, workspace, checks));
  }

  std::vector<Tensor> run_compiled(const NamedTensors& given, const RunNotes& notes, Workspace& workspace) {
    std::shared_ptr<const Specialised> made = kept_for(given);
    const Bindings bindings = made ? Bindings() : bind_inputs(graph, given);
    check_tokens(limits, given);
    if (!made) {
      made = executable(bindings, workspace, std::ranges::find(own_code, bindings) != own_code.end());
      note_shapes(bindings, given);
    }
    with_room([&] { made->executable.reserve(workspace); });
    return made->run(given, workspace, notes);
  }

  std::vector<Tensor> timed_run(const NamedTensors& given, RunProfile* profile, Workspace* workspace) {
    const int64_t begin = profile ? steady_ns() : 0;
    std::vector<Tensor> outputs = run(given, {.profile = profile}, workspace);
    if (profile) profile->begin_ns = begin, profile->end_ns = steady_ns();
    return outputs;
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
  if (!o.carried.empty()) impl_->own_code = sizes_with_own_code(graph);
  if (o.max_specialisations < 1) fail("max_specialisations is 0; at least 1 is needed");
  if (o.optimise == 0 && impl_->compute == Compute::f32) impl_->graph = std::move(graph);
  else if (impl_->compiles() || impl_->compute != Compute::f32)
    impl_->graph = prepare_for_codegen(std::move(graph), impl_->compute, o.pipeline);
  else impl_->graph = canonicalise(std::move(graph), o.pipeline);
  impl_->graph.compact();
  impl_->inputs = sorted_inputs(impl_->graph);
  if (impl_->compiles()) {
    impl_->target = o.target ? *o.target : host_target();
    impl_->shared = std::make_unique<SharedKernels>(CompilerOptions{.target = *impl_->target,
                                                                    .threads = o.threads,
                                                                    .cache_folder = o.cache_folder,
                                                                    .carried = o.carried,
                                                                    .keep_objects = o.keep_objects},
                                                    static_cast<ValueId>(impl_->graph.value_capacity()));
  }
  impl_->statistics.prepare_milliseconds = milliseconds_since(start);
}

Session::~Session() {
  if (impl_) close();
}
Session::Session(Session&&) noexcept = default;

std::vector<Tensor> Session::run(const NamedTensors& inputs, RunProfile* profile) {
  return impl_->timed_run(inputs, profile, nullptr);
}

std::vector<Tensor> Session::run(Context& context, const NamedTensors& inputs, RunProfile* profile) {
  return impl_->timed_run(inputs, profile, context.workspace_.get());
}

std::vector<Tensor> Session::run_checked(const NamedTensors& inputs) {
  return impl_->run(inputs, {.check = true}, nullptr);
}

void Session::prepare(const Bindings& bindings, Code code) {
  for (const std::string& symbol : impl_->graph.symbols())
    if (bindings.count(symbol) == 0) fail("dimension {} of the model's inputs has no value", symbol);
  const RunPool::Run run(impl_->pool);
  if (impl_->compiles()) impl_->executable(bindings, run.workspace(), code == Code::these_sizes);
}

void Session::close() { impl_->pool.close(); }

std::string Session::objects() const {
  CHECK(impl_->compiles());
  const std::lock_guard lock(impl_->making);
  return impl_->shared->library.bundle();
}

const Graph& Session::graph() const { return impl_->graph; }
std::vector<std::string> Session::output_names() const {
  std::vector<std::string> names;
  for (const Output& output : impl_->graph.outputs()) names.push_back(output.label);
  return names;
}
SessionStatistics Session::statistics() const {
  const std::lock_guard lock(impl_->mutex);
  SessionStatistics statistics = impl_->statistics;
  statistics.workspaces = impl_->pool.made();
  if (impl_->last) statistics.direct_weight_bytes = impl_->direct_bytes(impl_->last->executable);
  return statistics;
}
const std::optional<Target>& Session::target() const { return impl_->target; }
Compute Session::compute() const { return impl_->compute; }

}  // namespace hone
