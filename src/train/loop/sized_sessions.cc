#include "train/loop/sized_sessions.h"

#include <algorithm>

#include "train/sized_graph.h"

namespace hone {

SizedSessions::SizedSessions(const Graph& graph, Bindings sizes, ForSizes for_sizes, Graph arguments,
                             SessionOptions options)
    : sizes_(std::move(sizes)),
      for_sizes_(std::move(for_sizes)),
      arguments_(std::move(arguments)),
      options_(std::move(options)),
      first_(std::make_unique<Session>(graph, options_)),
      last_(first_.get()) {
  if (!options_.parameters_of) options_.parameters_of = first_.get();
}

Session& SizedSessions::of_sizes(const Bindings& sizes) {
  auto found = std::ranges::find(made_, sizes, &Made::sizes);
  if (found == made_.end()) {
    if (made_.size() >= options_.max_specialisations) {
      if (last_ == made_.back().session.get()) last_ = first_.get();
      made_.pop_back();
    }
    found = made_.insert(made_.begin(), Made{sizes, std::make_unique<Session>(for_sizes_(sizes), options_)});
  }
  made_.splice(made_.begin(), made_, found);
  return *made_.front().session;
}

Session& SizedSessions::of(const NamedTensors& inputs) {
  Session* session = first_.get();
  if (!sizes_.empty()) {
    Bindings sizes = sizes_of(arguments_, inputs);
    std::erase_if(sizes, [&](const auto& size) { return !sizes_.contains(size.first); });
    if (sizes != sizes_) session = &of_sizes(sizes);
  }
  if (session != last_) last_->forget_laid_out();
  last_ = session;
  return *session;
}

}  // namespace hone
