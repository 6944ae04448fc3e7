#include "device/x86/recurrent/shape.h"

#include <algorithm>

#include "base/multiples.h"

namespace hone {
namespace {

// Four vectors fill the registers of a tile of some rows; a few less where they would be filled with nothing.
int choose_unit_vectors(int64_t gates, int64_t unit_vectors) {
  const int most = static_cast<int>(std::max<int64_t>(1, 4 / gates));
  int best = most;
  double best_cost = 1e300;
  for (int vectors = most; vectors >= 1; --vectors) {
    const double cost = static_cast<double>(round_up(unit_vectors, vectors)) * (1 + 0.05 * (most - vectors));
    if (cost < best_cost) best = vectors, best_cost = cost;
  }
  return best;
}

}  // namespace

int64_t RecurrentShape::table_bytes(int64_t sequences) { return round_up(sequences * 8, 64); }

RecurrentShape recurrent_shape(const RecurrentPlan& plan, const X86Target& target, int shrink) {
  // A multiply-add takes four cycles and two start in each.
  constexpr int kSums = 8;
  RecurrentShape s;
  s.lanes = target.lanes();
  const int64_t unit_vectors = ceil_div(plan.hidden, int64_t{s.lanes});
  int64_t gate = 0;
  for (const RecurrentPlan::Phase& phase : plan.phases()) {
    RecurrentShape::Phase p{.gates = phase.gates, .first_gate = gate};
    p.unit_vectors = choose_unit_vectors(phase.gates, unit_vectors);
    p.panels = ceil_div(unit_vectors, int64_t{p.unit_vectors});
    p.part_vectors = p.vectors() == 4 && target.registers() < 32 ? 2 : p.vectors();
    p.part_bytes = plan.hidden * p.part_vectors * s.lanes * 4;
    p.panel_bytes = p.parts() * p.part_bytes;
    p.offset = s.direction_bytes;
    // As in gemm: sums, a vector of each column and one of h.
    p.rows = std::clamp((target.registers() - 2 - p.part_vectors) / p.part_vectors, 1, 8);
    p.rows = std::max(1, p.rows - shrink);
    p.wide_panels = static_cast<int>(std::min<int64_t>(ceil_div(kSums, p.vectors()), p.panels));
    s.direction_bytes += p.panels * p.panel_bytes;
    s.width = std::max(s.width, p.panels * p.unit_vectors * s.lanes);
    gate += phase.gates;
    s.phases.push_back(p);
  }
  s.states = (plan.has_cell ? 4 : 2) + (plan.phases().size() > 1 || plan.round_state ? 2 : 0);
  return s;
}

// Each item reads all of R in each step: eight sequences or more share that, and others go to other threads.
int64_t sequences_of_item(int64_t batch) {
  return std::min(batch, std::clamp<int64_t>(ceil_div(batch, int64_t{4}), 8, 64));
}

}  // namespace hone
