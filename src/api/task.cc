#include <hone/task.h>

#include "api/guarded.h"
#include "api/models.h"
#include "base/log.h"
#include "base/memory_limit.h"

namespace hone::api {

TaskContext context_of(const Task& task) {
  return {.progress = task.progress, .warn = task.warning, .cancelled = task.cancelled};
}

void set_log_sink(LogSink sink) {
  if (!sink) return hone::set_log_sink({});
  hone::set_log_sink(
      [sink = std::move(sink)](LogLevel level, std::string_view text) { sink(level == LogLevel::warning, text); });
}

void set_process_memory_limit(long long bytes) {
  guarded([&] {
    if (bytes < 0) fail("a memory limit of {} bytes; a number from 0 is needed", bytes);
    hone::set_memory_limit(bytes);
  });
}

const char* version() { return HONE_VERSION; }

}  // namespace hone::api
