// Times as users write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone {

// "20", "20s", "500ms", "5min", "1h" in seconds, at most 1e9. None for anything else and for what is not above 0.
std::optional<double> parse_seconds(std::string_view text);

// "0.8 s", "42 s", "4 min 12 s", "1 h 5 min".
std::string duration_text(double seconds);

}  // namespace hone
