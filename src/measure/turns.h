// Orders in which several things are done in turn. Whoever comes first meets a colder machine (page cache, clock,
// allocator), so each random order is followed by its reverse: over pairs of turns nobody comes first more often.
#pragma once

#include <cstddef>
#include <vector>

#include "base/philox.h"

namespace hone {

class Turns {
 public:
  Turns(size_t count, uint64_t seed);
  const std::vector<size_t>& next();  // a permutation of 0 ... count - 1

 private:
  Philox rng_;
  std::vector<size_t> order_;
  bool is_reversed_ = true;
};

}  // namespace hone
