#include "examples/demo/debian_packages.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/philox.h"
#include "base/text.h"

namespace hone {
namespace {

struct Package {
  std::string name, section, description;
};

// One stanza is a run of lines up to an empty one; only fields on a single line matter here.
std::vector<Package> read_stanzas(std::string_view text) {
  std::vector<Package> packages;
  Package current;
  auto finish = [&] {
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
    field("Section:", current.section);
    field("Description:", current.description);
    field("Description-en:", current.description);
  }
  finish();
  for (Package& p : packages)
    if (const size_t slash = p.section.find('/'); slash != std::string::npos) p.section.erase(0, slash + 1);
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
  std::vector<Package> packages = read_stanzas(text);
  std::sort(packages.begin(), packages.end(), [](const Package& a, const Package& b) { return a.name < b.name; });
  std::set<std::string> seen;
  std::erase_if(packages, [&](const Package& p) { return !seen.insert(p.description).second; });
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

}  // namespace hone
