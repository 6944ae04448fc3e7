// JSON as Python's json module writes it, which Optuna's tables and journals hold: NaN and Infinity are bare words,
// characters beyond ASCII are escaped, floats keep a point or an exponent.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace hone {

enum class JsonSpacing : uint8_t { spaced, compact };  // json.dumps(v), json.dumps(v, separators=(",", ":"))
std::string python_json(const Json& value, JsonSpacing spacing = JsonSpacing::spaced);

// Throws Error that begins with `source`, as parse_json does.
Json parse_python_json(std::string_view text, const std::string& source);

std::string python_float(double value);  // repr(value): "1.0", "1e-05", "NaN", "-Infinity"

}  // namespace hone
