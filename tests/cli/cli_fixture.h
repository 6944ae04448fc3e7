// A tiny model in a folder of its own, an empty folder for what the program writes, and what a refusal must look like.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/io/temporary_folder.h"
#include "tests/support/run_program.h"
#include "tests/support/tiny_bert.h"

namespace hone {

class CliTest : public testing::Test {
 protected:
  CliTest() {
    bert.write(model);
    std::filesystem::create_directories(out);
  }

  // One line to standard error that says all of `parts`; nothing on standard output; nothing written.
  void expect_refusal(const ProgramResult& result, const std::vector<std::string>& parts, int exit_code = 1) const {
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.out, "");
    for (const std::string& part : parts) EXPECT_THAT(result.err, testing::HasSubstr(part));
    if (exit_code == 1) {
      EXPECT_TRUE(result.err.starts_with("hone: ")) << result.err;
    }
    EXPECT_TRUE(std::filesystem::is_empty(out));
  }
  void expect_done(const ProgramResult& result) const {
    EXPECT_EQ(result.signal, 0);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  TinyBertFolder bert = tiny_bert();
  TemporaryFolder folder;
  std::string model = folder / "model", out = folder / "out";
};

}  // namespace hone
