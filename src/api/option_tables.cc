#include "api/option_tables.h"

#include <algorithm>
#include <string_view>

namespace hone::api {
namespace {

constexpr OptionField<SessionFlags> kMemory[] = {
    flag("memory-limit",
         "Bytes of weights as laid out, arenas, scratch memory and outputs that callers keep; beyond them is a "
         "MemoryError. 0: the limit of the process alone, which holds always",
         &SessionFlags::memory_limit, {.least = 0})};

}  // namespace

hone::SessionOptions SessionFlags::session() const {
  hone::SessionOptions session = session_options();
  session.memory_limit = memory_limit;
  return session;
}

std::span<const OptionField<SessionFlags>> SessionFlags::fields() {
  static const auto all = [] {
    auto joined =
        joined_fields<SessionFlags>(RunFlags::fields(), RunFlags::compute_fields(), RunFlags::trust_fields(), kMemory);
    std::erase_if(joined, [](const auto& field) { return std::string_view(field.name) == "print-after"; });  // prints
    return joined;
  }();
  return all;
}

}  // namespace hone::api
