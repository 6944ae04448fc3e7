// The flags of hone bench --op: which op, of which sizes and types.
#pragma once

#include "jobs/bench_attention.h"
#include "jobs/bench_matrix.h"
#include "jobs/explain_op.h"

namespace hone {

struct OpFlags : AttentionFlags {
  std::string op, weight_format;
  std::optional<std::string> shape, type;
  std::optional<int64_t> rows;

  // Each throws Error for a flag that says nothing of this op.
  AttentionBenchOptions attention() const;
  LinearBenchOptions linear() const;
  DequantizeOptions dequantize() const;
  static std::span<const OptionField<OpFlags>> fields();
};

}  // namespace hone
