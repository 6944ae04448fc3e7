// What a caller gives a task beside values and options: who is told of it, and who may end it.
#pragma once

#include <hone/error.h>

#include <functional>
#include <string>
#include <string_view>

namespace hone::HONE_API_INLINE api {
// Functions that a task calls, in the thread that called it. Each may be empty. What one of them throws passes
// through, and the task ends as a cancelled one does: nothing half-written stays.
struct Task {
  std::function<void(const std::string& next)> progress;     // what comes next: "timing"
  std::function<void(const std::string& sentence)> warning;  // what one should know, as it is found
  std::function<bool()> cancelled;                           // asked between steps; true: the task throws Cancelled
};

// Where messages go that belong to no task: a cache that cannot be written, machine code that is left aside. One sink
// for the whole process, called by any thread; an empty one, as at first, drops them.
using LogSink = std::function<void(bool is_warning, std::string_view text)>;
HONE_API void set_log_sink(LogSink sink);

// A limit on what the whole process may take, in bytes, beside those of sessions; 0: what the machine has free.
HONE_API void set_process_memory_limit(long long bytes);

// The version of the library: "0.1.0".
HONE_API const char* version();

}  // namespace hone::HONE_API_INLINEapi
