// Arguments of filters, methods and functions, read as what is expected. Errors name what they are of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "generate/jinja/value.h"

namespace hone::jinja {

// Error for arguments beyond `names`, which are parted by blanks and may be given in this order or by name, and for one
// that is given twice.
void expect_arguments(const Arguments& arguments, std::string_view names, std::string_view of);

const std::string& text_of(const Value& value, const char* of);
int64_t integer_of(const Value& value, const char* of);
std::string text_argument(const Arguments& arguments, size_t place, const char* name, const char* of);
int64_t integer_argument(const Arguments& arguments, size_t place, const char* name, int64_t otherwise);
bool flag_argument(const Arguments& arguments, size_t place, const char* name);

}  // namespace hone::jinja
