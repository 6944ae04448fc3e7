#include "base/cpu.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace hone {
namespace {

TEST(Cpu, SaysWhyTheSystemWithholdsTiles) {
  const std::string stacks = why_without_tiles(ENOSPC);
  EXPECT_NE(stacks.find("sigaltstack() needs "), std::string::npos) << stacks;
  EXPECT_EQ(stacks.find("needs 0 bytes"), std::string::npos) << stacks;
  EXPECT_EQ(why_without_tiles(EINVAL), "Invalid argument");
}

}  // namespace
}  // namespace hone
