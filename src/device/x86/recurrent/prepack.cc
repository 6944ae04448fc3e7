#include "device/x86/recurrent/prepack.h"

#include <vector>

#include "base/error.h"
#include "base/threads.h"
#include "device/x86/gemm/prepack.h"
#include "device/x86/lane_layout.h"
#include "device/x86/recurrent/shape.h"

namespace hone {
namespace {

// Rows of R as floats, [gates·H, H] of one direction behind the other.
struct Source {
  std::span<const float> rows;
  int64_t hidden;
  std::vector<float> zero;

  const std::byte* row(int64_t first, int64_t unit) const {
    const float* found = unit < hidden ? rows.data() + (first + unit) * hidden : zero.data();
    return reinterpret_cast<const std::byte*>(found);
  }
};

void lay_out_panel(const Source& source, const RecurrentShape& s, const RecurrentShape::Phase& phase, int64_t first_row,
                   int64_t panel, std::byte* out) {
  for (int v = 0; v < phase.vectors(); ++v) {
    const int64_t gate = phase.first_gate + v / phase.unit_vectors,
                  unit = (panel * phase.unit_vectors + v % phase.unit_vectors) * s.lanes;
    LaneRows rows{};
    for (int lane = 0; lane < s.lanes; ++lane)
      rows[static_cast<size_t>(lane)] = source.row(first_row + gate * source.hidden, unit + lane);
    transpose_lanes(rows, s.lanes, source.hidden, LaneChange::none,
                    out + v / phase.part_vectors * phase.part_bytes + v % phase.part_vectors * s.lanes * 4,
                    int64_t{phase.part_vectors} * s.lanes * 4);
  }
}

}  // namespace

std::string prepack_key(const RecurrentPlan& plan, const X86Target& target) {
  const RecurrentShape s = recurrent_shape(plan, target);
  std::string key = fmt::format("recurrent {}x{} lanes {}", plan.directions.size(), plan.hidden, s.lanes);
  for (const RecurrentShape::Phase& phase : s.phases)
    key += fmt::format(" {}x{}/{}", phase.gates, phase.unit_vectors, phase.part_vectors);
  return key;
}

int64_t prepacked_bytes(const RecurrentPlan& plan, const X86Target& target) {
  return std::ssize(plan.directions) * recurrent_shape(plan, target).direction_bytes;
}

void prepack(const RecurrentPlan& plan, const X86Target& target, const Tensor& weights, int threads, std::byte* out) {
  const std::vector<int64_t> expected{std::ssize(plan.directions), plan.gates() * plan.hidden, plan.hidden};
  CHECK(weights.shape() == expected, "recurrent weights of {}, plan of {} gates and {} units",
        to_string(weights.type()), plan.gates(), plan.hidden);
  const RecurrentShape s = recurrent_shape(plan, target);
  const bool is_plain = !weights.is_packed() && weights.dtype() == DType::f32;
  const std::vector<float> decoded = is_plain ? std::vector<float>() : weights.to_floats();
  const Source source{is_plain ? weights.as<float>() : std::span<const float>(decoded), plan.hidden,
                      std::vector<float>(static_cast<size_t>(plan.hidden))};
  for (int64_t d = 0; d < std::ssize(plan.directions); ++d)
    for (const RecurrentShape::Phase& phase : s.phases) {
      auto chunk = [&](int64_t begin, int64_t end, int) {
        for (int64_t panel = begin; panel < end; ++panel)
          lay_out_panel(source, s, phase, d * plan.gates() * plan.hidden, panel,
                        out + d * s.direction_bytes + phase.offset + panel * phase.panel_bytes);
      };
      parallel_chunks(phase.panels, 1, threads, chunk);
    }
  drop_source(weights);
}

}  // namespace hone
