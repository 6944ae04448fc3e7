#include "runtime/own_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hone {
namespace {

constexpr const char* kKey = "compiled_sizes";
constexpr size_t kMostSizes = 64;  // of a foreign file

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty() && parts.size() < kMostSizes) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

}  // namespace

std::vector<Bindings> sizes_with_own_code(const Graph& graph) {
  std::vector<Bindings> all;
  const auto found = graph.metadata.find(kKey);
  if (found == graph.metadata.end()) return all;
  for (std::string_view each : split(found->second, ';')) {
    Bindings sizes;
    for (std::string_view part : split(each, ',')) {
      const size_t equals = part.find('=');
      int64_t size = 0;
      if (equals == std::string_view::npos ||
          std::from_chars(part.data() + equals + 1, part.data() + part.size(), size).ec != std::errc())
        continue;
      sizes[std::string(part.substr(0, equals))] = size;
    }
    if (!sizes.empty()) all.push_back(std::move(sizes));
  }
  return all;
}

void note_own_code(Graph& graph, const Bindings& sizes) {
  const std::vector<Bindings> known = sizes_with_own_code(graph);
  if (sizes.empty() || std::ranges::find(known, sizes) != known.end()) return;
  std::string& text = graph.metadata[kKey];
  for (bool first = true; const auto& [symbol, size] : sizes) {
    text += fmt::format("{}{}={}", !first ? "," : text.empty() ? "" : ";", symbol, size);
    first = false;
  }
}

}  // namespace hone
