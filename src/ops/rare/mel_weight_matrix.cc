// mel_weight_matrix: triangles that sum the bins of a spectrum into bands of equal width on the mel scale, as ONNX
// MelWeightMatrix: mel(f) = 2595 log10(1 + f / 700).
#include <algorithm>
#include <cmath>

#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {{"dtype", AttributeKind::dtype, false, "default f32"}};

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

std::vector<TensorType> infer_mel(const InferArgs& a) {
  for (size_t i = 0; i < 5; ++i) expect_not_string(a[i], "an operand");
  for (size_t i = 3; i < 5; ++i) expect_float(a[i], "an edge");
  const Dim bands = dim_argument(a, 0, "mel_bins"), length = dim_argument(a, 1, "dft_length");
  dim_argument(a, 2, "sample_rate");
  const TensorType type = plain_type(a.attributes.get_or<DType>("dtype", DType::f32), {floordiv(length, 2) + 1, bands});
  expect_not_string(type, "the result");
  return {type};
}

// The bins of the spectrum at which the triangles begin, peak and end: band i spans edges i, i + 1, i + 2.
std::vector<int64_t> band_edges(const EvalArgs& a, int64_t bands) {
  const auto length = static_cast<double>(a[1].to_integers()[0]), rate = static_cast<double>(a[2].to_integers()[0]);
  const double low = a[3].to_doubles().at(0), high = a[4].to_doubles().at(0);
  if (!(low >= 0 && low < high && high <= rate / 2))
    fail("the edges are {} and {} Hz; accepted: 0 <= lower < upper <= {}, half the sample rate", low, high, rate / 2);
  const double step = (mel_of(high) - mel_of(low)) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = hertz_of(mel_of(low) + static_cast<double>(i) * step);
    edges.push_back(static_cast<int64_t>(std::floor((length + 1) * hertz / rate)));
  }
  return edges;
}

std::vector<Tensor> eval_mel(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  const int64_t bands = sizes[1];
  const std::vector<int64_t> edges = band_edges(a, bands);
  std::vector<double> y(static_cast<size_t>(element_count(sizes)));
  for (int64_t band = 0; band < bands; ++band) {
    check_stop();
    const auto edge = [&](int64_t i) { return std::clamp<int64_t>(edges[static_cast<size_t>(band + i)], 0, sizes[0]); };
    const int64_t begin = edge(0), peak = std::min(edge(1), sizes[0] - 1), end = edge(2);
    const auto at = [&](int64_t bin) -> double& { return y[static_cast<size_t>(bin * bands + band)]; };
    for (int64_t bin = begin; bin < peak; ++bin)
      at(bin) = static_cast<double>(bin - begin) / static_cast<double>(peak - begin);
    at(peak) = 1;
    for (int64_t bin = peak + 1; bin < end; ++bin)
      at(bin) = static_cast<double>(end - bin) / static_cast<double>(end - peak);
  }
  return {Tensor::of<double>(sizes, y).converted(a.results[0].dtype)};
}

}  // namespace

extern constinit const OpDef mel_weight_matrix_def{
    .name = "mel_weight_matrix",
    .doc =
        "[dft_length/2+1, mel_bins] with a triangle of height 1 in each column; operands are the scalars mel_bins, "
        "dft_length, sample_rate, lower and upper edge in Hz.",
    .operands = {"mel_bins", "dft_length", "sample_rate", "lower_edge", "upper_edge"},
    .attributes = kAttributes,
    .infer = infer_mel,
    .eval = eval_mel,
    .no_gradient = "its operands say how many filters there are and which frequencies they cover"};

}  // namespace hone
