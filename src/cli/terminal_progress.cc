#include "cli/terminal_progress.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/printable.h"

namespace hone {
namespace {

constexpr size_t kLongest = 200;  // bytes of a line
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
    std::fprintf(stderr, "%s%s ...", kClearLine, printable(shortened(next, kLongest)).c_str());
  };
}

}  // namespace hone
