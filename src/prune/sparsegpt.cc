// Frantar and Alistarh, "SparseGPT: Massive Language Models Can Be Accurately Pruned in One-Shot" (2023). With the
// second moments H of the inputs, H + damping = M Mᵀ, M upper triangular, and U = M⁻¹ (so that H⁻¹ = Uᵀ U), a weight
// that goes costs (w_j / U_jj)², and w_k -= w_j / U_jj U_jk makes up for it in the columns behind it. Masks are chosen
// for kBlock columns at a time, of weights that have made up for those before.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/stop.h"
#include "base/threads.h"
#include "passes/compress/cholesky.h"
#include "prune/mask.h"

namespace hone {
namespace {

constexpr int64_t kBlock = 128;    // columns, as in the paper
constexpr double kDamping = 0.01;  // of the mean of H's diagonal; tenfold until H is positive definite

// U of one group, row-major, upper triangular.
std::vector<double> inverse_factor(const LayerStatistics& s, int64_t group) {
  const int64_t n = s.width;
  const auto at = [n](int64_t i, int64_t j) { return static_cast<size_t>(i * n + j); };
  const float* moment = s.moment.data() + group * n * n;
  double mean = 0;
  for (int64_t i = 0; i < n; ++i) mean += moment[at(i, i)] / static_cast<double>(n);
  if (!(mean > 0)) mean = 1;  // inputs that are always 0
  // The lower factor of H with its order reversed is M turned around.
  std::vector<double> turned(static_cast<size_t>(n * n));
  for (double damping = kDamping;; damping *= 10) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        turned[at(n - 1 - i, n - 1 - j)] = moment[at(i, j)] + (i == j ? damping * mean : 0);
    if (cholesky(turned, n)) break;
    CHECK(damping < 1e6);
  }
  std::vector<double> u(static_cast<size_t>(n * n));
  // Rows of U by back substitution in U M = I: U_jj = 1 / M_jj, U_jk = -(sum over j <= i < k of U_ji M_ik) / M_kk.
  const auto m = [&](int64_t i, int64_t k) { return turned[at(n - 1 - i, n - 1 - k)]; };
  parallel_for(n, [&](int64_t j) {
    double* row = u.data() + j * n;
    row[j] = 1 / m(j, j);
    for (int64_t k = j + 1; k < n; ++k) {
      double sum = 0;
      for (int64_t i = j; i < k; ++i) sum += row[i] * m(i, k);
      row[k] = -sum / m(k, k);
    }
  });
  return u;
}

std::vector<std::vector<double>> factors(const LayerStatistics& s) {
  std::vector<std::vector<double>> all;
  for (int64_t group = 0; group < s.groups; ++group) all.push_back(inverse_factor(s, group));
  return all;
}

double cost(double weight, const std::vector<double>& u, int64_t n, int64_t j) {
  const double relative = weight / u[static_cast<size_t>(j * n + j)];
  return relative * relative;
}

std::vector<float> sparsegpt_score(const ScoreInput& input) {
  std::vector<float> scores = input.weight.to_floats();
  const auto all = factors(*input.statistics);
  const int64_t n = input.columns(), per_group = input.rows() / input.statistics->groups;
  for (int64_t row = 0; row < input.rows(); ++row)
    for (int64_t j = 0; j < n; ++j) {
      float& score = scores[static_cast<size_t>(row * n + j)];
      score = static_cast<float>(cost(score, all[static_cast<size_t>(row / per_group)], n, j));
    }
  return scores;
}

Tensor sparsegpt_prune(const ScoreInput& input, const Selection& selection) {
  const auto all = factors(*input.statistics);
  const int64_t n = input.columns(), rows = input.rows(), per_group = rows / input.statistics->groups;
  std::vector<double> w = input.weight.to_doubles();
  // Blocks hold whole groups of N:M.
  const int64_t block = selection.of > 0 ? std::max<int64_t>(kBlock / selection.of, 1) * selection.of : kBlock;
  for (int64_t first = 0; first < n; first += block) {
    check_stop();
    const int64_t width = std::min(block, n - first);
    std::vector<float> scores(static_cast<size_t>(rows * width));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t c = 0; c < width; ++c)
        scores[static_cast<size_t>(row * width + c)] = static_cast<float>(
            cost(w[static_cast<size_t>(row * n + first + c)], all[static_cast<size_t>(row / per_group)], n, first + c));
    const Mask mask = keep_best(scores, rows, width, selection);
    parallel_for(rows, [&](int64_t row) {
      const std::vector<double>& u = all[static_cast<size_t>(row / per_group)];
      double* const line = w.data() + row * n;
      for (int64_t c = 0; c < width; ++c) {
        if (mask[static_cast<size_t>(row * width + c)]) continue;
        const int64_t j = first + c;
        const double* const ahead = u.data() + j * n;
        const double error = line[j] / ahead[j];
        line[j] = 0;
        for (int64_t k = j + 1; k < n; ++k) line[k] -= error * ahead[k];
      }
    });
  }
  return Tensor::from_doubles(DType::f32, {rows, n}, w);
}

}  // namespace

extern constinit const ScoreDef sparsegpt_score_def{
    .name = "sparsegpt",
    .doc = "what the layer's output on the data loses when the others make up for the weight, and lets them",
    .needs = ScoreDef::Needs::inputs,
    .score = sparsegpt_score,
    .prune = sparsegpt_prune};

}  // namespace hone
