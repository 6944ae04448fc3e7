// The statistics of a stream of vectors. Products are formed a fixed number of vectors at a time by a compiled matmul
// in f32; sums over those are kept in double. The result does not depend on how the stream is cut or on threads.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/layer_vectors.h"
#include "ir/statistics.h"
#include "runtime/session.h"

namespace hone {

class MomentSum {
 public:
  MomentSum(int64_t groups, int64_t width, bool moments, const SessionOptions& session);

  int64_t groups() const { return groups_; }
  int64_t width() const { return width_; }

  // Those vectors for which `counts` (empty: all) is not 0.
  void add(const LayerVectors& vectors, std::span<const uint8_t> counts);
  LayerStatistics finish();

 private:
  void flush();
  void add_products();

  int64_t groups_, width_, chunk_, filled_ = 0, seen_ = 0;
  Tensor vectors_;  // f32 [groups, chunk, width]
  std::vector<double> sums_, moments_;
  std::vector<float> max_abs_;
  std::unique_ptr<Session> products_;
};

}  // namespace hone
