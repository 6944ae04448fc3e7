// `mpirun -n N hone train`: the bits of one process that takes its batches in as many parts, what ends all ranks, and
// what one of them leaves behind.
#include "mpi/ranks.h"
#include "tests/cli/train_fixture.h"
#include "tests/support/mpirun.h"

namespace hone {
namespace {

using testing::HasSubstr;

class TrainRanks : public TrainTest {
 protected:
  void SetUp() override {
    if (!has_mpirun()) GTEST_SKIP() << "package openmpi-bin is not installed";
  }
  static ProgramResult by(int ranks, const Arguments& arguments) {
    return run_program(mpirun_path(), mpirun_arguments(ranks, HONE_PROGRAM, arguments));
  }
  // Other arguments for rank 1: mpirun starts what its colon parts.
  static ProgramResult unlike(const Arguments& first, const Arguments& second) {
    Arguments all = mpirun_arguments(1, HONE_PROGRAM, first);
    all.emplace_back(":");
    return run_program(mpirun_path(), all + Arguments{"-n", "1", HONE_PROGRAM} + second);
  }
  void begin_anew() const {
    std::filesystem::remove_all(out);
    std::filesystem::create_directories(out);
  }
  // Of texts that are cut to one length, so that padding is the same however a batch is split.
  Arguments of_texts(const Arguments& more = {}) const {
    return training(model, put_classes(), Arguments{"--max-length", "4", "--dropout", "0.2"} + more);
  }
};

TEST_F(TrainRanks, GiveTheBitsOfAsManyParts) {
  for (int ranks : {2, 4}) {
    begin_anew();
    const ProgramResult parts = hone_program(of_texts({"--parts", std::to_string(ranks)}));
    ASSERT_EQ(parts.exit_code, 0) << parts.err;
    const std::string bytes = read_file(output());
    begin_anew();
    const ProgramResult done = by(ranks, of_texts());
    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_EQ(read_file(output()), bytes) << ranks;
    EXPECT_THAT(done.err, HasSubstr(fmt::format("{} processes have a part of each batch", ranks)));
    // One of them talks.
    EXPECT_EQ(done.err.find("training takes "), done.err.rfind("training takes "));
    EXPECT_EQ(std::ranges::count(done.out, '\n'), std::ranges::count(parts.out, '\n') + 1);  // the same finding
  }
}

// Batch norms, images that are changed, and a last batch of fewer rows than ranks.
TEST_F(TrainRanks, RepeatBitForBit) {
  const std::string images = put_images(25), network = convnet();  // 50 rows
  const Arguments arguments =
      training(network, images, {"--channels", "1", "--flip", "--crop-padding", "1", "--epochs", "3"});
  std::vector<std::string> files;
  for (int run = 0; run < 2; ++run) {
    begin_anew();
    const ProgramResult done = by(4, arguments);
    ASSERT_EQ(done.exit_code, 0) << done.err;
    files.push_back(read_file(output()));
  }
  EXPECT_EQ(files[0], files[1]);
}

TEST_F(TrainRanks, GoOnWhereAnotherNumberOfThemEnded) {
  const Arguments arguments = of_texts({"--checkpoint-every", "1", "--epochs", "20", "--resume"});
  ASSERT_TRUE(killed_after(arguments, 2));
  const ProgramResult resumed = by(2, arguments);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("resumed after step "));
}

// The steps are those of a run that nobody killed, bit for bit.
TEST_F(TrainRanks, ARankThatDiesEndsTheRunAndLeavesTheLastCheckpointWhole) {
  const Arguments arguments = of_texts({"--checkpoint-every", "1", "--epochs", "20", "--resume"});
  const ProgramResult whole = by(2, arguments);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string bytes = read_file(output());
  begin_anew();
  // Rank 1 is a shell that becomes hone, so that its number is known.
  const std::string number = folder / "rank1";
  std::string command = fmt::format("echo $$ > {}; exec '{}'", number, HONE_PROGRAM);
  for (const std::string& argument : arguments) command += fmt::format(" '{}'", argument);
  RunningProgram run(mpirun_path(), mpirun_arguments(1, HONE_PROGRAM, arguments) +
                                        Arguments{":", "-n", "1", "/bin/sh", "-c", command});
  ASSERT_TRUE(run.until([&] { return std::filesystem::exists(last()); })) << run.err();
  ::kill(static_cast<pid_t>(std::stol(read_file(number))), SIGKILL);
  EXPECT_NE(run.end(), 0);
  EXPECT_THAT(run.err(), HasSubstr("exited on signal 9"));
  EXPECT_FALSE(std::filesystem::exists(output()));
  const ProgramResult resumed = by(2, arguments);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("resumed after step "));
  EXPECT_EQ(read_file(output()), bytes);
}

TEST_F(TrainRanks, OtherDataModelsOrOptionsAreFoundBeforeTheFirstStep) {
  const Arguments arguments = of_texts();
  const std::string other_data = folder.put("other.csv", read_file(put_classes()) + "the hot word that,warm,train\n"),
                    other_model = folder / "other";
  tiny_bert(2).write(other_model);
  Arguments data = arguments, of_model = arguments;
  *(std::ranges::find(data, "--data") + 1) = other_data;
  of_model[1] = other_model;
  const struct {
    Arguments second;
    const char* message;
  } cases[] = {
      {data, "rank 1 differs from rank 0: it has \"data = "},
      {of_model, "rank 1 differs from rank 0: it has \"model = "},
      {arguments + Arguments{"--seed", "2"}, "rank 1 differs from rank 0: it has \"seed = 2\""},
      {arguments + Arguments{"--isa", "avx2+vnni_emulated"}, "rank 1 differs from rank 0: it has \"instructions = "}};
  for (const auto& [second, message] : cases) {
    begin_anew();
    const ProgramResult refused = unlike(arguments, second);
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_THAT(refused.err, HasSubstr(message));
    EXPECT_THAT(refused.err, HasSubstr("All need the same model, data, options and version of hone"));
    EXPECT_FALSE(std::filesystem::exists(last()));
  }
}

TEST_F(TrainRanks, WhatOneCanNotBeginByIsSaidOnce) {
  const ProgramResult all = by(2, training(model, folder / "none.csv"));
  EXPECT_NE(all.exit_code, 0);
  EXPECT_NE(all.err.find("none.csv"), std::string::npos) << all.err;
  EXPECT_EQ(all.err.find("hone: "), all.err.rfind("hone: ")) << all.err;
  const Arguments arguments = of_texts();
  Arguments none = arguments;
  *(std::ranges::find(none, "--data") + 1) = folder / "none.csv";
  const ProgramResult one = unlike(arguments, none);
  EXPECT_NE(one.exit_code, 0);
  EXPECT_THAT(one.err, HasSubstr("hone: rank 1: " + folder / "none.csv"));
}

TEST_F(TrainRanks, ALossThatIsNoNumberEndsThem) {
  Arguments arguments = of_texts({"--optimizer", "sgd", "--schedule", "constant"});
  *(std::ranges::find(arguments, "--rate") + 1) = "1e30";
  const ProgramResult ended = by(2, arguments);
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("the loss of step "));
  EXPECT_FALSE(std::filesystem::exists(output()));
}

TEST_F(TrainRanks, AnotherMpiIsRefused) {
  const ProgramResult refused =
      hone_program(of_texts(), {.environment = {{"PMI_SIZE", "2"}, {"OMPI_COMM_WORLD_SIZE", "0"}}});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("another MPI than Open MPI started; install openmpi-bin"));
}

}  // namespace
}  // namespace hone
