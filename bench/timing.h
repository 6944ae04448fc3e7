// Times of things that take turns, so that all see the same clock and neighbours.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace hone {

inline double seconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Best time of each of the runs, which take turns, after one warm-up of all.
inline std::vector<double> alternate(int rounds, const std::vector<std::function<void()>>& runs) {
  for (const auto& run : runs) run();
  std::vector<double> best(runs.size(), 1e300);
  for (int i = 0; i < rounds; ++i)
    for (size_t j = 0; j < runs.size(); ++j) best[j] = std::min(best[j], seconds_of(runs[j]));
  return best;
}

}  // namespace hone
