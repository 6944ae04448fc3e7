#include "labs/caption.h"

#include <gtest/gtest.h>

#include "tests/io/temporary_folder.h"
#include "tests/support/error_of.h"

namespace hone {
namespace {

TEST(Caption, SaysWhatTheFileSaysOfTraining) {
  const TemporaryFolder folder;
  const std::string file =
      folder.put("nas.toml", "epochs = 2\nbatch = 8\n[train]\nsteps = 60\nbatch = 32\nmax-length = 24\n");
  EXPECT_EQ(training_caption(file, "train"), "60 steps of 32 rows, 24 tokens each");
  EXPECT_EQ(training_caption(file), "2 epochs of 8 rows a step");
  EXPECT_EQ(test::error_of([&] { training_caption(file, "studies.tpe"); }), file + ": has no table studies.tpe");
}

}  // namespace
}  // namespace hone
