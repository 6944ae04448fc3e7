#include "formats/element_pass.h"

namespace hone {

void run_program(const Program& program, std::span<const ConstColumn> args, int64_t n,
                 std::span<const MutableColumn> results) {
  CHECK(program.args.size() <= args.size());
  interpret(program, args.first(program.args.size()), 0, n, results);
}

BatchInputs::BatchInputs(std::span<const GroupColumn> columns)
    : groups_(columns),
      x_(BlockTraversal::kBatch),
      columns_(columns.size(), std::vector<double>(BlockTraversal::kBatch)) {
  args_.push_back({x_.data()});
  for (const std::vector<double>& column : columns_) args_.push_back({column.data()});
}

void BatchInputs::load(const BlockTraversal& blocks, const Batch& batch, std::span<const float> values) {
  blocks.gather(batch, values, x_.data());
  for (size_t c = 0; c < groups_.size(); ++c)
    for (const Run& run : batch.runs)
      std::fill_n(columns_[c].begin() + run.begin, run.count, groups_[c][static_cast<size_t>(run.group)]);
}

}  // namespace hone
