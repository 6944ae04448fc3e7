// How a recurrent kernel works: what planner and generator agree on.
//
// An item walks some sequences of one direction through all steps. In each, R goes by once, panel after panel: a panel
// holds the rows of some units, all gates of a unit in the same lanes, so that its sums of R·h are all that the program
// of these units needs. With few registers a panel falls into parts of some of its vectors, each of which meets more
// sequences at a time. Sums run along h in one chain each, whatever the tile, so that no bits depend on how
// sequences fall into tiles. One sequence alone takes several panels at a time, whose sums keep the units busy.
#pragma once

#include <vector>

#include "device/x86/target.h"
#include "kernels/recurrent/plan.h"

namespace hone {

class X86Emitter;

// With what launch() derives from the sizes.
struct X86RecurrentArgs : RecurrentArgs {
  int64_t sequences = 0;  // of an item
  static constexpr auto places() {
    return std::tuple_cat(RecurrentArgs::places(), std::tuple(&X86RecurrentArgs::sequences));
  }
};

struct RecurrentShape {
  struct Phase {
    int64_t gates = 1, first_gate = 0;
    int unit_vectors = 1;  // of units in a panel
    int part_vectors = 1;  // of a part of a panel, which lies by itself
    int rows = 1;          // of a tile of one part
    int wide_panels = 1;   // of a tile of one row
    int64_t panels = 0, panel_bytes = 0, part_bytes = 0;
    int64_t offset = 0;  // in what is laid out of a direction
    int vectors() const { return static_cast<int>(gates) * unit_vectors; }
    int parts() const { return vectors() / part_vectors; }
    bool operator==(const Phase&) const = default;
  };
  int lanes = 0;
  std::vector<Phase> phases;
  int64_t width = 0;  // of a row of states: the units up to whole panels
  int64_t direction_bytes = 0;
  int states = 0;  // matrices [sequences, width] in scratch: h and c before and after a step, and between phases

  int64_t row_bytes() const { return width * 4; }
  static int64_t table_bytes(int64_t sequences);  // of addresses of rows, in front of the states
  int64_t scratch_bytes(int64_t sequences) const { return table_bytes(sequences) + states * sequences * row_bytes(); }
};
RecurrentShape recurrent_shape(const RecurrentPlan& plan, const X86Target& target, int shrink = 0);

int64_t sequences_of_item(int64_t batch);

void emit_recurrent(X86Emitter& e, const RecurrentPlan& plan, const std::string& symbol, int shrink);

}  // namespace hone
