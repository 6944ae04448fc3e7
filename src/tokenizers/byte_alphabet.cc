#include "tokenizers/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace hone {
namespace {

// Bytes that are printable characters of Latin-1 stand for themselves, the others for U+0100 onward in their order.
constexpr bool is_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

constexpr int kLetters = 0x100 + 68;  // 68 bytes are not printable
struct Alphabet {
  std::array<uint16_t, 256> letters{};
  std::array<int16_t, kLetters> bytes{};
};
constexpr Alphabet make_alphabet() {
  Alphabet a;
  a.bytes.fill(-1);
  uint16_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const uint16_t letter = is_itself(byte) ? static_cast<uint16_t>(byte) : next++;
    a.letters[static_cast<size_t>(byte)] = letter;
    a.bytes[letter] = static_cast<int16_t>(byte);
  }
  return a;
}
constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

char32_t letter_of_byte(unsigned char byte) { return kAlphabet.letters[byte]; }

std::optional<unsigned char> byte_of_letter(char32_t letter) {
  if (letter >= kLetters || kAlphabet.bytes[letter] < 0) return std::nullopt;
  return static_cast<unsigned char>(kAlphabet.bytes[letter]);
}

std::string spelled_bytes(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) append_utf8(out, letter_of_byte(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace hone
