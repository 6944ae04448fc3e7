// The lines that bench/peers/tokenizer_reference.py writes: texts, and their ids by the reference tokenizer.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/error.h"
#include "base/json.h"
#include "tokenizers/tokenizer.h"

namespace hone {

struct TokenReference {
  std::string text;
  std::vector<int64_t> ids;
  bool valid_utf8 = true;
  std::vector<TextRange> ranges;  // in characters; none: the file does not say
  std::vector<int64_t> decoded_ids;
  std::optional<std::string> decoded;  // the text of decoded_ids
};

inline std::vector<TokenReference> read_token_references(const std::string& path) {
  std::ifstream file(path);
  if (!file) fail("{}: can't be read", path);
  std::vector<TokenReference> references;
  for (std::string line; std::getline(file, line);) {
    const Json item = parse_json(line, path);
    const bool valid = item.contains("text");
    TokenReference r{valid ? item["text"].get<std::string>() : *from_base64(item["base64"].get<std::string>()),
                     item["ids"].get<std::vector<int64_t>>(), valid};
    for (const Json& range : item.value("ranges", Json::array()))
      r.ranges.push_back({range[0].get<int64_t>(), range[1].get<int64_t>()});
    if (item.contains("decoded")) {
      r.decoded_ids = item["decoded_ids"].get<std::vector<int64_t>>();
      r.decoded = item["decoded"].get<std::string>();
    }
    references.push_back(std::move(r));
  }
  return references;
}

// The reference counts characters.
inline std::vector<TextRange> in_characters(const std::string& text, std::vector<TextRange> ranges) {
  std::vector<int64_t> characters(text.size() + 1);
  for (size_t i = 0; i < text.size(); ++i)
    characters[i + 1] = characters[i] + ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80);
  // A place within a character counts as its begin, one behind a character as its end.
  for (TextRange& r : ranges) r = {characters[static_cast<size_t>(r.begin)], characters[static_cast<size_t>(r.end)]};
  return ranges;
}

}  // namespace hone
