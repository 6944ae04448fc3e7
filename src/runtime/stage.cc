#include "runtime/stage.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "ops/calls/control.h"
#include "ops/evaluate.h"
#include "passes/choose_branches.h"

namespace hone {
namespace {

// What comes after so many is evaluated node by node.
constexpr int kMostStages = 16;

// Choices that are made stages of their own, which have what is outside of the bodies once more. A graph whose inputs
// choose and that has more than so many bytes there runs too long to gain from that: about 10 us a run.
constexpr size_t kMostChosen = 8, kMostBytesKept = 64;
constexpr int64_t kMostRepeatedBytes = 8 << 20;

int64_t constant_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (ValueId v : graph.constants()) bytes += graph.constant(v)->bytes();
  return bytes;
}

std::string text_of(const std::map<NodeId, bool>& conditions) {
  std::string text;
  for (const auto& [n, condition] : conditions) text += fmt::format("{}:{} ", n, condition ? 1 : 0);
  return text;
}

struct Branches {
  Graph graph;
  std::string text;  // which were chosen; empty: none
};

// Conditions that follow from the sizes. Bodies are left out: one that does not run need not fit them.
std::map<NodeId, bool> known_conditions(const Graph& graph, const Bindings& bindings) {
  const Graph head = specialise(cut_graph(graph, undecided_for_any_sizes(graph)).head, bindings);
  std::map<NodeId, bool> known = known_conditions(graph);
  std::set<ValueId> wanted;
  for (NodeId n : graph.nodes(if_def))
    if (!known.contains(n)) wanted.insert(graph.operand(n, 0));
  const std::map<ValueId, Tensor> values = known_values(head, wanted);
  for (NodeId n : graph.nodes(if_def))
    if (const auto found = values.find(graph.operand(n, 0)); found != values.end() && found->second.elements() == 1)
      known.emplace(n, found->second.as<bool>()[0]);
  return known;
}

// A body that is chosen may tell the sizes that decide the next one.
Branches chosen_branches(const Graph& given, const Bindings& bindings) {
  Branches branches{given, ""};
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [n, condition] : known_conditions(branches.graph, bindings)) {
      if (!choose_branch(branches.graph, n, condition)) continue;
      branches.text += text_of({{n, condition}});
      changed = true;
    }
    if (changed) branches.graph.reinfer();
  }
  return branches;
}

}  // namespace

struct Stage::Chosen {
  SharedKernels kernels;
  Stage stage;
  Chosen(Graph graph, StagesShared& shared, SharedKernels& of, int number, const Layouts& layouts)
      : kernels(of, static_cast<ValueId>(graph.value_capacity())),
        stage(std::move(graph), shared, kernels, number, layouts) {}
};

Stage::~Stage() = default;

Stage::Stage(Graph graph, StagesShared& shared, SharedKernels& kernels, int number, Layouts layouts)
    : graph_(std::move(graph)),
      has_branches_(!graph_.nodes(if_def).empty()),
      conditions_(constant_bytes(graph_) <= kMostRepeatedBytes ? InputConditions(graph_) : InputConditions()),
      shared_(shared),
      kernels_(kernels),
      number_(number),
      layouts_(std::move(layouts)) {
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

// The passes run again: what they could not say of values whose ranks a body tells, they can now.
Stage& Stage::with_branches(const Bindings& bindings) {
  if (!has_branches_) return *this;
  Branches branches = chosen_branches(graph_, bindings);
  if (branches.text.empty()) return *this;
  if (const auto known = by_sizes_.find(branches.text); known != by_sizes_.end()) return known->second->stage;
  if (by_sizes_.size() >= kMostChosen) return *this;
  return by_sizes_.emplace(branches.text, chosen(branches.graph)).first->second->stage;
}

std::unique_ptr<Stage::Chosen> Stage::chosen(const Graph& graph) {
  return shared_.with_room(
      [&] { return std::make_unique<Chosen>(shared_.prepared(graph), shared_, kernels_, number_, layouts_); });
}

// Null: this one.
Stage* Stage::chosen_by_inputs(const NamedTensors& given) {
  if (conditions_.empty()) return nullptr;
  const std::optional<std::string> key = conditions_.key(graph_, given);
  if (!key) return nullptr;
  {
    const std::lock_guard lock(shared_.mutex);
    if (const auto known = by_bytes_.find(*key); known != by_bytes_.end()) return known->second;
  }
  Stage* const stage = chosen_by_conditions(given);
  const std::lock_guard lock(shared_.mutex);
  if (by_bytes_.size() < kMostBytesKept) by_bytes_.emplace(*key, stage);
  return stage;
}

Stage* Stage::chosen_by_conditions(const NamedTensors& given) {
  const std::optional<std::map<NodeId, bool>> conditions = conditions_.of(graph_, given);
  if (!conditions) return nullptr;
  const std::string text = text_of(*conditions);
  const auto found = [&]() -> std::optional<Stage*> {
    const std::lock_guard lock(shared_.mutex);
    if (const auto place = by_inputs_.find(text); place != by_inputs_.end())
      return place->second ? &place->second->stage : nullptr;
    if (by_inputs_.size() >= kMostChosen) return nullptr;
    return std::nullopt;
  };
  if (const std::optional<Stage*> stage = found()) return *stage;
  const std::lock_guard one(shared_.making);
  if (const std::optional<Stage*> stage = found()) return *stage;
  Graph graph = graph_;
  bool is_chosen = false;
  for (const auto& [n, condition] : *conditions) is_chosen |= choose_branch(graph, n, condition);
  std::unique_ptr<Chosen> made;  // null: the bodies have to stay
  if (is_chosen) {
    graph.reinfer();
    made = chosen(graph);
  }
  const std::lock_guard lock(shared_.mutex);
  const std::unique_ptr<Chosen>& kept = by_inputs_.emplace(text, std::move(made)).first->second;
  return kept ? &kept->stage : nullptr;
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
  Stage& stage = with_branches(bindings);
  const SharedKernels& kernels = stage.kernels_;
  const double compiled_before = kernels.compile_milliseconds(), packed_before = kernels.prepack_milliseconds();
  const int64_t bytes_before = kernels.prepacked_bytes();
  auto made = shared_.with_room([&] { return stage.planned(bindings, held, asked_for); });
  const double compiling = kernels.compile_milliseconds() - compiled_before;
  const double packing = kernels.prepack_milliseconds() - packed_before;
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
  if (&kernels != &shared_.kernels) shared_.bodies_prepacked += kernels.prepacked_bytes() - bytes_before;
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
  if (Stage* chosen = chosen_by_inputs(given)) return chosen->run(given, around, own_code, workspace, notes);
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
