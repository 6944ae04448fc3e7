// hone bench --op attention: the same attention as three products and a softmax between them, and as one op.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "base/option_tables.h"
#include "jobs/op_forms.h"
#include "jobs/task.h"
#include "measure/environment.h"
#include "runtime/session.h"

namespace hone {

struct AttentionBenchOptions {
  std::array<int64_t, 4> shape{32, 8, 128, 64};  // batches, heads, length of keys, columns of a head
  int64_t queries = 0;                           // of each head, the last of its keys' positions; 0: as many as keys
  int64_t kv_heads = 0;                          // heads of keys and values, which others share; 0: each has its own
  DType type = DType::f32;                       // of q, k and v: f32 or bf16
  std::string kv_format;                         // of keys and values, beside q in f32; empty: as q
  int64_t page_rows = 0;                         // of keys and values in pages, found by a table; 0: none
  bool causal = false;
};

// The same as flags, of hone bench --op attention: all but shape and type, which other ops have as well, and how it is
// run and measured.
struct AttentionFlags {
  std::string kv_format;
  std::optional<int64_t> queries, kv_heads, page_rows;
  bool causal = false;
  AttentionBenchOptions attention() const;
  bool are_given() const;
  static std::span<const OptionField<AttentionFlags>> fields();
};

struct AttentionForm : OpTimes {
  double scores_bytes = 0;  // of queries x keys, kept at once
};

struct AttentionResult {
  AttentionBenchOptions options;
  OpMeasuring measuring;
  std::array<AttentionForm, 2> forms;  // the naive one, and the fused
  Environment environment;
};

// "32,8,128,64". Throws Error for anything but four sizes of 1 or more.
std::array<int64_t, 4> parse_attention_shape(const std::string& text);

// Both on the same values, interleaved. Naive is MatMul, scale, Softmax, MatMul on [B,H,S,D] and keeps the scores
// [B,H,queries,S], of decoded keys and values where those have a format; fused is the op `attention` on [B,S,H*D], or
// on pages that lie in a random order.
// Throws Error where there are more queries than keys, heads that cannot share, keys that are no whole pages, or
// operands beyond the memory limit; Bug where the two give different answers.
AttentionResult bench_attention(const AttentionBenchOptions& options, const OpMeasuring& measuring,
                                const TaskContext& context = {});

}  // namespace hone
