#include "tests/support/ptx/scope.h"

#include <charconv>
#include <utility>

namespace hone::ptx {
namespace {

constexpr size_t kMostRegisters = 1 << 16;  // of a kernel, those that are used: 16 MB a warp

constexpr std::pair<std::string_view, Special> kSpecials[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%lanemask_ge", Special::lanemask_ge},
};

}  // namespace

void Scope::declare(std::string_view name, int bits) { levels_.back().bits[std::string(name)] = bits; }

void Scope::declare_family(std::string_view prefix, int bits, uint64_t count) {
  levels_.back().families[std::string(prefix)] = {bits, count};
}

std::optional<int> Scope::bits_of(const Level& level, std::string_view name) const {
  if (const auto found = level.bits.find(name); found != level.bits.end()) return found->second;
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const auto family = level.families.find(name.substr(0, digits));
  if (family == level.families.end() || digits == name.size()) return {};
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), index);
  if (error != std::errc() || index >= family->second.count) return {};
  return family->second.bits;
}

Operand Scope::place(RegisterFile file, std::string_view name) {
  if (kernel_.registers.size() == kMostRegisters) fail("more than {} registers", kMostRegisters);
  uint32_t& used = file == RegisterFile::wide    ? kernel_.wide
                   : file == RegisterFile::words ? kernel_.words
                                                 : kernel_.predicates;
  const Operand operand{used, static_cast<uint32_t>(kernel_.registers.size()), file};
  used += file == RegisterFile::predicate ? 1 : kLanes;
  kernel_.registers.emplace_back(name);
  bits_.resize(kernel_.registers.size());
  return operand;
}

std::optional<Operand> Scope::find(std::string_view name) {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    if (const auto found = level->places.find(name); found != level->places.end()) return found->second;
    if (const auto bits = bits_of(*level, name)) {
      kernel_.general_registers += *bits == 1 ? 0 : *bits == 64 ? 2 : 1;
      const Operand operand = place(file_of(*bits), name);
      bits_[operand.id] = *bits;
      return level->places[std::string(name)] = operand;
    }
  }
  return {};
}

std::optional<uint64_t> Scope::address(std::string_view name) const {
  const auto found = addresses_.find(name);
  return found == addresses_.end() ? std::nullopt : std::optional(found->second);
}

Operand Scope::constant(RegisterFile file, uint64_t value) {
  const auto [found, is_new] = constants_.try_emplace({file, value});
  if (is_new) {
    found->second = place(file, "an immediate");
    kernel_.constants.push_back({found->second, value});
  }
  return found->second;
}

std::optional<Operand> Scope::special(std::string_view name) {
  for (const auto& [spelling, special] : kSpecials)
    if (spelling == name) {
      const auto [found, is_new] = specials_.try_emplace(special);
      if (is_new) {
        found->second = place(RegisterFile::words, name);
        kernel_.specials.push_back({found->second, special});
      }
      return found->second;
    }
  return {};
}

Operand Scope::sink(RegisterFile file) {
  const auto [found, is_new] = sinks_.try_emplace(file);
  if (is_new) found->second = place(file, "_");
  return found->second;
}

}  // namespace hone::ptx
