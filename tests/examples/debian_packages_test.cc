#include "examples/demo/debian_packages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace hone {
namespace {

std::string stanzas(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "Package: p" + std::to_string(i) + "\nSection: " + (i % 2 ? "non-free/games" : "libs") +
            "\nDescription: number " + std::to_string(i) + "\n more\n\n";
  return text;
}

TEST(DebianPackages, SamplesAreDisjointLabelledAndDependOnTheSeedOnly) {
  const NeighbourTask a = debian_sections(stanzas(40), "t", 20, 10, 1),
                      b = debian_sections(stanzas(40), "t", 20, 10, 1);
  EXPECT_EQ(a.sha256, b.sha256);
  EXPECT_NE(a.sha256, debian_sections(stanzas(40), "t", 20, 10, 2).sha256);
  EXPECT_EQ(a.index.texts.size(), 20u);
  EXPECT_EQ(a.queries.texts.size(), 10u);
  EXPECT_EQ(a.index.names, (std::vector<std::string>{"games", "libs"}));
  for (const std::string& text : a.queries.texts)
    EXPECT_EQ(std::count(a.index.texts.begin(), a.index.texts.end(), text), 0);
  for (size_t i = 0; i < 20; ++i) {
    const int number = std::stoi(a.index.texts[i].substr(7));
    EXPECT_EQ(a.index.names[static_cast<size_t>(a.index.labels[i])], number % 2 ? "games" : "libs");
  }
}

TEST(DebianPackages, SaysHowManyPackagesAreMissing) {
  try {
    debian_sections(stanzas(5), "avail.txt", 20, 10, 1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("avail.txt: 5 packages"), std::string::npos) << e.what();
  }
  EXPECT_THROW(debian_sections("\n\n\xff\xfe", "t", 1, 1, 1), Error);
}

// Package i is made from source i / 3; six more are each of a source of its own.
std::string stanzas_of_sources(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("Package: p{}\nSource: s{} (1.{})\nSection: libs\nDescription: number\t{}\n\n", i, i / 3, i, i);
  for (int i = 0; i < 6; ++i)
    text += fmt::format("Package: alone{}\nSection: games\nDescription: of its own source, {}\n\n", i, i);
  return text;
}

TEST(DebianRows, NoSourceIsInTwoSplitsAndTheTestDoesNotDependOnTheTraining) {
  const auto split = [](const std::vector<SectionRow>& rows, const std::string& name) {
    std::set<std::string> sources, texts;
    for (const SectionRow& row : rows)
      if (row.split == name) sources.insert(row.source), texts.insert(row.text);
    return std::pair(sources, texts);
  };
  const std::string text = stanzas_of_sources(90);
  const auto rows = debian_rows(text, "t", 60, 15, 1), fewer = debian_rows(text, "t", 30, 15, 1);
  const auto [trained, train_texts] = split(rows, "train");
  const auto [tested, test_texts] = split(rows, "test");
  EXPECT_EQ(train_texts.size(), 60u);
  EXPECT_EQ(test_texts.size(), 15u);
  for (const std::string& source : tested) EXPECT_FALSE(trained.contains(source)) << source;
  EXPECT_EQ(split(fewer, "test").second, test_texts);
  EXPECT_NE(split(debian_rows(text, "t", 60, 15, 2), "test").second, test_texts);
}

TEST(DebianRows, AreATsvOfFourColumns) {
  EXPECT_EQ(tsv_of({{"a\tb", "libs", "s", "train"}}), "text\tlabel\tsource\tsplit\na b\tlibs\ts\ttrain\n");
}

TEST(DebianRows, SayWhatIsMissing) {
  try {
    debian_rows(stanzas_of_sources(6), "avail.txt", 20, 5, 1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("avail.txt: 12 packages of 8 sources"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace hone
