// The lines that bench/peers/tokenizer_reference.py writes: texts, and their ids by the reference tokenizer.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace hone {

struct TokenReference {
  std::string text;
  std::vector<int64_t> ids;
  bool valid_utf8 = true;
};

inline std::string from_base64(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    if ((count += 6) >= 8) out += static_cast<char>(bits >> (count -= 8) & 0xff);
  }
  return out;
}

inline std::vector<TokenReference> read_token_references(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail("{}: can't be read", path);
  std::vector<TokenReference> references;
  for (std::string line; std::getline(file, line);) {
    const Json item = parse_json(line, path);
    const bool valid = item.contains("text");
    references.push_back({valid ? item["text"].get<std::string>() : from_base64(item["base64"].get<std::string>()),
                          item["ids"].get<std::vector<int64_t>>(), valid});
  }
  return references;
}

}  // namespace hone
