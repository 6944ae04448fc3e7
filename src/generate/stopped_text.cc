#include "generate/stopped_text.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hone {
namespace {

// Bytes at the end of `text` that `stop` begins with.
size_t begun(std::string_view text, std::string_view stop) {
  size_t bytes = std::min(text.size(), stop.size() - 1);
  while (bytes > 0 && !stop.starts_with(text.substr(text.size() - bytes))) --bytes;
  return bytes;
}

}  // namespace

StoppedText::StoppedText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_)
    if (stop.empty()) fail("option stop: expected a text, found an empty one");
}

std::string StoppedText::add(std::string_view text) {
  if (stopped_) return "";
  held_ += text;
  size_t end = std::string::npos, begins = 0;
  for (const std::string& stop : stops_) {
    end = std::min(end, held_.find(stop));
    begins = std::max(begins, begun(held_, stop));
  }
  stopped_ = end != std::string::npos;
  const size_t known = stopped_ ? end : held_.size() - begins;
  std::string out = held_.substr(0, known);
  held_.erase(0, stopped_ ? held_.size() : known);
  return out;
}

std::string StoppedText::finish() { return std::exchange(held_, {}); }

}  // namespace hone
