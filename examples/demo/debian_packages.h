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

struct SectionRow {
  std::string text, label, source, split;  // of a package: its description, section and source package
};

// `train` and `test` packages for fine-tuning: packages made from one source have descriptions that are alike, so all
// of a source are in one split. Sources are taken whole in an order that the seed gives, as long as they fit, first
// into the test, so that the test is the same whatever `train` is. Rows are in the order of splits and packages. Throws
// Error when there are too few packages.
std::vector<SectionRow> debian_rows(std::string_view text, const std::string& source, int train, int test,
                                    uint64_t seed);

// With a line of names, for the reader of .tsv files.
std::string tsv_of(const std::vector<SectionRow>& rows);

}  // namespace hone
