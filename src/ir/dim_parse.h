// Names of dimension symbols.
#pragma once

#include <string_view>

namespace hone {

bool is_symbol_name(std::string_view name);  // [A-Za-z_][A-Za-z0-9_]*

}  // namespace hone
