#include "device/cuda/functions.h"

#include <fmt/format.h>

#include "expr/narrow.h"

namespace hone {

Support supports_functions(const Program& program) {
  for (const Instruction& i : narrowed(program).code)
    if (i.type == Scalar::f64 && ((i.op >= ExprOp::exp && i.op <= ExprOp::cos) || i.op == ExprOp::pow))
      return {fmt::format("{} of f64", to_string(i.op))};
  return {};
}

}  // namespace hone
