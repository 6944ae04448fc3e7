#include "base/file_name.h"

#include <gtest/gtest.h>

#include <set>

namespace hone {
namespace {

using Names = std::vector<std::string>;

TEST(PlainFileName, LeadsToAFileOfTheFolderItself) {
  for (const char* name : {"tokenizer.json", "a b", "objects.avx2", "K\u00fcche", "a..b", "-o"})
    EXPECT_TRUE(is_plain_file_name(name)) << name;
  for (const std::string& name : Names{"", ".", "..", "../x", "/etc/x", "a/b", "a/", ".hidden", "a\\b", "a\nb", "a\x1b",
                                       "\u202ea", "\xff", std::string("a\0b", 3), std::string(256, 'a')})
    EXPECT_FALSE(is_plain_file_name(name)) << name;
}

TEST(PlainFileNames, AreKeptWhereTheyArePlain) {
  EXPECT_EQ(plain_file_names({"logits", "last_hidden_state"}, ".npy"), (Names{"logits.npy", "last_hidden_state.npy"}));
}

TEST(PlainFileNames, DifferWhereTheirNamesDo) {
  EXPECT_EQ(plain_file_names({"a/b", "a_b", "a\nb"}, ".npy"), (Names{"a_b_2.npy", "a_b.npy", "a_b_3.npy"}));
  EXPECT_EQ(plain_file_names({"..", "", "_", ".x"}, ".npy"), (Names{"_..npy", "__2.npy", "_.npy", "_x.npy"}));
  const std::string longer(300, 'a');
  const Names files = plain_file_names({longer, longer + "b", std::string(longer) + "c/"}, ".npy");
  EXPECT_EQ(std::set<std::string>(files.begin(), files.end()).size(), 3u);
  for (const std::string& file : files) {
    EXPECT_TRUE(is_plain_file_name(file)) << file;
    EXPECT_LT(file.size(), 240u) << "room for the ending of a temporary file";
  }
}

TEST(PlainFileNames, OfManyThatBecomeOneAreFoundQuickly) {
  Names names;
  for (int i = 0; i < 50'000; ++i) names.push_back("a" + std::string(1, i % 2 == 0 ? '/' : '\n') + "b");
  const Names files = plain_file_names(names, "");
  EXPECT_EQ(std::set<std::string>(files.begin(), files.end()).size(), names.size());
}

}  // namespace
}  // namespace hone
