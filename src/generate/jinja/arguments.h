// Arguments of filters, methods and functions, read as what is expected. Errors name what they are of.
#pragma once

#include <cstdint>
#include <string>

#include "generate/jinja/value.h"

namespace hone::jinja {

const std::string& text_of(const Value& value, const char* of);
int64_t integer_of(const Value& value, const char* of);
std::string text_argument(const Arguments& arguments, size_t place, const char* name, const char* of);
int64_t integer_argument(const Arguments& arguments, size_t place, const char* name, int64_t otherwise);
bool flag_argument(const Arguments& arguments, size_t place, const char* name);

}  // namespace hone::jinja
