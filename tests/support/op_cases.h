// Sample calls for every registered op: what one reader of the table (the reference, a backend, a gradient) is held to
// another with.
#pragma once

#include "tests/support/op_cases_any.h"
#include "tests/support/op_cases_gradients.h"
#include "tests/support/op_cases_moves.h"
#include "tests/support/op_cases_points.h"
#include "tests/support/op_cases_pointwise.h"
#include "tests/support/op_cases_products.h"
#include "tests/support/op_cases_recurrent.h"
#include "tests/support/op_cases_rows.h"
#include "tests/support/op_cases_sequences.h"
#include "tests/support/op_cases_shape.h"
#include "tests/support/op_cases_signal.h"
#include "tests/support/op_cases_spatial.h"
#include "tests/support/op_cases_tables.h"

namespace hone {

// Of an op that is named below; empty for others.
inline OpCases listed_cases(const OpDef& op, Philox& rng) {
  const std::string_view name = op.name;
  if (OpCases cases = points_cases(op, rng); !cases.empty()) return cases;
  if (OpCases cases = gradient_cases(name, rng); !cases.empty()) return cases;
  if (op.pointwise) return pointwise_cases(op, rng);
  if (name == "linear") return linear_cases(rng);
  if (name == "block_linear") return block_linear_cases(rng);
  if (name == "matmul") return matmul_cases(rng);
  if (name == "attention") return attention_cases(rng);
  if (name == "softmax" || name == "log_softmax") return softmax_cases(rng);
  if (name == "layer_norm" || name == "rms_norm" || name == "l2_normalise") return norm_cases(rng, op.operands.most());
  if (name == "softmax_gradient" || name == "log_softmax_gradient" || name == "layer_norm_gradient" ||
      name == "rms_norm_gradient" || name == "l2_normalise_gradient")
    return row_gradient_cases(op, rng);
  if (name == "gather_gradient") return gather_gradient_cases(rng);
  if (const OpCases cases = spatial_cases(name, rng); !cases.empty()) return cases;
  if (name == "batch_norm") return batch_norm_cases(rng);
  if (name == "mean_pool") return mean_pool_cases(rng);
  if (name == "cross_entropy") return cross_entropy_cases(rng);
  if (name == "gather") return gather_cases(rng);
  if (name == "flatten") return moved(rng, {2, 3, 4}, {{}, {{"axis", int64_t{2}}}, {{"axis", int64_t{-3}}}});
  if (name == "transpose")
    return moved(rng, {3, 7, 17}, {{}, {{"perm", Integers{0, 2, 1}}}, {{"perm", Integers{1, 0, -1}}}});
  if (name == "concat") return concat_cases(rng);
  if (name == "slice") return slice_cases(rng);
  if (name == "shape_of") return moved(rng, {2, 3, 4}, {{}});
  if (name == "full") return full_cases();
  if (name == "iota") return iota_cases();
  if (name == "fake_quant") return fake_quant_cases(rng);
  if (name == "quantize") return to_codes_cases(rng);
  if (name == "quantize_dynamic") return quantize_dynamic_cases(rng);
  if (name == "dequantize") return from_codes_cases(rng);
  if (name == "rnn" || name == "gru" || name == "lstm") return recurrent_cases(op, rng);
  if (name == "recurrent_steps") return recurrent_steps_cases(rng);
  if (OpCases cases = signal_cases(op, rng); !cases.empty()) return cases;
  if (OpCases cases = sequence_cases(op, rng); !cases.empty()) return cases;
  if (OpCases cases = table_cases(name, rng); !cases.empty()) return cases;
  return move_cases(name, rng);
}

// Never empty for an op of ops::all(): tests/ops checks that.
inline OpCases cases_for(const OpDef& op, Philox& rng) {
  OpCases cases = listed_cases(op, rng);
  return cases.empty() && op.bodies == 0 ? any_cases(op, rng) : cases;
}

}  // namespace hone
