// What hone train refuses, and that a fault on the way loses nothing: the last checkpoint is whole, and training goes
// on from it.
#include "tests/cli/train_fixture.h"

#include "base/atomic_file.h"
#include "io/numpy.h"

namespace hone {
namespace {

using testing::HasSubstr;

class TrainFaults : public TrainTest {
 protected:
  // Ends with an error that says all of `parts`; no model is written, and no file of another name is left in the
  // folders.
  void expect_fault(const ProgramResult& result, const std::vector<std::string>& parts) const {
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("hone: "));
    for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_FALSE(std::filesystem::exists(output()));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
      const std::string name = entry.path().filename().string();
      EXPECT_TRUE(entry.is_directory() || name == "last.safetensors" || name == "best.safetensors" ||
                  name == "log.csv" || name == "log.jsonl" || name.starts_with("events.out."))
          << name;
    }
  }
  // The same before anything is made.
  void expect_unfit(const std::string& model, const std::string& data, const Arguments& more,
                    const std::vector<std::string>& parts) const {
    SCOPED_TRACE(parts[0]);
    expect_fault(hone_program(training(model, data, more)), parts);
    EXPECT_TRUE(std::filesystem::is_empty(out));
  }
};

TEST_F(TrainFaults, DataThatAreNoneOfTheModelsOrHaveNoLabels) {
  const std::string texts = put_classes();
  expect_unfit(model, texts, {"--rule", ".*=frozen"}, {"nothing is left to train: the rules freeze all"});
  expect_unfit(model, texts, {"--label", "stars"}, {"stars", "label"});
  expect_unfit(model, texts, {"--text", "review"}, {"review", "text"});
  expect_unfit(model, folder.put("none.csv", "text\nhot\nhouse\n"), {}, {"no labels to train on"});
  expect_unfit(model, folder.put("one.csv", "text,label\nhot,a\nhouse,a\n"), {}, {"the labels have 1 class"});
  expect_unfit(model, folder.put("word.csv", "text,score\nhot,high\nhouse,1\n"), {}, {"high"});
}

TEST_F(TrainFaults, ABatchLargerThanTheData) {
  Arguments arguments = training(model, put_classes());
  *(std::ranges::find(arguments, "--batch") + 1) = "97";
  expect_fault(hone_program(arguments), {"has 96 rows to train on, fewer than a batch of 97"});
}

TEST_F(TrainFaults, RowsWithoutALabelAreCountedNamedAndLeftOut) {
  const std::string texts = put_classes();
  expect_unfit(model, texts, {"--classes", "warm", "--classes", "mild"}, {"rows can't be used", "--skip-bad"});
  std::string some = read_file(texts);
  some.replace(some.find(",cold"), 5, ",");
  const std::string data = folder.put("some.csv", some);
  expect_unfit(model, data, {}, {"1 of 128 rows can't be used", "1 rows without a known label", "some.csv:3"});
  const ProgramResult without = hone_program(training(model, data, {"--skip-bad"}));
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_TRUE(std::filesystem::exists(output()));
}

TEST_F(TrainFaults, AnOutputOfAnotherKindIsRefusedAtOnce) {
  Arguments arguments = training(model, put_classes());
  *(std::ranges::find(arguments, "-o") + 1) = folder / "out.bin";
  expect_fault(hone_program(arguments), {"must end in .safetensors or .onnx"});
}

TEST_F(TrainFaults, ArraysOfOtherLengthsOrSizes) {
  const std::string network = convnet();
  const auto arrays = [&](const std::string& name, int64_t rows, int64_t side, int64_t labels) {
    const std::string path = folder / name;
    write_npz(path, std::vector<NamedTensor>{{"x", Tensor(DType::f32, {rows, 1, side, side})},
                                             {"label", Tensor(DType::i64, {labels})}});
    return path;
  };
  expect_unfit(network, arrays("rows.npz", 32, 8, 31), {}, {"rows.npz", "31", "32"});
  expect_unfit(network, arrays("side.npz", 32, 9, 32), {}, {"9"});
  expect_unfit(network, put_classes(), {}, {"texts"});
}

TEST_F(TrainFaults, AnImageThatDoesNotDecodeIsNamedAndLeftOut) {
  const std::string images = put_images(), network = convnet();
  const std::string png = read_file(images + "/train/dark/003.png");
  write_file(images + "/train/dark/003.png", png.substr(0, png.size() / 2));
  write_file(images + "/test/light/001.png", "no image");
  expect_unfit(
      network, images, {"--channels", "1"},
      {"2 of 96 rows can't be used: 2 images that do not decode", "003.png", "--skip-bad goes on without them"});
  const ProgramResult without = hone_program(training(network, images, {"--channels", "1", "--skip-bad"}));
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_THAT(without.err, HasSubstr("2 images do not decode"));
  EXPECT_TRUE(std::filesystem::exists(output()));
}

