#include "base/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

std::vector<std::string> alternatives(std::string_view accepted) {
  constexpr std::string_view kBetween = " | ";
  std::vector<std::string> all;
  for (size_t begin = 0;;) {
    const size_t end = accepted.find(kBetween, begin);
    all.emplace_back(accepted.substr(begin, end - begin));
    if (end == std::string_view::npos) return all;
    begin = end + kBetween.size();
  }
}

}  // namespace

bool says_nothing(const Json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  return value.is_null() || ((value.is_string() || value.is_array() || value.is_object()) && value.size() == 0) ||
         (value.is_string() && value.get<std::string>().empty());
}

void check_settings(const Json& object, std::span<const Setting> known, const std::string& source) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    const auto setting = std::ranges::find(known, key, &Setting::key);
    if (setting == known.end()) {
      if (says_nothing(value)) continue;
      fail("{}: key \"{}\" is {}, and hone does not know what it changes; accepted: no such key, or null", source, key,
           json_excerpt(value));
    }
    if (setting->accepted.empty() || value.is_null()) continue;
    const std::vector<std::string> accepted = alternatives(setting->accepted);
    const auto is_value = [&](const std::string& text) { return parse_json(text, std::string(key)) == value; };
    if (std::ranges::none_of(accepted, is_value))
      fail("{}: key \"{}\" is {}, which is not supported; accepted: {}", source, key, json_excerpt(value),
           fmt::join(accepted, ", "));
  }
}

}  // namespace hone
