#include "runtime/context.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/workspace.h"

namespace hone {
namespace {

// As a run would, so that none is under way.
class Idle {
 public:
  explicit Idle(Workspace& workspace) : workspace_(workspace) {
    if (!workspace_.begin()) fail("this context has a run under way, which its state belongs to");
  }
  ~Idle() { workspace_.end(); }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

 private:
  Workspace& workspace_;
};

}  // namespace

Context::Context() : workspace_(std::make_unique<Workspace>()) {}
Context::~Context() = default;

void Context::cancel() noexcept { workspace_->cancel(); }

void Context::set_state(const std::string& name, Tensor value) {
  const Idle idle(*workspace_);
  state_[name] = HeldTensor(std::move(value));
}

Tensor Context::state(const std::string& name) const {
  const Idle idle(*workspace_);
  const auto found = state_.find(name);
  if (found != state_.end()) {
    LostValues lost;
    lost.look_at(name, found->second);
    lost.refuse("this state is", "set_state() sets it");
    return found->second.value().on_host();
  }
  std::vector<std::string> names;
  for (const auto& [each, held] : state_) names.push_back(each);
  fail("this context has no state \"{}\"; it has {}{}", name,
       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")), did_you_mean(name, names));
}

void Context::clear_state() {
  const Idle idle(*workspace_);
  state_.clear();
}

}  // namespace hone
