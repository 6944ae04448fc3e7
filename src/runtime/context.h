// What runs of a session are called with when they are more than one call: the caller's own memory for one run at a
// time, and the handle by which another thread ends that run. State that outlives a run will be kept here too.
#pragma once

#include <memory>

namespace hone {

class Workspace;

// Any number of contexts may run at once, of one session or of several; each has one run at a time, and a second one is
// an Error. Memory is taken at the first run, grows to what the largest run needs, and goes with the context. That may
// outlive the sessions that it was used with, but no run may be under way when it is destroyed.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The run under way ends before its next step, by a Stopped whose why() is Stop::cancelled: that is no fault of the
  // input, and a later run works. Nothing happens when none is under way. May be called by any thread.
  void cancel() noexcept;

 private:
  friend class Session;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace hone
