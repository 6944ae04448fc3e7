#include "passes/compress/gptq.h"

#include <immintrin.h>

#include <algorithm>
#include <numeric>

#include "base/multiples.h"
#include "base/threads.h"
#include "expr/interpreter.h"
#include "formats/group_scales.h"
#include "formats/scale_search.h"
#include "passes/compress/cholesky.h"

namespace hone {
namespace {

constexpr int64_t kRows = 64;   // of a tile; a column of it is a run of floats
constexpr int64_t kBlock = 32;  // columns that first take up the errors of all blocks before: a product of matrices
constexpr int64_t kTake = 4;    // columns whose sums share the registers: 4 x 16 rows are 8 of 16

// The order of the columns, and M_ij / M_jj of H in that order for i < j, 0 elsewhere; row-major.
struct Feedback {
  std::vector<int64_t> order;
  int64_t stride;  // of the rows, which end with zeros so that they fall into runs of kTake
  std::vector<float> factors;
};

std::vector<int64_t> order_of(std::span<const float> moment, int64_t width, bool by_activation) {
  std::vector<int64_t> order(static_cast<size_t>(width));
  std::iota(order.begin(), order.end(), 0);
  const auto diagonal = [&](int64_t k) { return moment[static_cast<size_t>(k * width + k)]; };
  if (by_activation)
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return diagonal(a) > diagonal(b); });
  return order;
}

// The lower factor L of H with its order reversed, so that M_ij = L_{n-1-i,n-1-j}. Empty when H is 0.
std::vector<double> reversed_factor(std::span<const float> moment, int64_t n, const std::vector<int64_t>& order,
                                    double damping) {
  double mean = 0;
  for (int64_t k = 0; k < n; ++k)
    mean += static_cast<double>(moment[static_cast<size_t>(k * n + k)]) / static_cast<double>(n);
  if (!(mean > 0)) return {};
  std::vector<double> h(static_cast<size_t>(n * n));
  for (double added = damping * mean;; added *= 10) {
    parallel_for(n, [&](int64_t i) {
      const float* row = moment.data() + order[static_cast<size_t>(n - 1 - i)] * n;
      for (int64_t j = 0; j <= i; ++j) h[static_cast<size_t>(i * n + j)] = row[order[static_cast<size_t>(n - 1 - j)]];
      h[static_cast<size_t>(i * n + i)] += added;
    });
    if (cholesky(h, n)) return h;
    CHECK(added < 1e3 * mean, "a second moment is not positive semidefinite");
  }
}

Feedback feedback_of(std::span<const float> moment, int64_t n, const GptqOptions& options) {
  const int64_t stride = round_up(n, kTake);
  Feedback feedback{order_of(moment, n, options.activation_order), stride,
                    std::vector<float>(static_cast<size_t>(n * stride))};
  const std::vector<double> lower = reversed_factor(moment, n, feedback.order, options.damping);
  if (lower.empty()) return feedback;
  const auto m = [&](int64_t i, int64_t j) { return lower[static_cast<size_t>((n - 1 - i) * n + n - 1 - j)]; };
  parallel_for(n, [&](int64_t i) {
    for (int64_t j = i + 1; j < n; ++j)
      feedback.factors[static_cast<size_t>(i * stride + j)] = static_cast<float>(m(i, j) / m(j, j));
  });
  return feedback;
}

// targets[c][r] += sum over i < count of errors[i][r] * factors[i * stride + c] for `kTake` columns of kRows rows.
__attribute__((target("avx2,fma"))) void take_up(const float* errors, const float* factors, int64_t stride,
                                                 int64_t count, float* targets) {
  for (int64_t r = 0; r < kRows; r += 16) {
    __m256 sums[kTake][2];
#pragma GCC unroll 4
    for (int64_t c = 0; c < kTake; ++c)
#pragma GCC unroll 2
      for (int64_t h = 0; h < 2; ++h) sums[c][h] = _mm256_loadu_ps(targets + c * kRows + r + 8 * h);
    for (int64_t i = 0; i < count; ++i) {
      const __m256 low = _mm256_loadu_ps(errors + i * kRows + r), high = _mm256_loadu_ps(errors + i * kRows + r + 8);
#pragma GCC unroll 4
      for (int64_t c = 0; c < kTake; ++c) {
        const __m256 factor = _mm256_broadcast_ss(factors + i * stride + c);
        sums[c][0] = _mm256_fmadd_ps(low, factor, sums[c][0]);
        sums[c][1] = _mm256_fmadd_ps(high, factor, sums[c][1]);
      }
    }
#pragma GCC unroll 4
    for (int64_t c = 0; c < kTake; ++c)
#pragma GCC unroll 2
      for (int64_t h = 0; h < 2; ++h) _mm256_storeu_ps(targets + c * kRows + r + 8 * h, sums[c][h]);
  }
}

__attribute__((target("avx2,fma"))) void take_up_one(const float* error, float factor, float* target) {
  const __m256 all = _mm256_set1_ps(factor);
  for (int64_t r = 0; r < kRows; r += 8)
    _mm256_storeu_ps(target + r, _mm256_fmadd_ps(_mm256_loadu_ps(error + r), all, _mm256_loadu_ps(target + r)));
}

// What all tiles share.
struct Matrix {
  std::span<const float> values;
  int64_t width;
  Program round;                     // an element and its group's values -> code, decoded
  std::vector<GroupColumn> columns;  // of `round`
  std::vector<uint32_t> group_of;    // each element
};

Program round_program(const Format& format) {
  const GroupValues group = group_args(format);
  const Expr code = encoded(format, element_arg(), group), results[] = {code, decoded(format, code, group)};
  return flatten(results);
}

