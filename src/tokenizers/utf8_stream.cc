#include "tokenizers/utf8_stream.h"

#include "base/utf8.h"

namespace hone {

std::string Utf8Stream::add(std::string_view bytes) {
  held_ += bytes;
  std::string out;
  std::string_view rest = held_;
  while (!rest.empty()) {
    const Utf8Part part = first_utf8_part(rest);
    // What is wrong only because it ends may go on in the next part.
    if (!part.valid && part.bytes == rest.size() && static_cast<unsigned char>(rest[0]) >= 0xc2 &&
        static_cast<unsigned char>(rest[0]) <= 0xf4)
      break;
    append_utf8(out, part.c);
    rest.remove_prefix(part.bytes);
  }
  held_.erase(0, held_.size() - rest.size());
  return out;
}

std::string Utf8Stream::finish() {
  std::string out;
  if (!held_.empty()) append_utf8(out, 0xfffd);
  held_.clear();
  return out;
}

}  // namespace hone
