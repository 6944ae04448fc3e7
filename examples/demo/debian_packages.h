// A real text classification task that every Debian machine carries: from a package's short description, tell its
// section.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct LabelledTexts {
  std::vector<std::string> texts;
  std::vector<int> labels;         // indices into names
  std::vector<std::string> names;  // of the classes, sorted
};

// Two disjoint samples of one source.
struct NeighbourTask {
  LabelledTexts index, queries;
  std::string sha256;  // of both samples, texts and labels: equal tasks have equal digests
};

// `text` is what `apt-cache dumpavail` prints (deb822 stanzas; Package, Section and Description are used, the archive
// area before the section is dropped, duplicate descriptions are taken once). The samples depend on text and seed only.
// Throws Error when there are fewer than index_count + query_count packages; `source` names the text in errors.
NeighbourTask debian_sections(std::string_view text, const std::string& source, int index_count, int query_count,
                              uint64_t seed);

}  // namespace hone
