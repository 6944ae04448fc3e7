#include "runtime/stage.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "ops/evaluate.h"

namespace hone {
namespace {

// What comes after so many is evaluated node by node.
constexpr int kMostStages = 16;

}  // namespace

Stage::Stage(Graph graph, StagesShared& shared, SharedKernels& kernels, int number, Layouts layouts)
    : graph_(std::move(graph)), shared_(shared), kernels_(kernels), number_(number), layouts_(std::move(layouts)) {
  for (ValueId v : graph_.inputs()) {
    const Value& input = graph_.value(v);
    inputs_.push_back({input.label, input.type.dtype, input.type.format, input.type.container});
  }
  std::ranges::sort(inputs_, {}, &InputKind::label);
}

// Whether the inputs are this stage's and have these shapes.
bool Stage::have_shapes(const NamedTensors& given, std::span<const std::vector<int64_t>> shapes) const {
  if (given.size() != inputs_.size() || given.size() != shapes.size()) return false;
  size_t i = 0;
  for (const auto& [label, tensor] : given) {
    const InputKind& kind = inputs_[i];
    if (label != kind.label || tensor.dtype() != kind.dtype || tensor.format() != kind.format ||
        tensor.container() != kind.container || tensor.shape() != shapes[i])
      return false;
    ++i;
  }
  return true;
}

// The first that `fits`, which is then the most recently used; nullptr when there is none.
template <class Fits>
Stage::Kept* Stage::find(const Fits& fits) {
  const auto found = std::ranges::find_if(kept_, fits);
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return &*found;
}

// Of which these inputs have the shapes; nullptr when they never came before, or do not fit.
std::shared_ptr<const Specialised> Stage::kept_for(const NamedTensors& given) {
  const std::lock_guard lock(shared_.mutex);
  const Kept* k = find([&](const Kept& each) { return have_shapes(given, each.shapes); });
  return k ? k->made : nullptr;
}

std::shared_ptr<const Specialised> Stage::kept_for(const Bindings& bindings, bool asked_for) {
  const std::lock_guard lock(shared_.mutex);
  const Kept* k = find([&](const Kept& each) { return each.bindings == bindings && each.asked_for >= asked_for; });
  return k ? k->made : nullptr;
}

void Stage::note_shapes(const Bindings& bindings, const NamedTensors& given) {
  const std::lock_guard lock(shared_.mutex);
  Kept* k = find([&](const Kept& each) { return each.bindings == bindings; });
  if (!k) return;
  k->shapes.clear();
  for (const auto& [label, tensor] : given) k->shapes.push_back(tensor.shape());
}

std::shared_ptr<const Specialised> Stage::specialised(const Bindings& bindings, const Workspace& workspace,
                                                      bool asked_for) {
  if (auto found = kept_for(bindings, asked_for)) return found;
  const std::lock_guard one(shared_.making);
  if (auto found = kept_for(bindings, asked_for)) return found;  // another thread has made it
  workspace.check_step();                                        // while this one waited, it may have been cancelled
  try {
    return make(bindings, workspace.bytes(), asked_for);
  } catch (const MemoryError&) {
    if (!workspace.drop_free()) throw;
  }
  return make(bindings, workspace.bytes(), asked_for);
}

void Stage::cut(std::set<NodeId> undecided) {
  CutGraph parts = cut_graph(graph_, undecided);
  undecided_ = std::move(undecided);
  head_ = std::move(parts.head);
  if (parts.tail) layouts_.outputs.clear();  // they are copied when the run has ended
  open_ = SymbolicGraph::of(head_, shared_.lowering, layouts_);
  tail_ = parts.tail ? std::make_shared<const Tail>(std::move(*parts.tail), shared_, kernels_,
                                                    number_ + 1 < kMostStages ? number_ + 1 : 0)
                     : nullptr;
  is_cut_ = true;
}

// By code for any sizes, unless code for these is asked for or they are constant.
std::shared_ptr<const Specialised> Stage::planned(const Bindings& bindings, int64_t held, bool asked_for) {
  if (!is_cut_) cut(undecided_for_any_sizes(graph_));
  if (open_ && !asked_for)
    if (std::optional<RunSizes> sizes = open_->sizes(bindings)) {
      Bindings found = sizes->bindings();
      return std::make_shared<const Specialised>(Executable(open_->prepared(), std::move(*sizes), kernels_, held),
                                                 std::move(found), tail_);
    }
  SpecialisedGraph fixed = specialised_graph(head_, bindings);
  if (!fixed.undecided.empty()) {  // more than was known before
    fixed.undecided.insert(undecided_.begin(), undecided_.end());
    cut(std::move(fixed.undecided));
    return planned(bindings, held, asked_for);
  }
  const auto prepared =
      std::make_shared<PreparedGraph>(std::move(fixed.graph), shared_.lowering, layouts_.substituted(fixed.sizes));
  return std::make_shared<const Specialised>(Executable(prepared, prepared->sizes(fixed.sizes), kernels_, held),
                                             std::move(fixed.sizes), tail_);
}

std::shared_ptr<const Specialised> Stage::make(const Bindings& bindings, int64_t held, bool asked_for) {
  const auto start = std::chrono::steady_clock::now();
  const double compiled_before = kernels_.compile_milliseconds(), packed_before = kernels_.prepack_milliseconds();
  const int64_t bytes_before = kernels_.prepacked_bytes();
  auto made = shared_.with_room([&] { return planned(bindings, held, asked_for); });
  const double compiling = kernels_.compile_milliseconds() - compiled_before;
  const double packing = kernels_.prepack_milliseconds() - packed_before;
  if (packing > 0) malloc_trim(0);  // what laying weights out took on the way
  std::list<Kept> dropped;          // freed when the mutex is
  const std::lock_guard lock(shared_.mutex);
  for (auto k = kept_.begin(); k != kept_.end();) {  // by code for any sizes
    const auto next = std::next(k);
    if (k->bindings == bindings) dropped.splice(dropped.end(), kept_, k);
    k = next;
  }
  kept_.push_front({bindings, made, asked_for, {}});
  if (kept_.size() > shared_.max_specialisations) dropped.splice(dropped.end(), kept_, std::prev(kept_.end()));
  if (&kernels_ != &shared_.kernels) shared_.bodies_prepacked += kernels_.prepacked_bytes() - bytes_before;
  shared_.statistics.specialise_milliseconds += milliseconds_since(start) - compiling - packing;
  note(*made);
  if (number_ == 0) shared_.last = made;
  return made;
}

void Stage::note(const Specialised& made) {
  SessionStatistics& statistics = shared_.statistics;
  const CompileStatistics& code = shared_.kernels.compiler->statistics();
  statistics.compile_milliseconds = shared_.kernels.compile_milliseconds();
  statistics.prepack_milliseconds = shared_.kernels.prepack_milliseconds();
  statistics.kernels_compiled = code.compiled, statistics.kernels_cached = code.cached;
  statistics.kernels_bundled = code.bundled;
  statistics.cache_problem = code.cache_problem, statistics.objects_note = code.bundle_note;
  if (const SharedKernels* host = shared_.kernels.on_host.get()) {
    const CompileStatistics& of_host = host->compiler->statistics();
    statistics.host_kernels = of_host.compiled + of_host.cached + of_host.bundled;
    if (statistics.cache_problem.empty()) statistics.cache_problem = of_host.cache_problem;
  }
  statistics.prepacked_bytes =
      shared_.kernels.prepacked_bytes() + shared_.bodies_prepacked + made.executable.own_weight_bytes();
  const Arena& arena = made.executable.arena();
  const int64_t scratch =
      made.executable.scratch_bytes() * shared_.kernels.device->scratch_areas(shared_.kernels.threads);
  if (number_ > 0 && arena.bytes + scratch <= statistics.arena_bytes + statistics.scratch_bytes) return;
  statistics.arena_bytes = arena.bytes, statistics.arena_lower_bound = arena.lower_bound;
  statistics.scratch_bytes = scratch;
  statistics.output_bytes = made.executable.output_bytes();
  statistics.laid_out_bytes = made.executable.laid_out_bytes();
}

std::vector<Tensor> Stage::run(const NamedTensors& given, const Bindings& around, std::span<const Bindings> own_code,
                               Workspace& workspace, const RunNotes& notes) {
  const bool by_shapes = around.empty();
  std::shared_ptr<const Specialised> made = by_shapes ? kept_for(given) : nullptr;
  Bindings bindings;
  if (!made) bindings = bind_inputs(graph_, given, around);
  if (number_ == 0) check_tokens(shared_.limits, given);
  if (!made) {
    made = specialised(bindings, workspace, std::ranges::find(own_code, bindings) != own_code.end());
    if (by_shapes) note_shapes(bindings, given);
  }
  shared_.with_room([&] { made->executable.reserve(workspace); });
  return made->run(given, workspace, notes);
}

}  // namespace hone
