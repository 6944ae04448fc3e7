#include "base/log.h"

#include <mutex>

namespace hone {
namespace {
std::mutex sink_mutex;
LogSink the_sink;
}  // namespace

void set_log_sink(LogSink sink) {
  std::lock_guard lock(sink_mutex);
  the_sink = std::move(sink);
}

void log(LogLevel level, std::string_view text) {
  std::lock_guard lock(sink_mutex);
  if (the_sink) the_sink(level, text);
}

}  // namespace hone
