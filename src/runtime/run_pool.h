// The runs of one session that are under way. Each has a workspace to itself: that of the caller's context, or one from
// here, where there come to be as many as runs were ever under way at once.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/workspace.h"

namespace hone {

class RunPool {
 public:
  // A run, for as long as this lives.
  class Run {
   public:
    // `given`: the workspace of a context; none: one of the pool's. Throws Error when the pool is closed, or `given`
    // has a run under way.
    explicit Run(RunPool& pool, Workspace* given = nullptr);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    Workspace& workspace() const { return *workspace_; }

   private:
    RunPool& pool_;
    std::unique_ptr<Workspace> own_;
    Workspace* workspace_;
  };

  // Refuses new runs, cancels those under way and returns when they have ended. May be called again.
  void close();

  bool drop_idle();  // the memory that no run has now; false: there was none
  int made() const;  // workspaces, those dropped not counted

 private:
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<std::unique_ptr<Workspace>> idle_;  // the last one is the warmest
  std::vector<Workspace*> running_;
  int made_ = 0;
  bool closed_ = false;
};

}  // namespace hone
