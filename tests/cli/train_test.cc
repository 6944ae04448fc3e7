// A run that is killed between any two instructions goes on to the same bits as one that was not.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "tests/support/run_program.h"
#include "tests/support/running_program.h"
#include "tests/support/tiny_bert.h"

namespace hone {
namespace {

std::string texts() {
  std::string csv = "text,label,split\n";
  for (int i = 0; i < 64; ++i)
    csv += fmt::format("{} and the {} with that,{},{}\n", i % 3 == 0 ? "hot" : "house", i % 5 == 0 ? "cup" : "word",
                       i % 3 == 0 ? "a" : "b", i % 4 == 3 ? "validation" : "train");
  return csv;
}

TEST(Train, AKilledRunGoesOnToTheSameBits) {
  const TemporaryFolder folder;
  tiny_bert().write(folder / "model");
  const auto arguments = [&](const std::string& name) {
    return std::vector<std::string>{"train",
                                    folder / "model",
                                    "--data",
                                    folder.put("texts.csv", texts()),
                                    "-o",
                                    folder / name,
                                    "--epochs",
                                    "4",
                                    "--batch",
                                    "8",
                                    "--rate",
                                    "1e-3",
                                    "--checkpoint-every",
                                    "1",
                                    "--resume"};
  };
  const ProgramResult whole = hone_program(arguments("whole.safetensors"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_NE(whole.err.find("training takes "), std::string::npos);

  const std::string last = folder / "killed.run/last.safetensors";
  int killed = 0;
  std::filesystem::file_time_type before{};
  for (int run = 0; run < 3; ++run) {  // after the next two checkpoints each time
    RunningProgram program(HONE_PROGRAM, arguments("killed.safetensors"));
    int seen = 0;
    const bool alive = program.until([&] {
      std::error_code none;
      const auto time = std::filesystem::last_write_time(last, none);
      if (!none && time != before) before = time, ++seen;
      return seen == 2;
    });
    if (alive) program.send(SIGKILL);
    killed += program.end() == -SIGKILL;
  }
  EXPECT_GT(killed, 0);
  const ProgramResult resumed = hone_program(arguments("killed.safetensors"));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(read_file(folder / "killed.safetensors"), read_file(folder / "whole.safetensors"));
}

TEST(Train, ExplainsItself) {
  const ProgramResult help = hone_program({"train", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* part : {"--optimizer", "adafactor", "Biases and the weights of normalizations do not decay",
                           "--label-smoothing", "--validation-fraction", "--resume"})
    EXPECT_NE(help.out.find(part), std::string::npos) << part;
  const ProgramResult none = hone_program({"train", "no_such_model", "-o", "x.safetensors"});
  EXPECT_NE(none.exit_code, 0);
  EXPECT_NE(none.err.find("no data: give --data"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace hone
