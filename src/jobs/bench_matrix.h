// hone bench --op linear and --op dequantize: products with a packed matrix beside a plain one, and its decoding alone.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/option_tables.h"
#include "jobs/op_forms.h"
#include "measure/environment.h"

namespace hone {

struct LinearBenchOptions {
  std::array<int64_t, 2> shape{4096, 14336};  // rows and columns of the matrix
  int64_t rows = 1;                           // of what it multiplies
  Format format;                              // of the packed matrix
};

struct MatrixResult {
  std::string title;         // "Linear 16 x 4096x14336 mxint8"
  int64_t matrices = 1;      // which one run reads one after the other, so that none stays in a cache
  std::vector<OpTimes> ops;  // plain, then packed; or the decoding alone
  OpMeasuring measuring;
  Environment environment;
};

// y = x W^T with W in f32 (as the session's compute type has it) and W packed, on the same decoded values, interleaved.
// One run multiplies as many matrices as fill 128 MiB with codes, at most 64.
// Throws Error where the format has no codes or none in this shape, or beyond the memory limit; Bug where the two give
// different answers.
MatrixResult bench_linear(const LinearBenchOptions& options, const OpMeasuring& measuring,
                          const TaskContext& context = {});

// hone explain --op dequantize, timed.
struct DequantizeOptions;
MatrixResult bench_dequantize(const DequantizeOptions& options, const OpMeasuring& measuring,
                              const TaskContext& context = {});

}  // namespace hone
