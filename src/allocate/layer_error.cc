#include "allocate/layer_error.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ops/calls/matmul.h"

namespace hone {
namespace {

Graph product_graph() {
  Graph graph;
  const Dim n = Dim::symbol("N"), k = Dim::symbol("K");
  const ValueId d = graph.add_input("d", {.dtype = DType::f32, .shape = {n, k}});
  const ValueId h = graph.add_input("h", {.dtype = DType::f32, .shape = {k, k}});
  graph.add_output(ops::matmul(graph, {d, h}), "dh");
  return graph;
}

double sum_of_products(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

}  // namespace

LayerError::LayerError(SessionOptions options) {
  options.compute = Compute::f32;
  product_ = std::make_unique<Session>(product_graph(), std::move(options));
}

LayerError::~LayerError() = default;

double LayerError::energy(std::span<const float> weights, const LayerStatistics& s) {
  const size_t per_group = weights.size() / static_cast<size_t>(s.groups),
               square = static_cast<size_t>(s.width * s.width);
  double energy = 0;
  for (size_t g = 0; g < static_cast<size_t>(s.groups); ++g) {
    const std::span<const float> rows = weights.subspan(g * per_group, per_group);
    const std::span<const float> moment = std::span(s.moment).subspan(g * square, square);
    const std::vector<int64_t> shape{static_cast<int64_t>(per_group) / s.width, s.width};
    const Tensor product = product_->run({{"d", Tensor::from_floats(DType::f32, shape, rows)},
                                          {"h", Tensor::from_floats(DType::f32, {s.width, s.width}, moment)}})[0];
    energy += sum_of_products(rows, product.as<float>());
  }
  return std::max(energy, 0.0);
}

double LayerError::operator()(const Tensor& plain, const Tensor& rounded, const LayerStatistics* statistics) {
  const std::vector<float> w = plain.to_floats(), v = rounded.to_floats();
  CHECK(w.size() == v.size());
  std::vector<float> d(w.size());
  for (size_t i = 0; i < w.size(); ++i) d[i] = w[i] - v[i];
  const bool weighted = statistics && !statistics->moment.empty() && plain.dim(-1) == statistics->width;
  const double noise = weighted ? energy(d, *statistics) : sum_of_products(d, d);
  const double signal = weighted ? energy(w, *statistics) : sum_of_products(w, w);
  return noise == 0 ? 0 : signal > 0 ? noise / signal : INFINITY;
}

}  // namespace hone
