// Calls of hone that take long: other threads of Python go on meanwhile, Ctrl-C ends them, and the end of the
// interpreter waits for them.
#pragma once

#include <hone/session.h>
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace hone::python {

// A call under way. Made and dropped with the interpreter's lock held; it lets go of the lock in between. Throws Error
// where the interpreter is about to end.
class Call {
 public:
  explicit Call(Context* context = nullptr);  // what Ctrl-C in the main thread, and the end of the interpreter, cancel
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Context* context_;
  bool interruptible_ = false;
  PyThreadState* state_;
};

// A task with functions of Python, which may be None. Each is called with the lock held; what they throw ends the task,
// and so does Ctrl-C: KeyboardInterrupt.
Task task_of(const nb::object& progress, const nb::object& warning);

}  // namespace hone::python
