#include "base/rank_sum.h"

#include <utility>

namespace hone {
namespace {

RankSum& current() {
  static RankSum sum;
  return sum;
}

}  // namespace

void set_rank_sum(RankSum sum) { current() = std::move(sum); }

void sum_over_ranks(std::span<double> values) {
  if (const RankSum& sum = current()) sum(values);
}

}  // namespace hone
