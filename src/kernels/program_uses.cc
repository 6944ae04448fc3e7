#include "kernels/program_uses.h"

#include <algorithm>

namespace hone {

bool uses_index(const Program& program) {
  return std::ranges::any_of(program.code, [](const Instruction& i) { return i.op == ExprOp::index; });
}

bool reads_argument(const Program& program, int position) {
  return std::ranges::any_of(program.code,
                             [&](const Instruction& i) { return i.op == ExprOp::arg && i.payload == position; });
}

}  // namespace hone
