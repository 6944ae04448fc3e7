// What may be said of two measurements beside each other. All words for it are here (faster, slower, higher, lower,
// better, worse), and none without the interval that shows it; tests/guards/claims.cmake finds sentences elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "measure/estimate.h"
#include "measure/ratio.h"

namespace hone {

// On which side of `alike`, a ratio of 1 or a difference of 0, the whole interval lies. Nothing without an interval.
enum class Shown : uint8_t { nothing, below, above };
Shown shown(const std::optional<Interval>& ci95, double alike);

// Of a against b where no interval of their difference is known: nothing unless their own leave no value to both. What
// they show so, their difference on the same samples shows, too.
Shown shown_apart(const std::optional<Interval>& a, const std::optional<Interval>& b);

// "1.63x faster (1.60-1.66)", "1.25x slower (1.21-1.30)", or "no difference shown (0.98-1.03)".
std::string verdict(const Ratio& ratio);

// How figures of a kind are read.
struct FigureSense {
  bool is_share = false, larger_is_better = true;
};
// "0.50 points lower (0.10-0.90), which is worse", "no difference shown (-0.20 to 0.30 points)".
std::string verdict(const Difference& difference, const FigureSense& kind);

// Many comparisons of the same two ways.
struct Tally {
  int better = 0, worse = 0, level = 0;
  void add(Shown shown, bool larger_is_better);
};
// "better in 3 of 8, worse in 1, no difference shown in 4"
std::string verdict(const Tally& tally);

}  // namespace hone
