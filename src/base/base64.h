// Base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone {

// None when the text has other characters, or a length that no bytes have. Padding may be left out.
std::optional<std::string> from_base64(std::string_view text);

std::string to_base64(std::string_view bytes);

}  // namespace hone
