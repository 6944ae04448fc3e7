// Sums of tensors over all ranks, under way while the next are computed. Each rank sums a slice of a tensor, in the
// order of ranks, and sends it to the others: the bits depend on the number of ranks alone, and every rank has the
// same.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <vector>

#include "mpi/ranks.h"

namespace hone {

class OrderedSum {
 public:
  explicit OrderedSum(const Ranks& ranks) : ranks_(ranks) {}

  // `number` tells the tensor apart from the others that are under way, alike on all ranks. `values` become the sums,
  // and belong to this until finish().
  void begin(int number, std::span<float> values);
  void progress();  // what can be done without waiting
  void finish();

  // That are held beside the tensors: what other ranks have sent of slices that this one sums.
  static int64_t most_bytes(int64_t tensor_bytes, int64_t ranks) { return tensor_bytes / ranks * (ranks - 1); }

 private:
  struct Sum {
    int tag;  // of the slices, and one more of their sums
    std::span<float> values;
    std::vector<float> received = {};  // own slice of each other rank
    bool is_summed = false;
    Messages messages = {};
  };
  std::span<float> slice(const Sum& sum, int rank) const;
  bool advance(Sum& sum);  // whether it is complete
  void add_up(Sum& sum) const;

  const Ranks& ranks_;
  std::list<Sum> under_way_;
};

}  // namespace hone
