// Which rows the batches of an epoch hold.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace hone {

struct BatchOrder {
  int64_t batch = 32;
  uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;  // leave out the rows that fill no batch (others next epoch)

  // Batches of rows of similar length: the rows of so many batches are sorted by length together. Of n tokens in all,
  // at most batch x (longest - shortest) of such a window are padding. 1: rows stay as they are shuffled.
  int64_t window = 1;
};

using EpochPlan = std::vector<std::vector<int64_t>>;  // rows of each batch

// Depends on what is given and on nothing before: an epoch can begin anywhere, without those before it. Every row is in
// one batch. `length` is asked for windows above 1. Throws Error for a batch below 1 or, with drop_last, above the
// number of rows.
EpochPlan plan_epoch(std::span<const int64_t> rows, const BatchOrder& order, uint64_t epoch,
                     const std::function<int64_t(int64_t row)>& length = {});

}  // namespace hone
