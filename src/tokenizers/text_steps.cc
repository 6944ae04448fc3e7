#include "tokenizers/text_steps.h"

#include <algorithm>

#include "tokenizers/unicode.h"

namespace hone {

void lowercase(AlignedText& text) {
  const bool ascii = std::ranges::all_of(text.text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) {
    for (char& c : text.text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    return;
  }
  const std::string_view source = text.text;
  Rewriter out(text);
  std::u32string small;
  for (size_t at = 0; at < source.size();) {
    small.clear();
    append_lowercase(small, next_code_point(source, at));
    for (size_t i = 0; i < small.size(); ++i) out.put(small[i], i > 0);
  }
  out.finish();
}

void prepend(AlignedText& text, std::string_view what) {
  if (text.text.empty()) return;
  check_room(text, text.text.size() + what.size());
  if (text.followed) text.origins.insert(text.origins.begin(), what.size(), text.origins.front());
  text.text.insert(0, what);
}

}  // namespace hone
