// Body of json_get (base/json.h).
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace hone {

namespace detail {

// Not wrapped and not cut: a whole number that T holds, also one written as 12.0.
template <class T>
T json_value(const Json& value) {
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    if (value.is_number_float()) {
      constexpr double kExact = 9007199254740992;  // 2^53
      const double number = value.get<double>();
      if (std::trunc(number) != number || std::abs(number) > kExact) throw Error("no whole number");
      return json_value<T>(Json(static_cast<int64_t>(number)));
    }
    if (!value.is_number_integer()) throw Error("no whole number");
    const bool fits =
        value.is_number_unsigned() ? std::in_range<T>(value.get<uint64_t>()) : std::in_range<T>(value.get<int64_t>());
    if (!fits) throw Error("too large");
    return value.get<T>();
  } else {
    return value.get<T>();
  }
}

template <class T>
concept ListOfIntegers = std::integral<typename T::value_type> && std::same_as<T, std::vector<typename T::value_type>>;

template <ListOfIntegers T>
T json_value(const Json& value) {
  if (!value.is_array()) throw Error("no list");
  T list;
  for (const Json& element : value) list.push_back(json_value<typename T::value_type>(element));
  return list;
}

}  // namespace detail

template <class T>
T json_get(const Json& value, const std::string& key, const std::string& source) {
  if (!value.is_object() || !value.contains(key)) fail("{}: key \"{}\" is missing", source, key);
  try {
    return detail::json_value<T>(value.at(key));
  } catch (const nlohmann::json::exception&) {
    fail("{}: key \"{}\" has an unexpected value {}", source, key, json_excerpt(value.at(key)));
  } catch (const Error&) {
    fail("{}: key \"{}\" has an unexpected value {}", source, key, json_excerpt(value.at(key)));
  }
}

}  // namespace hone
