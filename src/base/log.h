// Where messages of the library go. The library never prints: a program that wants to show progress installs a sink.
#pragma once

#include <functional>
#include <string_view>

namespace hone {

enum class LogLevel { note, warning };
using LogSink = std::function<void(LogLevel, std::string_view)>;

void set_log_sink(LogSink sink);  // none by default
void log(LogLevel level, std::string_view text);

}  // namespace hone
