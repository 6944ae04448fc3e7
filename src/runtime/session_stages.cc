#include "runtime/session_stages.h"

namespace hone {
namespace {

std::string text_of(const Layouts& layouts) {
  std::string text;
  for (const auto* values : {&layouts.inputs, &layouts.outputs}) {
    for (const auto& [label, strides] : *values) text += fmt::format("{} {}\n", label, to_string(strides));
    text += '\n';
  }
  return text;
}

LowerOptions lowering_of(const SessionOptions& options) {
  return {.device = options.device,
          .host = host_kernels_for(*options.device),
          .no_fallback = options.no_fallback,
          .fuse = options.fuse && options.device->compiles(),
          .no_winograd = options.no_winograd};
}

CompilerOptions compiler_options_of(const SessionOptions& options) {
  return {.threads = options.threads,
          .cache_folder = options.cache_folder,
          .bundled = options.bundled,
          .keep_objects = options.keep_objects};
}

}  // namespace

MadeStages::MadeStages(const Graph& graph, LowerOptions how, const TokenLimits& limits, RunPool& pool,
                       const SessionOptions& options, std::function<Graph(Graph)> prepared)
    : shared(std::move(how), options.max_specialisations, limits, pool, options.device, compiler_options_of(options),
             static_cast<ValueId>(graph.value_capacity()), std::move(prepared)),
      first(graph, shared, shared.kernels) {}

Stage* MadeStages::with_layouts(const Graph& graph, const Layouts& layouts, size_t most) {
  const std::lock_guard lock(mutex_);
  const std::string text = text_of(layouts);
  auto found = laid_.find(text);
  if (found == laid_.end()) {
    if (laid_.size() >= most) return nullptr;
    found = laid_.emplace(text, std::make_unique<Stage>(graph, shared, shared.kernels, 0, layouts)).first;
  }
  return found->second.get();
}

SessionStages::SessionStages(const Graph& graph, const TokenLimits& limits, RunPool& pool,
                             const SessionOptions& options, std::function<Graph(Graph)> prepared)
    : graph_(graph),
      limits_(limits),
      pool_(pool),
      options_(options),
      lowering_(lowering_of(options)),
      prepared_(std::move(prepared)),
      made_(make()) {}

std::shared_ptr<MadeStages> SessionStages::make() const {
  return std::make_shared<MadeStages>(graph_, lowering_, limits_, pool_, options_, prepared_);
}

std::shared_ptr<MadeStages> SessionStages::now() {
  if (options_.device->is_host()) return {std::shared_ptr<void>(), made_.get()};  // nobody needs to count who has them
  std::shared_ptr<MadeStages> lost;                                               // freed when the mutex is
  const std::lock_guard lock(mutex_);
  if (made_->generation() != options_.device->generation()) {
    lost = made_;
    made_ = make();
  }
  return made_;
}

std::shared_ptr<MadeStages> SessionStages::last() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

}  // namespace hone
