#include "tokenizers/json_parts.h"

#include "base/error.h"

namespace hone {

const Json& member(const Json& object, const char* key) {
  static const Json null;
  return object.is_object() && object.contains(key) ? object.at(key) : null;
}

std::string type_of(const Json& part, const std::string& source) {
  if (part.is_null()) return "";
  if (!part.is_object()) fail("{}: is {}; expected an object with a type", source, json_excerpt(part));
  return json_get<std::string>(part, "type", source);
}

void check_keys(const Json& part, std::initializer_list<Setting> known, const std::string& source) {
  check_settings(part, std::span(known.begin(), known.size()), source);
}

}  // namespace hone
