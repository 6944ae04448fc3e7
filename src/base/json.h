// JSON as the project reads it: nlohmann-json, with errors that name the file and the place, and duplicate keys
// refused.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace hone {

using Json = nlohmann::ordered_json;

// Parses a whole text; `source` (a file name) starts every error. Refuses duplicate keys, nesting above 64 and trailing
// text.
Json parse_json(std::string_view text, const std::string& source);
Json read_json_file(const std::string& path);

// A value as errors show it: on one line, cut where it is long.
std::string json_excerpt(const Json& value);

// The member `key` of object `value` as T; an Error names source and key when it is missing, of another type, or a
// whole number that T does not hold.
template <class T>
T json_get(const Json& value, const std::string& key, const std::string& source);

}  // namespace hone

#include "base/json_get.h"
