// How much faster one candidate is than another; claim.h has the words for it.
//
// Two sessions of one model differ: where their memory lies decides what collides in the caches, by up to a few percent
// for as long as they live, and no number of rounds averages that away. So a comparison sets everything up several
// times in random order (jobs/bench), and its interval is of the ratios of those placements, not of rounds.
#pragma once

#include "measure/timing.h"

namespace hone {

// Set-ups of such a comparison. Ten medians give a 98 % interval from the second smallest to the second largest: one
// outlier does not decide.
constexpr int kPlacements = 10;

// time of base / time of candidate: above 1 the candidate is faster.
struct Ratio {
  double value = 1;
  Interval ci95;  // of the median of the ratios, by placement or by round
  int rounds = 0;
  bool difference_shown() const { return rounds >= kFewestForInterval && !ci95.contains(1); }
};

// From paired rounds of one interleaved run, where drift that both candidates of a round share cancels. With at least
// kFewestForInterval placements: the median of their median ratios, with its sign-test interval. Otherwise of rounds of
// one placement, wider where they resemble their neighbours. Throws Bug when the numbers of rounds differ.
Ratio speed_ratio(const Timing& base, const Timing& candidate);

}  // namespace hone
