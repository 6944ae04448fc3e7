#include "calls.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "bind.h"

namespace hone::python {
namespace {

// Guarded by the interpreter's lock.
struct Process {
  std::set<Context*> contexts;  // of runs under way
  int calls = 0;
  bool is_ending = false;
  pthread_t main_thread{};
};
Process process;

// What SIGINT cancels: the context of the main thread's run. The handler that was there, Python's own, is called after
// it, so that KeyboardInterrupt follows.
std::atomic<Context*> interrupted_by_signal{nullptr};
std::atomic<int> handling{0};  // handlers that may hold that context: any thread may be the one that gets a signal
void (*next_handler)(int) = nullptr;

void on_interrupt(int signal) {
  ++handling;
  if (Context* context = interrupted_by_signal.load()) context->cancel();
  --handling;
  if (next_handler) next_handler(signal);
}

// Puts the handler before that of Python, again whenever somebody has set another: signal.signal() does. Programs that
// take no SIGINT, or leave it to the system, are left alone.
bool watch_interrupts() {
  struct sigaction now {};
  if (sigaction(SIGINT, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO)) return false;
  if (now.sa_handler == on_interrupt) return true;
  if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return false;
  next_handler = now.sa_handler;
  now.sa_handler = on_interrupt;
  return sigaction(SIGINT, &now, nullptr) == 0;
}

bool is_main_thread() { return pthread_equal(pthread_self(), process.main_thread) != 0; }

// A function of Python that C++ owns, and drops with the lock held.
std::shared_ptr<nb::object> shared(const nb::object& function) {
  return {new nb::object(function), [](nb::object* owned) {
            const nb::gil_scoped_acquire gil;
            delete owned;
          }};
}

// The function is called by any thread, which must not wait for whoever sets another one: that lets go of the lock.
void set_sink(const nb::object& function) {
  LogSink sink;
  if (!function.is_none())
    sink = [owned = shared(function)](bool is_warning, std::string_view text) {
      const nb::gil_scoped_acquire gil;
      try {
        (*owned)(is_warning, text);
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("hone.set_log_sink");
      }
    };
  const nb::gil_scoped_release others;
  set_log_sink(std::move(sink));
}

// Runs once when the interpreter begins to end: no thread comes back to Python after that, so calls end before.
void end_calls() {
  process.is_ending = true;
  set_sink(nb::none());
  while (process.calls > 0) {
    for (Context* context : process.contexts) context->cancel();
    const nb::gil_scoped_release others;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// In a child of fork(): calls of threads that it does not have are none of its own.
void forget_calls() {
  process.contexts.clear();
  process.calls = 0;
  process.main_thread = pthread_self();
  interrupted_by_signal = nullptr;
  handling = 0;
}

}  // namespace

Call::Call(Context* context) : context_(context) {
  if (process.is_ending) throw Error("the interpreter is about to end: no call of hone begins any more");
  if (context_ && is_main_thread() && !interrupted_by_signal.load()) {
    interruptible_ = watch_interrupts();
    if (interruptible_) interrupted_by_signal = context_;
  }
  ++process.calls;
  if (context_) process.contexts.insert(context_);
  state_ = PyEval_SaveThread();
}

Call::~Call() {
  PyEval_RestoreThread(state_);
  if (interruptible_) {
    interrupted_by_signal = nullptr;
    while (handling > 0) {
    }
  }
  --process.calls;
  if (context_) process.contexts.erase(context_);
}

Task task_of(const nb::object& progress, const nb::object& warning) {
  const auto told = [](const nb::object& function) -> std::function<void(const std::string&)> {
    if (function.is_none()) return {};
    return [owned = shared(function)](const std::string& text) {
      const nb::gil_scoped_acquire gil;
      (*owned)(text);
    };
  };
  const auto cancelled = [] {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
    return process.is_ending;
  };
  return {.progress = told(progress), .warning = told(warning), .cancelled = cancelled};
}

void bind_process(nb::module_& m) {
  const nb::object main = nb::module_::import_("threading").attr("main_thread")();
  process.main_thread = static_cast<pthread_t>(nb::cast<unsigned long>(main.attr("ident")));
  pthread_atfork(nullptr, nullptr, forget_calls);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(end_calls));
  m.attr("__version__") = version();
  m.def("set_log_sink", set_sink, nb::arg("function").none(),
        nb::sig("def set_log_sink(function: collections.abc.Callable[[bool, str], object] | None) -> None"),
        "Where messages go that belong to no task, whether each is a warning and its text: a cache that cannot be "
        "written, "
        "say. None, as at first, drops them.");
  m.def(
      "set_process_memory_limit", &set_process_memory_limit, nb::arg("bytes"),
      "A limit on what the whole process may take, in bytes, beside those of sessions; 0: what the machine has free.");
}

}  // namespace hone::python
