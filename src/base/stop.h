// Asking work to end before it is done: because the user wants that, or its time is over. Whoever may take long asks
// check_stop() now and then (nodes of an evaluation, chunks of parallel_for, files of a folder, passes, kernels).
// One flag for the process: it is the user's patience and the process's time that end (docs/decisions/limits.md). One
// run of a session is ended by its Context (runtime/context.h), which throws the same.
#pragma once

#include <atomic>
#include <stdexcept>

namespace hone {

enum class Stop : int { none, interrupted, timeout, cancelled };

// Not an Error: where those are caught to go on with something else, a stop passes through.
class Stopped : public std::runtime_error {
 public:
  explicit Stopped(Stop why);
  Stop why() const { return why_; }

 private:
  Stop why_;
};

namespace detail {
extern std::atomic<Stop> requested_stop;
inline thread_local int unstoppable_scopes = 0;
void stop();  // unless it is unstoppable
}  // namespace detail

// May be called by signal handlers. Stop::none takes the request back.
inline void request_stop(Stop why) noexcept { detail::requested_stop.store(why, std::memory_order_relaxed); }

inline void check_stop() {
  if (detail::requested_stop.load(std::memory_order_relaxed) != Stop::none) [[unlikely]]
    detail::stop();
}

// While one lives, check_stop() of this thread, and of the regions that it makes, lets work go on: what is half done
// would be of no use to anyone.
class Unstoppable {
 public:
  Unstoppable() { ++detail::unstoppable_scopes; }
  ~Unstoppable() { --detail::unstoppable_scopes; }
  Unstoppable(const Unstoppable&) = delete;
  Unstoppable& operator=(const Unstoppable&) = delete;
  static bool here() { return detail::unstoppable_scopes > 0; }
};

}  // namespace hone
