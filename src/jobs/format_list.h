// Lists of number formats as users write them.
#pragma once

#include <string>
#include <vector>

namespace hone {

// "int{4..8}.f{2,4},mxint4" → int4.f2 int4.f4 int5.f2 ... mxint4: commas outside braces separate, {a..b} counts in
// either direction, {a,b} lists. Canonical spellings, each once, in order. Throws Error for braces that don't match and
// for what is no format, naming the pattern it came from.
std::vector<std::string> parse_format_list(const std::vector<std::string>& patterns);

// What formats that differ in width only have in common: "int.f4" of int8.f4, "mxint" of mxint8, "minifloat" of
// minifloat_e4m3.
std::string format_family(const std::string& format);

}  // namespace hone
