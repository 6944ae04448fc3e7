#include "generate/jinja/arguments.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace hone::jinja {

void expect_arguments(const Arguments& arguments, std::string_view names, std::string_view of) {
  const std::vector<std::string> known = names.empty() ? std::vector<std::string>() : split(std::string(names), ' ');
  const size_t given = arguments.values.size();
  if (given > 0 && known.empty()) fail("{} takes no arguments, found {}", of, given);
  if (given > known.size())
    fail("{} takes {} argument{} at most ({}), found {}", of, known.size(), known.size() == 1 ? "" : "s",
         fmt::join(known, ", "), given);
  for (const auto& [name, value] : arguments.named) {
    const auto at = std::ranges::find(known, name);
    if (at == known.end())
      fail("{} has no argument \"{}\"{}{}", of, name, known.empty() ? "" : "; known: ", fmt::join(known, ", "));
    if (at - known.begin() < static_cast<std::ptrdiff_t>(given)) fail("{}: argument \"{}\" is given twice", of, name);
  }
}

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
