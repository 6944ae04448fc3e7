#include "calibrate/moment_sum.h"

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "ops/calls/matmul.h"
#include "ops/calls/transpose.h"
#include "ops/rules.h"

namespace hone {
namespace {

// Vectors of a chunk: 4 MiB of them, few enough that f32 sums of their products stay exact to about 2^-18, and enough
// that one product of matrices outweighs adding its result up.
int64_t chunk_of(int64_t groups, int64_t width) {
  return std::clamp<int64_t>((1 << 20) / std::max<int64_t>(groups * width, 1), 512, 4096);
}

// x [groups, chunk, width] -> [groups, width, width]
Graph product_graph(const std::vector<int64_t>& shape) {
  Graph graph;
  const ValueId x = graph.add_input("x", plain_type(DType::f32, to_shape(shape)));
  const ValueId columns = ops::transpose(graph, {.x = x, .perm = std::vector<int64_t>{0, 2, 1}});
  graph.add_output(ops::matmul(graph, {columns, x}), "moment");
  return graph;
}

}  // namespace

MomentSum::MomentSum(int64_t groups, int64_t width, bool moments, const SessionOptions& session)
    : groups_(groups), width_(width), chunk_(chunk_of(groups, width)), vectors_(DType::f32, {groups, chunk_, width}) {
  const auto entries = static_cast<size_t>(groups * width);
  sums_.resize(entries);
  max_abs_.resize(entries);
  if (!moments || entries == 0) return;
  moments_.resize(entries * static_cast<size_t>(width));
  SessionOptions options = session;
  options.bundled.clear();
  products_ = std::make_unique<Session>(product_graph(vectors_.shape()), options);
}

void MomentSum::add(const LayerVectors& vectors, std::span<const uint8_t> counts) {
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < vectors.count; ++i)
    if (counts.empty() || counts[static_cast<size_t>(i)]) chosen.push_back(i);
  const auto total = static_cast<int64_t>(chosen.size());
  for (int64_t done = 0; done < total;) {
    const int64_t count = std::min(total - done, chunk_ - filled_);
    float* out = vectors_.mutable_as<float>().data() + filled_ * width_;
    parallel_for(
        count,
        [&](int64_t i) { vectors.copy(chosen[static_cast<size_t>(done + i)], out + i * width_, chunk_ * width_); }, 16);
    filled_ += count, done += count, seen_ += count;
    if (filled_ == chunk_) flush();
  }
}

void MomentSum::flush() {
  if (filled_ == 0) return;
  const std::span<float> all = vectors_.mutable_as<float>();
  for (int64_t g = 0; g < groups_; ++g) {
    float* chunk = all.data() + g * chunk_ * width_;
    std::fill(chunk + filled_ * width_, chunk + chunk_ * width_, 0.0f);
    double* sums = sums_.data() + g * width_;
    float* max_abs = max_abs_.data() + g * width_;
    for (int64_t v = 0; v < filled_; ++v)
      for (int64_t k = 0; k < width_; ++k) {
        const float x = chunk[v * width_ + k];
        sums[k] += x;
        max_abs[k] = std::max(max_abs[k], std::abs(x));
      }
  }
  if (products_) add_products();
  filled_ = 0;
}

void MomentSum::add_products() {
  const std::vector<Tensor> products = products_->run({{"x", vectors_}});
  const std::span<const float> of_chunk = products[0].as<float>();
  constexpr int64_t kGrain = 1 << 16;
  parallel_for(
      static_cast<int64_t>(moments_.size()),
      [&](int64_t i) { moments_[static_cast<size_t>(i)] += of_chunk[static_cast<size_t>(i)]; }, kGrain);
}

LayerStatistics MomentSum::finish() {
  flush();
  LayerStatistics result{.vectors = seen_, .width = width_, .groups = groups_, .max_abs = std::move(max_abs_)};
  const double count = static_cast<double>(std::max<int64_t>(seen_, 1));
  for (double sum : sums_) result.mean.push_back(static_cast<float>(sum / count));
  result.moment.resize(moments_.size());
  for (size_t i = 0; i < moments_.size(); ++i) result.moment[i] = static_cast<float>(moments_[i] / count);
  moments_.clear();
  moments_.shrink_to_fit();
  return result;
}

}  // namespace hone
