#include "examples/demo/debian_packages.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"
#include "base/text.h"
#include "data/splits.h"

namespace hone {
namespace {

struct Package {
  std::string name, source, section, description;
};

// One stanza is a run of lines up to an empty one; only fields on a single line matter here.
std::vector<Package> read_stanzas(std::string_view text) {
  std::vector<Package> packages;
  Package current;
  auto finish = [&] {
    if (current.source.empty()) current.source = current.name;
    if (const size_t version = current.source.find(' '); version != std::string::npos) current.source.resize(version);
    if (!current.section.empty() && !current.description.empty()) packages.push_back(current);
    current = {};
  };
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    auto field = [&](std::string_view key, std::string& value) {
      if (line.starts_with(key)) value = trim(line.substr(key.size()));
    };
    if (trim(line).empty()) finish();
    field("Package:", current.name);
    field("Source:", current.source);
    field("Section:", current.section);
    field("Description:", current.description);
    field("Description-en:", current.description);
  }
  finish();
  for (Package& p : packages)
    if (const size_t slash = p.section.find('/'); slash != std::string::npos) p.section.erase(0, slash + 1);
  return packages;
}

// In the order of their names, each description once.
std::vector<Package> different_packages(std::string_view text) {
  std::vector<Package> packages = read_stanzas(text);
  std::sort(packages.begin(), packages.end(), [](const Package& a, const Package& b) { return a.name < b.name; });
  std::set<std::string> seen;
  std::erase_if(packages, [&](const Package& p) { return !seen.insert(p.description).second; });
  return packages;
}

void digest(Sha256& hash, const LabelledTexts& sample) {
  for (size_t i = 0; i < sample.texts.size(); ++i) {
    hash.update(sample.names[static_cast<size_t>(sample.labels[i])]);
    hash.update("\t");
    hash.update(sample.texts[i]);
    hash.update("\n");
  }
}

}  // namespace

NeighbourTask debian_sections(std::string_view text, const std::string& source, int index_count, int query_count,
                              uint64_t seed) {
  if (index_count < 1 || query_count < 1)
    fail("{} index and {} query texts; at least one of each is needed", index_count, query_count);
  std::vector<Package> packages = different_packages(text);
  const auto wanted = static_cast<size_t>(index_count) + static_cast<size_t>(query_count);
  if (packages.size() < wanted)
    fail(
        "{}: {} packages with a section and a description; {} are needed. Try: apt-get update, then apt-cache "
        "dumpavail",
        source, packages.size(), wanted);

  Philox random(seed);  // the first `wanted` places of a Fisher-Yates shuffle
  for (size_t i = 0; i < wanted; ++i)
    std::swap(packages[i], packages[i + random.below(static_cast<uint32_t>(packages.size() - i))]);
  packages.resize(wanted);

  std::map<std::string, int> classes;
  for (const Package& p : packages) classes.emplace(p.section, 0);
  std::vector<std::string> names;
  for (auto& [name, index] : classes) {
    index = static_cast<int>(names.size());
    names.push_back(name);
  }
  NeighbourTask task;
  task.index.names = task.queries.names = names;
  for (size_t i = 0; i < wanted; ++i) {
    LabelledTexts& sample = i < static_cast<size_t>(index_count) ? task.index : task.queries;
    sample.texts.push_back(packages[i].description);
    sample.labels.push_back(classes.at(packages[i].section));
  }
  Sha256 hash;
  digest(hash, task.index);
  digest(hash, task.queries);
  task.sha256 = hash.hex();
  return task;
}

std::vector<SectionRow> debian_rows(std::string_view text, const std::string& source, int train, int test,
                                    uint64_t seed) {
  if (train < 1 || test < 1)
    fail("{} packages to train on and {} to test; at least one of each is needed", train, test);
  const std::vector<Package> packages = different_packages(text);
  std::map<std::string, std::vector<size_t>> sources;
  for (size_t i = 0; i < packages.size(); ++i) sources[packages[i].source].push_back(i);
  std::vector<const std::vector<size_t>*> units;
  for (const auto& [name, members] : sources) units.push_back(&members);
  std::vector<size_t> chosen[2];
  const size_t wanted[] = {static_cast<size_t>(test), static_cast<size_t>(train)};
  for (int64_t u : permutation(std::ssize(units), seed, 0)) {
    const std::vector<size_t>& members = *units[static_cast<size_t>(u)];
    for (int part = 0; part < 2; ++part) {
      if (chosen[part].size() + members.size() > wanted[part]) continue;
      chosen[part].insert(chosen[part].end(), members.begin(), members.end());
      break;
    }
  }
  if (chosen[0].size() != wanted[0] || chosen[1].size() != wanted[1])
    fail("{}: {} packages of {} sources give {} to test and {} to train on; {} and {} are wanted. Try: apt-get update",
         source, packages.size(), sources.size(), chosen[0].size(), chosen[1].size(), test, train);
  std::vector<SectionRow> rows;
  for (int part : {1, 0}) {
    std::ranges::sort(chosen[part]);
    for (size_t i : chosen[part])
      rows.push_back({packages[i].description, packages[i].section, packages[i].source, part == 1 ? "train" : "test"});
  }
  return rows;
}

std::string tsv_of(const std::vector<SectionRow>& rows) {
  std::string text = "text\tlabel\tsource\tsplit\n";
  for (const SectionRow& row : rows) {
    std::string line = row.text;
    std::ranges::replace(line, '\t', ' ');
    text += fmt::format("{}\t{}\t{}\t{}\n", line, row.label, row.source, row.split);
  }
  return text;
}

}  // namespace hone
