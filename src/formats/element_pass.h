// Running element programs over a whole tensor, batch by batch and on all threads. Position 0 of such a program is the
// element (f32 x), positions 1, 2, ... are values of its group (f64).
#pragma once

#include <span>
#include <vector>

#include "base/threads.h"
#include "expr/program.h"
#include "formats/block_traversal.h"

namespace hone {

using GroupColumn = std::span<const double>;  // one value per group

inline Expr element_arg() { return Expr::arg(0, Scalar::f32); }
inline Expr group_arg(int column) { return Expr::arg(1 + column, Scalar::f64); }

// Interprets with as many of `args` as the program reads.
void run_program(const Program& program, std::span<const ConstColumn> args, int64_t n,
                 std::span<const MutableColumn> results);

// The inputs of one batch in batch order; scratch of one thread.
class BatchInputs {
 public:
  explicit BatchInputs(std::span<const GroupColumn> columns);

  // Group values are spread over the elements of each run.
  void load(const BlockTraversal& blocks, const Batch& batch, std::span<const float> values);
  std::span<float> x() { return x_; }
  std::span<const ConstColumn> args() const { return args_; }

 private:
  std::span<const GroupColumn> groups_;
  std::vector<float> x_;
  std::vector<std::vector<double>> columns_;
  std::vector<ConstColumn> args_;
};

// fn(unit index, scratch) for every unit; make_scratch() gives each chunk of units its own.
template <class MakeScratch, class F>
void for_each_unit(const BlockTraversal& blocks, MakeScratch&& make_scratch, F&& fn) {
  constexpr int64_t kChunkElems = 1 << 16;
  const int64_t grain = std::max<int64_t>(1, kChunkElems / std::max<int64_t>(1, blocks.unit_elems()));
  auto chunk = [&](int64_t begin, int64_t end, int) {
    auto scratch = make_scratch();
    for (int64_t unit = begin; unit < end; ++unit) fn(unit, scratch);
  };
  parallel_chunks(blocks.units(), grain, hardware_threads(), chunk);
}

}  // namespace hone
