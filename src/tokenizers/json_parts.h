// Parts of a tokenizer.json, by key.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/settings.h"

namespace hone {

// The member, or null when there is none.
const Json& member(const Json& object, const char* key);

// The member as T, or `fallback` when it is absent or null.
template <class T>
T get_or(const Json& object, const char* key, T fallback, const std::string& source) {
  return member(object, key).is_null() ? fallback : json_get<T>(object, key, source);
}

// Its "type"; "" for null. Throws Error for what is neither null nor an object with a type.
std::string type_of(const Json& part, const std::string& source);

// Throws Error for a key that is none of these (and says something: base/settings.h).
void check_keys(const Json& part, std::initializer_list<Setting> known, const std::string& source);

}  // namespace hone
