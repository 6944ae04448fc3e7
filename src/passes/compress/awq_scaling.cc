// AWQ: input channels with large activations get larger weights before rounding, and so smaller relative errors,
//   s_c = rms(x_c)^e, divided by sqrt(max s * min s)
// with the exponent e that gives the layers of one input the least error of their results,
//   E |(Q(w s)/s - w) x|^2 = tr(dW H dW^T), H = E[x x^T]
// Lin et al., "AWQ: Activation-aware Weight Quantization for LLM Compression and Acceleration" (2023).
#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "passes/compress/quantize.h"
#include "passes/compress/shared_input.h"
#include "passes/pass.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

constexpr int kExponents = 10;  // steps from 0 to 1

// Where all rows would take more products with H than this, the error is that of rows at even distances: 28 where K is
// 1536.
constexpr int64_t kProductsPerLayer = 1 << 26;

std::vector<double> factors_for(const std::vector<double>& mean_squares, double exponent) {
  std::vector<double> factors(mean_squares.size(), 1.0);
  double least = INFINITY, most = 0;
  for (size_t c = 0; c < factors.size(); ++c) {
    if (mean_squares[c] <= 0) continue;
    factors[c] = std::pow(mean_squares[c], exponent / 2);
    least = std::min(least, factors[c]), most = std::max(most, factors[c]);
  }
  for (size_t c = 0; c < factors.size(); ++c)
    if (mean_squares[c] > 0) factors[c] /= std::sqrt(least * most);
  return factors;
}

// One layer's weight as the matrix that its format is laid on, and what its columns are multiplied with.
class ScaledLayer {
 public:
  ScaledLayer(const Graph& graph, const Layer& layer, const Format& format, const LayerStatistics& statistics)
      : format_(format),
        statistics_(statistics),
        channels_(input_channels(graph, layer)),
        matrix_(*weight_matrix(*graph.constant(layer.weight))) {}

  // tr(dW H dW^T), of a part of the rows when there are many.
  double error(const std::vector<double>& factors) const {
    const std::vector<float> difference = difference_with(factors);
    const int64_t width = matrix_.dim(1), rows = matrix_.dim(0);
    const int64_t counted = std::clamp<int64_t>(kProductsPerLayer / (width * width), 1, rows);
    std::vector<double> sums(static_cast<size_t>(counted));
    parallel_for(counted, [&](int64_t i) {
      const int64_t row = i * rows / counted, group = row / (rows / channels_.groups);
      sums[static_cast<size_t>(i)] =
          quadratic(difference.data() + row * width, statistics_.moment.data() + group * width * width, width);
    });
    double sum = 0;
    for (double s : sums) sum += s;
    return sum * static_cast<double>(rows) / static_cast<double>(counted);
  }

 private:
  // Q(w s)/s - w; the columns of a row are [taps, channels].
  std::vector<float> difference_with(const std::vector<double>& factors) const {
    const std::span<const float> w = matrix_.as<float>();
    std::vector<float> scaled(w.size()), rounded(w.size());
    const auto factor = [&](size_t at) {
      const auto width = static_cast<size_t>(matrix_.dim(1));
      const auto row = static_cast<int64_t>(at / width), column = static_cast<int64_t>(at % width);
      return static_cast<float>(factors[static_cast<size_t>(channels_.first_of(row) + column % channels_.per_row)]);
    };
    for (size_t i = 0; i < w.size(); ++i) scaled[i] = w[i] * factor(i);
    fake_quantize(format_, matrix_.shape(), scaled, rounded);
    for (size_t i = 0; i < w.size(); ++i) rounded[i] = rounded[i] / factor(i) - w[i];
    return rounded;
  }

  // d H d^T; H is symmetric.
  static double quadratic(const float* d, const float* h, int64_t width) {
    double sum = 0;
    for (int64_t k = 0; k < width; ++k) {
      const float* row = h + k * width;
      sum += d[k] * (row[k] * d[k] + 2.0 * product(row + k + 1, d + k + 1, width - k - 1));
    }
    return sum;
  }

  // Sums of their own for eight lanes, so that the compiler may use vectors.
  static double product(const float* a, const float* b, int64_t n) {
    constexpr int kLanes = 8;
    float lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
    double sum = 0;
    for (float lane : lanes) sum += lane;
    for (; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }

  const Format& format_;
  const LayerStatistics& statistics_;
  InputChannels channels_;
  Tensor matrix_;
};

// None when no exponent above 0 lowers the error.
std::optional<std::vector<double>> best_factors(const std::vector<ScaledLayer>& layers,
                                                const std::vector<double>& mean_squares) {
  std::optional<std::vector<double>> best;
  double least = INFINITY;
  for (int i = 0; i <= kExponents; ++i) {
    std::vector<double> factors = factors_for(mean_squares, static_cast<double>(i) / kExponents);
    double error = 0;
    for (const ScaledLayer& layer : layers) error += layer.error(factors);
    if (error >= least) continue;
    least = error;
    if (i > 0) best = std::move(factors);
  }
  return best;
}

Graph awq_scaling(Graph graph, const PassContext& context, const FormatRules& rules) {
  const QuantizationPlan plan = plan_quantization(graph, rules);
  for (const SharedInput& input : shared_inputs(graph)) {
    const LayerStatistics* statistics = statistics_of(context, graph, input);
    if (!statistics) continue;
    std::vector<ScaledLayer> layers;
    for (const Layer& layer : input.layers)
      if (const Format* format = plan.format_of(layer.weight)) layers.emplace_back(graph, layer, *format, *statistics);
    if (layers.empty()) continue;
    const auto factors = best_factors(layers, mean_squares(*statistics, input_channels(graph, input.layers[0])));
    if (factors) scale_input(graph, input, *factors);
  }
  graph.erase_unused_constants();
  return graph;
}

}  // namespace

extern constinit const PassDef awq_scaling_def{
    .name = "awq_scaling",
    .doc =
        "Weights that are to be quantized are scaled up where their input is large, by the power of its root mean "
        "square that gives the least error; the inverse goes into what computes the input, else it is a "
        "multiplication.",
    .run = with_options<awq_scaling>};

}  // namespace hone