TEST_F(TrainFaults, ALossThatIsNoNumberNamesTheStepAndTheOperation) {
  Arguments arguments =
      training(model, put_classes(), {"--optimizer", "sgd", "--schedule", "constant", "--checkpoint-every", "1"});
  *(std::ranges::find(arguments, "--rate") + 1) = "1e30";
  expect_fault(hone_program(arguments), {"the loss of step ", "in step ", last() + " is from after step "});
  const std::string kept = read_file(last());
  expect_fault(hone_program(arguments + Arguments{"--resume"}), {"the loss of step "});
  EXPECT_EQ(read_file(last()), kept);
}

TEST_F(TrainFaults, ACheckpointOfAnotherRunOrDamaged) {
  const std::string texts = put_classes(64), other = folder / "other";
  ASSERT_EQ(hone_program(training(model, texts)).exit_code, 0);
  std::filesystem::remove(output());
  tiny_bert(2).write(other);
  const std::string whole = read_file(last());
  expect_fault(hone_program(training(model, texts)), {"holds a run already; --resume goes on with it"});
  expect_fault(hone_program(training(other, texts, {"--resume"})), {last() + ": is of another model"});
  expect_fault(hone_program(training(model, texts, {"--resume", "--seed", "2"})), {"was written with other options"});
  std::string version = whole;
  version.replace(version.find("\"hone.checkpoint\":\"1\""), 21, "\"hone.checkpoint\":\"2\"");
  write_file(last(), version);
  expect_fault(hone_program(training(model, texts, {"--resume"})), {"is a checkpoint of version 2"});
  write_file(last(), whole.substr(0, whole.size() / 2));
  expect_fault(hone_program(training(model, texts, {"--resume"})), {last()});
  std::string changed = whole;
  changed[changed.size() - 5] ^= 1;
  write_file(last(), changed);
  expect_fault(hone_program(training(model, texts, {"--resume"})), {"do not fit its checksum"});
  write_file(last(), whole);
  EXPECT_EQ(hone_program(training(model, texts, {"--resume"})).exit_code, 0);
}

// A limit on the size of files stands in for a full disk.
TEST_F(TrainFaults, AFullDiskLeavesThePreviousCheckpointWhole) {
  const Arguments arguments = training(model, put_classes(), {"--checkpoint-every", "1", "--epochs", "10", "--resume"});
  const ProgramResult whole = hone_program(arguments);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string bytes = read_file(output());
  std::filesystem::remove_all(out);
  std::filesystem::create_directories(out);
  ASSERT_TRUE(killed_after(arguments, 2));
  const std::string kept = read_file(last());
  for (const auto& entry : std::filesystem::directory_iterator(out + "/out.run"))  // of the write that was killed
    if (const std::string name = entry.path().filename(); name.starts_with("last.safetensors."))
      std::filesystem::remove(entry.path());
  expect_fault(hone_program(arguments, {.largest_file = kept.size() / 2}),
               {last() + ": writing failed: File too large"});
  EXPECT_EQ(read_file(last()), kept);
  expect_fault(hone_program(arguments, {.largest_file = 40}), {"log.csv"});
  EXPECT_EQ(read_file(last()), kept);
  const ProgramResult resumed = hone_program(arguments);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(read_file(output()), bytes);
}

TEST_F(TrainFaults, AFullDiskAtTheEndLosesNoStep) {
  // Checkpoints of plain SGD are smaller than the model, which has its vocabulary with it.
  const Arguments arguments = training(model, put_classes(), {"--optimizer", "sgd", "--resume"});
  const ProgramResult whole = hone_program(arguments);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string bytes = read_file(output());
  const auto checkpoint = std::filesystem::file_size(last()) + 64;  // times have more or fewer digits
  ASSERT_LT(checkpoint, bytes.size());
  std::filesystem::remove_all(out);
  std::filesystem::create_directories(out);
  expect_fault(hone_program(arguments, {.largest_file = checkpoint}), {output() + ": writing failed"});
  const ProgramResult resumed = hone_program(arguments);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(read_file(output()), bytes);
}

}  // namespace
}  // namespace hone
