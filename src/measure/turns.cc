#include "measure/turns.h"

#include <algorithm>
#include <numeric>

namespace hone {

Turns::Turns(size_t count, uint64_t seed) : rng_(seed), order_(count) {
  std::iota(order_.begin(), order_.end(), size_t{0});
}

const std::vector<size_t>& Turns::next() {
  is_reversed_ = !is_reversed_;
  if (is_reversed_) {
    std::ranges::reverse(order_);
    return order_;
  }
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[rng_.below(static_cast<uint32_t>(i))]);
  return order_;
}

}  // namespace hone
