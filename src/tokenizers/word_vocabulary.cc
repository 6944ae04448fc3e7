#include "tokenizers/word_vocabulary.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "base/error.h"

namespace hone {
namespace {

std::vector<std::string> fixed_tokens() {
  std::vector<std::string> all{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (char c = '!'; c <= '~'; ++c)
    if (!std::isupper(static_cast<unsigned char>(c))) all.emplace_back(1, c);
  for (char c = '!'; c <= '~'; ++c)
    if (std::isdigit(static_cast<unsigned char>(c)) || std::islower(static_cast<unsigned char>(c)))
      all.push_back(std::string("##") + c);
  return all;
}

}  // namespace

std::string word_vocabulary(std::span<const std::string> texts, int64_t size) {
  std::vector<std::string> tokens = fixed_tokens();
  if (size <= std::ssize(tokens))
    fail("a vocabulary of {} tokens has no room for words; at least {}", size, tokens.size() + 1);
  std::map<std::string, int64_t> counts;
  for (const std::string& text : texts) {
    std::string word;
    const auto end = [&] {
      if (word.size() > 1) ++counts[word];
      word.clear();
    };
    for (const char c : text) {
      if (std::isalnum(static_cast<unsigned char>(c)))
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      else end();
    }
    end();
  }
  std::vector<std::pair<int64_t, std::string>> words;
  for (const auto& [word, count] : counts) words.emplace_back(-count, word);
  std::ranges::sort(words);
  for (const auto& [count, word] : words) {
    if (std::ssize(tokens) == size) break;
    tokens.push_back(word);
  }
  std::string lines;
  for (const std::string& token : tokens) lines += token + "\n";
  return lines;
}

}  // namespace hone
