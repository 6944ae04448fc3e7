// What runs of a session are called with when they are more than one call: the caller's own memory for one run at a
// time, the handle by which another thread ends that run, and the state that runs leave for the next.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/held_tensor.h"

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

  // State by the names that graphs give it. Sessions that name some alike share it: one that reads a prompt, say, and
  // one that goes on word by word. A run that does not come to its end leaves all as it was, or lost where a device
  // failed so late that it had been written over. Error while one is under way, and state() where there is none of that
  // name (nothing was set, and no run that begins by itself has ended) or it is lost. Runs that read what is lost are
  // an Error until it is set, or all is cleared.
  void set_state(const std::string& name, Tensor value);
  Tensor state(const std::string& name) const;
  void clear_state();

 private:
  friend class Session;
  std::unique_ptr<Workspace> workspace_;
  std::map<std::string, HeldTensor> state_;  // whoever has begun a run of the workspace may look at it
};

}  // namespace hone
