#include "nas/search_state.h"

#include <fmt/format.h>

#include "base/clock.h"

namespace hone {
namespace {

std::string duration_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  return seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

void SearchState::begin(int64_t ended, int64_t of, int64_t workers) {
  const std::lock_guard lock(mutex_);
  ended_ = ended, of_ = of, workers_ = workers;
  begin_ns_ = steady_ns();
}

void SearchState::ended(const TrialRecord& trial, const std::string& best) {
  const std::lock_guard lock(mutex_);
  ++ended_, ++ended_here_;
  failed_ += trial.state == TrialState::failed;
  best_ = best;
}

std::string SearchState::text() const {
  std::string text = fmt::format("{}: {} of {} trials", study_, ended_, of_);
  if (!best_.empty()) text += ", " + best_;
  if (failed_ > 0) text += fmt::format(", {} failed", failed_);
  if (ended_here_ > 0) {
    const double each = static_cast<double>(steady_ns() - begin_ns_) * 1e-9 / static_cast<double>(ended_here_);
    text += fmt::format(", {} left", duration_text(each * static_cast<double>(of_ - ended_)));
  }
  return text;
}

Progress SearchState::of_trial(int64_t number) {
  if (!progress_) return {};
  return [this, number](const std::string& next) {
    const std::lock_guard lock(mutex_);
    progress_(fmt::format("{}; trial {}: {}", text(), number, next));
  };
}

}  // namespace hone
