// How this process sums numbers over those that it trains with: set by whoever joined them (mpi/ranks.h), used by the
// op sum_over_ranks. It is the process's own, as its stop flag is.
#pragma once

#include <functional>
#include <span>

namespace hone {

using RankSum = std::function<void(std::span<double>)>;  // in place
void set_rank_sum(RankSum sum);                          // before others use it; none: this process is alone
void sum_over_ranks(std::span<double> values);

}  // namespace hone
