// Words that are printed for a shell come back as they were.
#include "base/shell.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

namespace hone {
namespace {

const std::vector<std::string>& hostile_words() {
  static const std::vector<std::string> words{
      "plain", "a b",  "it's", "''",   "",      "\"",          "$HOME", "`id`",          "a\\b",
      "(x|y)", "*.cc", "?",    "[ab]", "{a,b}", "~",           "#x",    "a;b",           "a&b",
      "<x",    ">y",   "!x",   "a\nb", "\t",    "caf\xc3\xa9", "a=b",   "--to=int{4,8}", "encoder|head=frozen",
      "^a$"};
  return words;
}

TEST(Shell, WhatMeansItselfStaysAsItIs) {
  EXPECT_EQ(shell_quoted("op:linear=mxint8"), "op:linear=mxint8");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

TEST(Shell, WordsAreReadBack) { EXPECT_EQ(shell_words(shell_line(hostile_words())), hostile_words()); }

TEST(Shell, ShReadsTheSameWords) {
  const std::string command = "printf '%s\\0' " + shell_line(hostile_words());
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  ASSERT_TRUE(pipe);
  std::vector<std::string> words(1);
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get()))
    if (c == 0) words.emplace_back();
    else words.back() += static_cast<char>(c);
  words.pop_back();
  EXPECT_EQ(words, hostile_words());
}

}  // namespace
}  // namespace hone
