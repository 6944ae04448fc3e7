// GPT-2's alphabet: a printable character for each byte, so that tokens of any bytes can be written as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone {

char32_t letter_of_byte(unsigned char byte);
// None for a character that stands for no byte.
std::optional<unsigned char> byte_of_letter(char32_t letter);

std::string spelled_bytes(std::string_view bytes);  // in that alphabet

}  // namespace hone
