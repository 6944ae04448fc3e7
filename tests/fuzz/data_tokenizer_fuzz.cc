// Bytes as files of a tokenizer, of the kind that the first byte chooses, and texts through what they say.
#include <iterator>

#include "base/error.h"
#include "base/memory_limit.h"
#include "base/utf8.h"
#include "io/tokenizer_files.h"
#include "tests/fuzz/data_fuzz.h"
#include "tokenizers/text_stream.h"

namespace {

// Files by name; several are separated by NUL.
std::map<std::string, std::string> files_of(uint8_t choice, std::string_view text) {
  using namespace hone;
  constexpr const char* kClasses[] = {"GPT2Tokenizer", "RobertaTokenizer", "CLIPTokenizer", "Qwen2Tokenizer"};
  constexpr const char* kPieces[] = {"XLMRobertaTokenizer", "AlbertTokenizer",    "T5Tokenizer",
                                     "DebertaV2Tokenizer",  "CamembertTokenizer", "LlamaTokenizer"};
  const size_t nul = std::min(text.find('\0'), text.size());
  const std::string first(text.substr(0, nul)), second(text.substr(std::min(nul + 1, text.size())));
  const auto config = [](const char* name) { return std::string("{\"tokenizer_class\": \"") + name + "\"}"; };
  switch (choice % 4) {
    case 0:
      return {{kTokenizerJson, first}, {kTokenizerConfig, second.empty() ? "{}" : second}};
    case 1:
      return {{kVocabTxt, std::string(text)}};
    case 2:
      return {{kVocabJson, first},
              {kMergesTxt, second},
              {kTokenizerConfig, config(kClasses[choice / 4 % std::size(kClasses)])}};
    default:
      return {{"spiece.model", std::string(text)},
              {kTokenizerConfig, config(kPieces[choice / 4 % std::size(kPieces)])}};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  if (size == 0) return 0;
  set_memory_limit(memory_charged() + (256 << 20));
  try {
    const Tokenizer tokenizer = Tokenizer::from_files(files_of(data[0], fuzz::text_of(data + 1, size - 1)), "fuzz");
    for (const char* text : {"", " ", "Some words, 12 of them: don't!\r\n\r\n  x",
                             "\u00e9e\u0301 \u4e2d\u6587 \U0001f600 \u2581 \ufb01", "\xff\xe2\x82 [MASK]<s>"}) {
      const Tokens tokens = tokenizer.encode_text(text, EncodeOptions{.ranges = true});
      for (const TextRange& range : tokens.ranges)
        if (range.begin < 0 || range.end < range.begin || range.end > std::ssize(std::string_view(text)))
          __builtin_trap();
      if (!is_valid_utf8(tokenizer.decode(tokens.ids, false))) __builtin_trap();
    }
  } catch (const Error&) {
  }
  return 0;
}
