#include "tests/support/ptx/counts.h"

#include "tests/support/ptx/module.h"

namespace hone::ptx {
namespace {

void add_to(LineCounts& sum, const LineCounts& more) {
  sum.executed += more.executed;
  sum.sectors += more.sectors, sum.bytes += more.bytes;
  sum.bank_cycles += more.bank_cycles, sum.bank_least += more.bank_least;
}

}  // namespace

LineCounts Counts::of(const Kernel& kernel, std::string_view spelling) const {
  LineCounts sum;
  for (size_t i = 0; i < code.size(); ++i) {
    const std::string_view name = kernel.names[kernel.code[i].name];
    if (name.starts_with(spelling) && (name.size() == spelling.size() || name[spelling.size()] == '.'))
      add_to(sum, code[i]);
  }
  return sum;
}

LineCounts Counts::all() const {
  LineCounts sum;
  for (const LineCounts& line : code) add_to(sum, line);
  return sum;
}

void Counts::add(const Counts& other) {
  code.resize(std::max(code.size(), other.code.size()));
  for (size_t i = 0; i < other.code.size(); ++i) add_to(code[i], other.code[i]);
}

}  // namespace hone::ptx
