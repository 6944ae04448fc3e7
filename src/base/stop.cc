#include "base/stop.h"

namespace hone {

namespace detail {
std::atomic<Stop> requested_stop{Stop::none};
static_assert(std::atomic<Stop>::is_always_lock_free);  // for signal handlers

void throw_stopped() { throw Stopped(requested_stop.load()); }
}  // namespace detail

Stopped::Stopped(Stop why)
    : std::runtime_error(why == Stop::timeout ? "the time limit is reached; --timeout SECONDS sets it" : "interrupted"),
      why_(why) {}

}  // namespace hone
