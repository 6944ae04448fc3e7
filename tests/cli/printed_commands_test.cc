// Commands that reports print run when they are pasted: from any folder, whatever the files are called.
#include "base/atomic_file.h"
#include "tests/cli/train_fixture.h"

namespace hone {
namespace {

class PrintedCommands : public TrainTest {
 protected:
  PrintedCommands() {
    std::filesystem::create_directories(place);
    std::filesystem::create_directories(clean);
    bert.write(place + "/the model");
    std::filesystem::rename(put_classes(64), place + "/" + kData);
  }

  // Runs hone's arguments as a user would who stands in `place`.
  Json done(const std::string& line) const {
    return parse_json(in(place, std::string(HONE_PROGRAM) + " " + line), line);
  }

  std::string in(const std::string& where, const std::string& line) const {
    const ProgramResult result = run_program("/bin/sh", {"-c", "cd \"$0\" && " + line, where});
    EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.err;
    return result.out;
  }

  // The command of the report, from a folder where nothing is, writes `file` there.
  void expect_to_run(const Json& record, const std::string& file) const {
    const std::string command = record.at("command");
    in(clean, command);
    EXPECT_TRUE(std::filesystem::exists(clean + "/" + file)) << command;
  }

  static constexpr const char* kData = "rows (of) 'texts' | $1 & *.csv";
  const std::string quoted = "'rows (of) '\\''texts'\\'' | $1 & *.csv'";
  const std::string place = folder / "a place", clean = folder / "another";
};

TEST_F(PrintedCommands, OfTrainingRunAnywhere) {
  expect_to_run(done("train 'the model' --data=" + quoted +
                     " --epochs 1 --batch 16 --rule 'embeddings|encoder=frozen' -o 'it'\\''s.safetensors' --json"),
                "it's.safetensors");
}

TEST_F(PrintedCommands, OfQuantizingAndMeasuringRunAnywhere) {
  expect_to_run(done("quantize './the model' --to int8 --skip 'layer\\.(0|1)' -o q.safetensors --json"),
                "q.safetensors");
  expect_to_run(done("squeeze 'the model' --to int8 --seq 8 --seconds 0.1 -o 's q.safetensors' --report r.html --json"),
                "s q.safetensors");
}

TEST_F(PrintedCommands, OfASweepRunAnywhere) {
  in(place,
     std::string(HONE_PROGRAM) + " train 'the model' --data " + quoted + " --epochs 1 --batch 16 -o t.safetensors");
  expect_to_run(done("sweep t.safetensors --formats 'int{4,8}' --data " + quoted + " -o 'a sweep' --json"),
                "a sweep/sweep.csv");
}

TEST_F(PrintedCommands, OfASearchAndOfMakingATrialAgainRunAnywhere) {
  write_file(place + "/it's a space.toml", "[parameters]\n\"quantize.to\" = [\"int8\", \"mxint8\"]\n");
  const Json record = done(
      "search 'the model' --space 'it'\\''s a space.toml' --objective bits --trials 2 --storage 'my studies.db' "
      "--json");
  in(clean, record.at("command"));
  const Json& next = record.at("next").at(0);
  in(clean, next.at("command"));
  EXPECT_TRUE(std::filesystem::exists(clean + "/trial-0.safetensors") ||
              std::filesystem::exists(clean + "/trial-1.safetensors"))
      << next;
}

}  // namespace
}  // namespace hone
