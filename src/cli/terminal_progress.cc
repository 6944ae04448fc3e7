#include "cli/terminal_progress.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "base/duration.h"
#include "base/printable.h"

namespace hone {
namespace {

constexpr size_t kLongest = 200;  // bytes of a line
constexpr const char* kClearLine = "\r\x1b[K";
constexpr double kShownTime = 2, kBetweenLines = 10;  // seconds

bool is_quiet = false;

double seconds_since(int64_t start) { return static_cast<double>(steady_ns() - start) * 1e-9; }

struct Line {
  ~Line() {
    if (shown) std::fputs(kClearLine, stderr);
  }
  bool shown = false;
};

Progress lines_of_a_log() {
  const int64_t start = steady_ns();
  return [start, last = start](const std::string& next) mutable {
    if (seconds_since(last) < kBetweenLines) return;
    last = steady_ns();
    std::fprintf(stderr, "hone: after %s: %s\n", duration_text(seconds_since(start)).c_str(),
                 printable(shortened(next, kLongest)).c_str());
  };
}

}  // namespace

Progress terminal_progress() {
  if (is_quiet) return {};
  if (!isatty(STDERR_FILENO)) return lines_of_a_log();
  return [line = std::make_shared<Line>(), start = steady_ns()](const std::string& next) {
    line->shown = true;
    const double seconds = seconds_since(start);
    std::fprintf(stderr, "%s%s ...%s", kClearLine, printable(shortened(next, kLongest)).c_str(),
                 seconds < kShownTime ? "" : (" " + duration_text(seconds)).c_str());
  };
}

void be_quiet() { is_quiet = true; }

}  // namespace hone
