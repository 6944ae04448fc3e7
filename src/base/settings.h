// Settings of foreign files, by an allow-list: what a reader follows, what changes no result, and what it takes in one
// way alone. Any other key is refused by its name, unless it says nothing (null, false, "", [] or {}).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace hone {

struct Setting {
  std::string_view key;
  // JSON of the values that go with what hone computes, separated by " | "; empty: any, as the key is followed or no
  // result depends on it.
  std::string_view accepted = {};
};

// Whether the value switches nothing on.
bool says_nothing(const Json& value);

// Throws Error that names `source` and the first key of `object` that is not followed, its value, and what would be
// accepted. What is no object passes.
void check_settings(const Json& object, std::span<const Setting> known, const std::string& source);

}  // namespace hone
