#include "runtime/context.h"

#include "runtime/workspace.h"

namespace hone {

Context::Context() : workspace_(std::make_unique<Workspace>()) {}
Context::~Context() = default;

void Context::cancel() noexcept { workspace_->cancel(); }

}  // namespace hone
