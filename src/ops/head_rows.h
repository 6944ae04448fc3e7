// Where the codes and scales of heads are that lie side by side in packed rows: what a pass may leave packed and a
// kernel reads a head at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "formats/format.h"

namespace hone {

struct HeadRows {
  int64_t row_codes = 0, row_scales = 0, row_zeros = 0;  // bytes of a row of all heads
  int64_t group = 0;                                     // columns that share a scale; 0: there is none
  int scale_bytes = 0, zero_bytes = 0;                   // of one
};

// Of `heads` heads of `columns` each. None where a head starts inside a byte, rows or heads share scales unevenly, a
// value is a sum of scales, or numbers of the whole tensor are needed.
std::optional<HeadRows> head_rows(const Format& format, int64_t heads, int64_t columns);

}  // namespace hone
