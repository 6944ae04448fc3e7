#include "tokenizers/aligned_text.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/utf8.h"

namespace hone {

AlignedText AlignedText::of(std::string_view bytes, bool followed) {
  if (bytes.size() > std::numeric_limits<uint32_t>::max())
    fail("a text of {} bytes; at most 4 GiB are tokenised at once", bytes.size());
  AlignedText out{.text = {}, .origins = {}, .followed = followed};
  const bool valid = is_valid_utf8(bytes);
  if (valid) out.text = bytes;
  if (valid && !followed) return out;
  out.origins.reserve(followed ? bytes.size() : 0);
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Part part = first_utf8_part(bytes.substr(at));
    const size_t before = out.text.size();
    if (!valid) append_utf8(out.text, part.c);
    const size_t written = valid ? part.bytes : out.text.size() - before;
    if (followed)
      out.origins.insert(out.origins.end(), written,
                         {static_cast<uint32_t>(at), static_cast<uint32_t>(at + part.bytes)});
    at += part.bytes;
  }
  return out;
}

Origin Rewriter::last() const { return at_ == 0 ? Origin{text_.begin, text_.begin} : text_.origins[at_ - 1]; }

void check_room(const AlignedText& text, size_t bytes) {
  if (bytes > text.most) fail("the normalizer makes more than {} bytes of a text", text.most);
}

void Rewriter::skip(size_t characters) {
  for (; characters > 0 && at_ < text_.text.size(); --characters) at_ += utf8_length(text_.text[at_]);
}

void Rewriter::put(char32_t c, int change) {
  const size_t before = written_.size();
  append_utf8(written_, c);
  check_room(text_, written_.size());
  if (text_.followed) {
    const bool replaces = change <= 0 && at_ < text_.text.size();
    origins_.insert(origins_.end(), written_.size() - before, replaces ? text_.origins[at_] : last());
  }
  if (change <= 0) skip(static_cast<size_t>(1 - change));
}

void Rewriter::insert(std::string_view text) {
  check_room(text_, written_.size() + text.size());
  written_ += text;
  if (text_.followed) origins_.insert(origins_.end(), text.size(), last());
}

void Rewriter::copy(size_t bytes) {
  check_room(text_, written_.size() + bytes);
  written_.append(text_.text, at_, bytes);
  if (text_.followed) {
    const auto from = text_.origins.begin() + static_cast<int64_t>(at_);
    origins_.insert(origins_.end(), from, from + static_cast<int64_t>(bytes));
  }
  at_ += bytes;
}

void Rewriter::finish() {
  text_.text = std::move(written_);
  text_.origins = std::move(origins_);
}

}  // namespace hone
