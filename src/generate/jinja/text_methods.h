// Methods of strings, as Python has them. Filters of the same names share them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "generate/jinja/builtins.h"

namespace hone::jinja {

// By simple mappings of Unicode, a character at a time.
std::string lower(std::string_view text);
std::string upper(std::string_view text);
std::string capitalised(std::string_view text);
std::string titled(std::string_view text);
std::string stripped(std::string_view text);  // of blanks at both ends

Value strip(const Value& value, const Arguments& arguments, bool left, bool right);
Value replace(const Value& value, const Arguments& arguments, Budget& budget);
// Items of a list with `sign` between them; the argument "attribute" chooses a member of each.
Value joined(const Value& value, const std::string& sign, const Arguments& arguments, Budget& budget);

std::span<const BuiltinDef> text_methods();

}  // namespace hone::jinja
