#include "runtime/run_pool.h"

#include <algorithm>

#include "base/error.h"

namespace hone {

RunPool::Run::Run(RunPool& pool, Workspace* given) : pool_(pool), workspace_(given) {
  const std::lock_guard lock(pool_.mutex_);
  if (pool_.closed_) fail("the session is being closed and takes no new runs");
  pool_.running_.reserve(pool_.running_.size() + 1);
  if (!given) {
    if (pool_.idle_.empty()) {
      own_ = std::make_unique<Workspace>();
      pool_.idle_.reserve(static_cast<size_t>(pool_.made_) + 1);  // so that putting it back can't fail
      ++pool_.made_;
    } else {
      own_ = std::move(pool_.idle_.back());
      pool_.idle_.pop_back();
    }
    workspace_ = own_.get();
  }
  if (!workspace_->begin(&pool_))
    fail("this context has a run under way, and has one at a time; give each thread a context of its own");
  pool_.running_.push_back(workspace_);
}

RunPool::Run::~Run() {
  const std::lock_guard lock(pool_.mutex_);
  workspace_->end();
  std::erase(pool_.running_, workspace_);
  if (own_) pool_.idle_.push_back(std::move(own_));
  if (pool_.closed_) pool_.ended_.notify_all();  // under the lock: the pool may be gone right after it
}

void RunPool::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  for (Workspace* workspace : running_) workspace->cancel();
  ended_.wait(lock, [&] { return running_.empty(); });
}

bool RunPool::drop_idle() {
  std::vector<std::unique_ptr<Workspace>> dropped;
  const std::lock_guard lock(mutex_);
  for (auto& workspace : idle_) dropped.push_back(std::move(workspace));
  idle_.clear();
  made_ -= static_cast<int>(dropped.size());
  return !dropped.empty();
}

int RunPool::made() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

}  // namespace hone
