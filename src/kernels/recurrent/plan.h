// Recurrent layers behind their input products.
#pragma once

#include <cstdint>
#include <vector>

#include "device/args.h"
#include "kernels/kernel.h"

namespace hone {

// From step to step of each sequence, (h', c') = program(x + R·h, c), in the directions one after the other; y are all
// h', h and c the last ones of each sequence. Behind its end a sequence keeps its state and y is 0.
// Items are D * blocks of sequences.
// Programs work unit by unit, with arguments by RecurrentArgument. A direction has one phase, or two where the gates of
// the second read what the first makes of h: [0] what R is multiplied with next, [1] what is kept for its program. The
// last gives h' and, where there is one, c'.
struct RecurrentPlan {
  struct Phase {
    int64_t gates = 1;  // those behind the ones of the phase before
    Program program;
    static constexpr auto fields() {
      return std::tuple(field("gates", &Phase::gates), field("program", &Phase::program));
    }
    bool operator==(const Phase&) const = default;
  };
  struct Direction {
    bool reverse = false;
    std::vector<Phase> phases;
    static constexpr auto fields() {
      return std::tuple(field("reverse", &Direction::reverse), field("phases", &Direction::phases));
    }
  };
  std::vector<Direction> directions;  // with the same gates
  int64_t hidden = 0;
  bool has_cell = false;     // c
  bool round_state = false;  // R is multiplied with h in 256 steps (ops/lstm.cc)
  bool has_lengths = false;  // else every sequence has S steps
  DType lengths = DType::i64;
  static constexpr auto fields() {
    using P = RecurrentPlan;
    return std::tuple(field("directions", &P::directions), field("hidden", &P::hidden), field("has_cell", &P::has_cell),
                      field("round_state", &P::round_state), field("has_lengths", &P::has_lengths),
                      field("lengths", &P::lengths));
  }
  static const KernelDef& kernel();

  const std::vector<Phase>& phases() const { return directions[0].phases; }  // gates of every direction
  int64_t gates() const {
    int64_t all = 0;
    for (const Phase& phase : phases()) all += phase.gates;
    return all;
  }
};

struct RecurrentArgs {
  void *x = nullptr, *r = nullptr;  // x [S,B,D·gates·H], the input products; R laid out for it (Prepacking)
  // Each or null: biases of R·h [D,gates·H], lengths [B], first h and c [D,B,H], peepholes [D,3·H], y [S,D,B,H], last h
  // and c [D,B,H].
  void *bias = nullptr, *lengths = nullptr, *initial_h = nullptr, *initial_c = nullptr, *peepholes = nullptr;
  void *y = nullptr, *last_h = nullptr, *last_c = nullptr;
  int64_t steps = 0, batch = 0;  // S, B
  static constexpr auto places() {
    using A = RecurrentArgs;
    return std::tuple(&A::x, &A::r, &A::bias, &A::lengths, &A::initial_h, &A::initial_c, &A::peepholes, &A::y,
                      &A::last_h, &A::last_c, &A::steps, &A::batch);
  }
};

// Arguments of programs: rows of R·h of the phase's gates, of x, of the biases and peepholes, numbered by gate; h and
// c; what the first phase kept.
enum RecurrentArgument : int {
  kRecurrentProduct = 0,
  kRecurrentInput = 4,
  kRecurrentBias = 8,
  kRecurrentPeephole = 12,
  kRecurrentH = 15,
  kRecurrentC = 16,
  kRecurrentKept = 17,
  kRecurrentArguments
};

Support lower_recurrent(const Lowering& lowering, Prepared& prepared);

}  // namespace hone
