// An instruction as it is written: its words, its operands, the predicate before it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/support/ptx/syntax.h"

namespace hone::ptx {

struct Argument {
  enum class Is : uint8_t { name, number, memory, group } is = Is::name;
  std::string_view name;        // of a name
  bool negated = false;         // !%p1
  Number number;                // of a number
  std::vector<Argument> parts;  // of a group: {a, b}, a|b; of memory: what `offset` is added to
  int64_t offset = 0;
};

struct Statement {
  int line = 0;
  std::string_view guard;  // of @%p1 and @!%p1
  bool unless = false;
  std::string_view spelling;  // "ld.global.v4.u32"
  std::vector<Argument> arguments;
};

}  // namespace hone::ptx
