// Body of json_get (base/json.h).
#pragma once

#include <string>

#include "base/error.h"
#include "base/json.h"

namespace hone {

template <class T>
T json_get(const Json& value, const std::string& key, const std::string& source) {
  if (!value.is_object() || !value.contains(key)) fail("{}: key \"{}\" is missing", source, key);
  try {
    return value.at(key).get<T>();
  } catch (const nlohmann::json::exception&) {
    fail("{}: key \"{}\" has an unexpected value {}", source, key, value.at(key).dump());
  }
}

}  // namespace hone
