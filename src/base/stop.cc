#include "base/stop.h"

namespace hone {

namespace detail {
std::atomic<Stop> requested_stop{Stop::none};
static_assert(std::atomic<Stop>::is_always_lock_free);  // for signal handlers

void stop() {
  if (!Unstoppable::here()) throw Stopped(requested_stop.load());
}
}  // namespace detail

namespace {
const char* text_of(Stop why) {
  if (why == Stop::timeout) return "the time limit is reached; --timeout SECONDS sets it";
  return why == Stop::cancelled ? "the run was cancelled" : "interrupted";
}
}  // namespace

Stopped::Stopped(Stop why) : std::runtime_error(text_of(why)), why_(why) {}

}  // namespace hone