std::vector<uint32_t> group_of_elements(const BlockTraversal& blocks) {
  std::vector<uint32_t> group_of(static_cast<size_t>(blocks.elems()));
  std::vector<uint32_t> ids(BlockTraversal::kBatch);
  for (int64_t unit = 0; unit < blocks.units(); ++unit)
    blocks.for_each_batch(blocks.unit(unit), [&](const Batch& batch) {
      for (const Run& run : batch.runs)
        std::fill_n(ids.begin() + run.begin, run.count, static_cast<uint32_t>(run.group));
      blocks.scatter(batch, ids.data(), std::span(group_of));
    });
  return group_of;
}

// Rounds up to kRows rows, held as columns one after the other in the order of the feedback.
class Tile {
 public:
  Tile(const Matrix& matrix, const Feedback& feedback)
      : matrix_(matrix),
        feedback_(feedback),
        round_(matrix.round),
        errors_(static_cast<size_t>(matrix.width * kRows)),
        scales_(matrix.columns.size(), std::vector<double>(kRows, 1.0)) {}

  void run(int64_t first, int64_t rows, std::span<uint32_t> codes) {
    first_ = first, rows_ = rows;
    for (int64_t begin = 0; begin < matrix_.width; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, matrix_.width);
      load(begin, end);
      for (int64_t j = begin; j < end; j += kTake)
        take_up(errors_.data(), feedback_.factors.data() + j, feedback_.stride, begin, targets_ + (j - begin) * kRows);
      for (int64_t j = begin; j < end; ++j) {
        float* target = targets_ + (j - begin) * kRows;
        for (int64_t i = begin; i < j; ++i)
          take_up_one(errors_.data() + i * kRows, feedback_.factors[static_cast<size_t>(i * feedback_.stride + j)],
                      target);
        round_column(j, target, weights_ + (j - begin) * kRows, codes);
      }
    }
  }

 private:
  size_t element(int64_t row, int64_t j) const {
    return static_cast<size_t>((first_ + row) * matrix_.width + feedback_.order[static_cast<size_t>(j)]);
  }

  void load(int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j)
      for (int64_t r = 0; r < rows_; ++r) weights_[(j - begin) * kRows + r] = matrix_.values[element(r, j)];
    std::copy_n(weights_, kBlock * kRows, targets_);
  }

  void round_column(int64_t j, const float* target, const float* weights, std::span<uint32_t> codes) {
    std::vector<ConstColumn> args{{target}};
    for (size_t c = 0; c < scales_.size(); ++c) {
      for (int64_t r = 0; r < rows_; ++r)
        scales_[c][static_cast<size_t>(r)] = matrix_.columns[c][matrix_.group_of[element(r, j)]];
      args.push_back({scales_[c].data()});
    }
    const MutableColumn results[] = {{codes_}, {rounded_}};
    round_.run(args, 0, kRows, results);
    float* errors = errors_.data() + j * kRows;
    for (int64_t r = 0; r < kRows; ++r) errors[r] = weights[r] - rounded_[r];
    for (int64_t r = 0; r < rows_; ++r) codes[element(r, j)] = codes_[r];
  }

  const Matrix& matrix_;
  const Feedback& feedback_;
  Interpreter round_;
  int64_t first_ = 0, rows_ = 0;
  std::vector<float> errors_;                // of the columns that are done
  std::vector<std::vector<double>> scales_;  // and the other values of the groups of one column
  float weights_[kBlock * kRows] = {}, targets_[kBlock * kRows], rounded_[kRows];
  uint32_t codes_[kRows];
};

}  // namespace

ElementInputs element_inputs(const LayerStatistics& statistics, int64_t rows) {
  const int64_t width = statistics.width, rows_of_group = rows / statistics.groups;
  ElementInputs inputs;
  for (int64_t g = 0; g < statistics.groups; ++g)
    for (int64_t r = 0; r < rows_of_group; ++r)
      for (int64_t i = g * width; i < (g + 1) * width; ++i) {
        const float mean = statistics.mean[static_cast<size_t>(i)],
                    square = statistics.moment[static_cast<size_t>(i * width + i % width)];
        inputs.variance.push_back(std::max(square - mean * mean, 0.0f));
        inputs.mean.push_back(mean);
      }
  return inputs;
}

Planes pack_gptq(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                 const LayerStatistics& statistics, const GptqOptions& options) {
  const BlockTraversal blocks(format, shape);
  const GroupScales scales = search_scales(format, blocks, values, element_inputs(statistics, shape[0]));
  const int64_t width = statistics.width, groups = statistics.groups, rows = shape[0] / groups;
  Matrix matrix{values, width, round_program(format), {}, group_of_elements(blocks)};
  matrix.columns = scales.columns(matrix.round);
  std::vector<uint32_t> codes(values.size());
  for (int64_t g = 0; g < groups; ++g) {
    const auto moment = std::span(statistics.moment).subspan(static_cast<size_t>(g * width * width));
    const Feedback feedback = feedback_of(moment, width, options);
    auto tiles = [&](int64_t begin, int64_t end, int) {
      Tile tile(matrix, feedback);
      for (int64_t t = begin; t < end; ++t) tile.run(g * rows + t * kRows, std::min(kRows, rows - t * kRows), codes);
    };
    parallel_chunks((rows + kRows - 1) / kRows, 1, hardware_threads(), tiles);
  }
  return planes_of(format, shape, codes, scales.codes, scales.zero_points, scales.global, scales.outer_codes);
}

}  // namespace hone
