#include "generate/jinja/arguments.h"

#include "base/error.h"

namespace hone::jinja {

const std::string& text_of(const Value& value, const char* of) {
  if (const std::string* text = value.text()) return *text;
  fail("{} is of a string, found {}", of, kind_of(value));
}

int64_t integer_of(const Value& value, const char* of) {
  if (value.is_integer()) return value.integer();
  fail("{}: expected an integer, found {}", of, kind_of(value));
}

std::string text_argument(const Arguments& arguments, size_t place, const char* name, const char* of) {
  const Value* given = arguments.find(place, name);
  if (!given) fail("{} lacks its argument \"{}\"", of, name);
  return text_of(*given, of);
}

int64_t integer_argument(const Arguments& arguments, size_t place, const char* name, int64_t otherwise) {
  const Value* given = arguments.find(place, name);
  return given && !given->none() ? integer_of(*given, name) : otherwise;
}

bool flag_argument(const Arguments& arguments, size_t place, const char* name) {
  const Value* given = arguments.find(place, name);
  return given && truth(*given);
}

}  // namespace hone::jinja
