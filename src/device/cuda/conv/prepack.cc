#include "device/cuda/conv/prepack.h"

#include <cstring>

#include "ir/lying_bytes.h"
#include "kernels/conv/weight_steps.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

// Row `row` of the product's matrix, tap by tap, from weights in whichever order they lie.
void read_row(const ConvPlan& plan, const WeightSteps& steps, const std::byte* group, int64_t size, int64_t row,
              std::span<uint32_t> codes) {
  size_t next = 0;
  for (int64_t tap = 0; tap < plan.window.taps(); ++tap)
    for (int64_t channel = 0; channel < plan.channels; ++channel) {
      const int64_t element = steps.first + row * steps.output + tap * steps.tap + steps.of_channel(channel);
      std::memcpy(&codes[next++], group + element * size, static_cast<size_t>(size));
    }
}

}  // namespace

void lay_out_conv(const CudaConvPlan& plan, const WeightTiles& tiles, const Tensor& weights, int threads,
                  std::byte* out) {
  const int64_t n = plan.product.n, k = plan.product.k;
  CHECK(weights.elements() == plan.groups * n * k, "weights of {}", to_string(weights.type()));
  if (weights.is_packed()) {
    const Tensor matrix = weights.shape().size() == 2 ? weights : *weight_matrix(weights);
    for (int64_t group = 0; group < plan.groups; ++group)
      lay_out_tiles(tiles, matrix, group * n, threads, out + group * tiles.bytes());
    return;
  }
  CHECK(weights.dtype() == plan.product.w, "{}", to_string(weights.dtype()));
  const WeightSteps steps = weight_steps(plan, weights.shape());
  const int64_t size = size_bytes(weights.dtype());
  const std::span<const std::byte> bytes = lying_bytes(weights.data());
  for (int64_t group = 0; group < plan.groups; ++group) {
    const std::byte* const from = bytes.data() + group * n * k * size;
    const auto read = [&](int64_t row, std::span<uint32_t> codes) { read_row(plan, steps, from, size, row, codes); };
    lay_out_tiles(tiles, read, threads, out + group * tiles.bytes());
  }
}

}  // namespace hone
