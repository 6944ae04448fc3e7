#include "examples/demo/debian_packages.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace hone
