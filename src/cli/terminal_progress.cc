#include "cli/terminal_progress.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

namespace hone {
namespace {

constexpr const char* kClearLine = "\r\x1b[K";

struct Line {
  ~Line() {
    if (shown) std::fputs(kClearLine, stderr);
  }
  bool shown = false;
};

}  // namespace

Progress terminal_progress() {
  if (!isatty(STDERR_FILENO)) return {};
  return [line = std::make_shared<Line>()](const std::string& next) {
    line->shown = true;
    std::fprintf(stderr, "%s%s ...", kClearLine, next.c_str());
  };
}

}  // namespace hone
