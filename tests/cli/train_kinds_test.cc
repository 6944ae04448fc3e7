// hone train and hone evaluate on every kind of data and way of training: what was trained opens alone and has learned.
#include "base/philox.h"
#include "io/numpy.h"
#include "tests/cli/train_fixture.h"

namespace hone {
namespace {

class TrainKinds : public TrainTest {
 protected:
  // The first figure that hone evaluate gives of what was trained, by its name.
  double judged(const std::string& model, const std::string& data, const char* figure, const Arguments& of_training,
                const Arguments& of_data = {}) {
    const ProgramResult trained = hone_program(training(model, data, of_training + of_data));
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    const ProgramResult given =
        hone_program(Arguments{"evaluate", output(), "--data", data, "--split", "test", "--json"} + of_data);
    EXPECT_EQ(given.exit_code, 0) << given.err;
    if (given.exit_code != 0) return std::nan("");
    const Json first = parse_json(given.out, "evaluate").at("evaluation").at(0);
    EXPECT_TRUE(first.contains(figure)) << first;
    return first.value(figure, std::nan(""));
  }

  // Killed thrice and gone on with, it writes the bytes of one that was not.
  void goes_on_to_the_same_bits(const Arguments& arguments) {
    const ProgramResult whole = hone_program(arguments);
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    const std::string bytes = read_file(output());
    std::filesystem::remove_all(out);
    std::filesystem::create_directories(out);
    int killed = 0;
    for (int run = 0; run < 3; ++run) killed += killed_after(arguments, 2);
    EXPECT_GT(killed, 0);
    const ProgramResult resumed = hone_program(arguments);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(read_file(output()), bytes);
  }
};

TEST_F(TrainKinds, ClassesOfTexts) { EXPECT_GE(judged(model, put_classes(), "accuracy", {}), 0.95); }

TEST_F(TrainKinds, SeveralClassesOfATextByWhatTheirScoresSay) {
  const std::string data = put_texts("labels", [](bool hot, bool house) {
    return std::string(hot ? "warm" : "") + (hot && house ? " " : "") + (house ? "home" : "") +
           (hot || house ? "" : "none");
  });
  EXPECT_GE(judged(model, data, "f1", {}), 0.95);
}

TEST_F(TrainKinds, NumbersToPredict) {
  const std::string data =
      put_texts("score", [](bool hot, bool house) { return fmt::format("{}", 2.0 * hot - 1.0 * house); });
  EXPECT_LE(judged(model, data, "mse", {}), 0.1);  // their variance is 1.1
}

TEST_F(TrainKinds, ClassesOfWords) {
  bert.pools = false;  // an encoder that gives features of words
  const std::string words = folder / "words";
  bert.write(words);
  std::string data;
  for (int i = 0; i < 96; ++i)
    data += fmt::format(R"({{"tokens": ["the", "{}", "and", "{}"], "tags": ["O", "{}", "O", "{}"], "split": "{}"}})"
                        "\n",
                        i % 3 ? "hot" : "some", i % 2 ? "house" : "word", i % 3 ? "WARM" : "O", i % 2 ? "HOME" : "O",
                        i % 4 == 3 ? "test" : "train");
  EXPECT_GE(judged(words, folder.put("words.jsonl", data), "accuracy", {}), 0.95);
}

TEST_F(TrainKinds, FoldersOfImages) {
  EXPECT_GE(judged(convnet(), put_images(), "accuracy", {"--flip", "--crop-padding", "1"}, {"--channels", "1"}), 0.95);
}

TEST_F(TrainKinds, WeightsAndInputsInFewBitsWithScalesThatAreLearned) {
  EXPECT_GE(judged(convnet(), put_images(), "accuracy",
                   {"--qat", "weight=int2.channel", "--qat", "op:conv.in=int8", "--learn-scales", "--epochs", "12"},
                   {"--channels", "1"}),
            0.9);
  const ProgramResult info = hone_program({"info", output(), "--json"});
  EXPECT_THAT(info.out, testing::HasSubstr("int2.channel"));
}

TEST_F(TrainKinds, WhatATeacherSays) {
  const std::string data = put_classes(), teacher = folder / "teacher.safetensors";
  ASSERT_EQ(hone_program({"train", model, "--data", data, "-o", teacher, "--batch", "16", "--rate", "5e-3"}).exit_code,
            0);
  EXPECT_GE(judged(model, data, "accuracy",
                   {"--from-scratch", "--teacher", teacher, "--temperature", "3", "--distill-weight", "0.9",
                    "--distill-layers", "encoder.layer.0.output.dense=encoder.layer.0.output.dense", "--epochs", "10"}),
            0.9);
}

TEST_F(TrainKinds, PairsOfIdxFiles) {
  const auto sizes = [](std::vector<uint32_t> all) {
    std::string bytes{0, 0, 8, static_cast<char>(all.size())};
    for (uint32_t size : all)
      for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift & 0xff);
    return bytes;
  };
  for (const char* split : {"train", "t10k"}) {
    std::string images = sizes({48, 8, 8}), labels = sizes({48});
    for (int i = 0; i < 48; ++i) {
      images += std::string(64, static_cast<char>(grey(i, i % 2 == 1)));
      labels += static_cast<char>(i % 2);
    }
    folder.put(fmt::format("idx/{}-images-idx3-ubyte", split), images);
    folder.put(fmt::format("idx/{}-labels-idx1-ubyte", split), labels);
  }
  EXPECT_GE(judged(convnet(), folder / "idx", "accuracy", {}), 0.95);
}

TEST_F(TrainKinds, FromScratch) {
  EXPECT_GE(judged(model, put_classes(), "accuracy", {"--from-scratch", "--epochs", "12"}), 0.95);
}

TEST_F(TrainKinds, ABatchInParts) {
  EXPECT_GE(judged(model, put_classes(), "accuracy", {"--parts", "4", "--clip-norm", "1"}), 0.95);
  std::filesystem::remove_all(out + "/out.run");
  EXPECT_GE(judged(convnet(), put_images(), "accuracy", {"--parts", "2"}, {"--channels", "1"}), 0.95);
}

TEST_F(TrainKinds, ActivationsComputedAgain) {
  EXPECT_GE(judged(model, put_classes(), "accuracy", {"--recompute", "1", "--parts", "2"}), 0.95);
  std::filesystem::remove_all(out + "/out.run");
  EXPECT_GE(judged(convnet(), put_images(), "accuracy", {"--recompute", "1"}, {"--channels", "1"}), 0.95);
}

TEST_F(TrainKinds, RowsInTheirOrderAreAnotherRun) {
  const std::string data = put_classes();
  const ProgramResult shuffled = hone_program(training(model, data));
  ASSERT_EQ(shuffled.exit_code, 0) << shuffled.err;
  const std::string bytes = read_file(output());
  const ProgramResult refused = hone_program(training(model, data, {"--resume", "--in-order"}));
  EXPECT_THAT(refused.err, testing::HasSubstr("this run \"in-order = true\""));
  std::filesystem::remove_all(out + "/out.run");
  for (const char* seed : {"1", "2"}) {  // nothing else is drawn here but the new layer
    const ProgramResult ordered = hone_program(training(model, data, {"--in-order", "--seed", seed}));
    ASSERT_EQ(ordered.exit_code, 0) << ordered.err;
    std::filesystem::remove_all(out + "/out.run");
    EXPECT_NE(read_file(output()), bytes);
  }
}

TEST_F(TrainKinds, AKilledTrainingOnImagesGoesOnToTheSameBits) {
  const std::string images = put_images(), network = convnet();
  const Arguments arguments = training(
      network, images,
      {"--channels", "1", "--flip", "--crop-padding", "1", "--checkpoint-every", "1", "--epochs", "30", "--resume"});
  goes_on_to_the_same_bits(arguments);
}

TEST_F(TrainKinds, AKilledTrainingInFewBitsFromATeacherGoesOnToTheSameBits) {
  const std::string data = put_classes(), teacher = folder / "teacher.safetensors";
  ASSERT_EQ(hone_program({"train", model, "--data", data, "-o", teacher, "--batch", "16", "--rate", "5e-3"}).exit_code,
            0);
  const Arguments arguments = training(
      teacher, data,
      {"--teacher", teacher, "--distill-weight", "0.7", "--distill-layers",
       "encoder.layer.0.output.dense=encoder.layer.0.intermediate.dense", "--qat", "op:linear=int4.channel", "--qat",
       "op:linear.in=int8", "--learn-scales", "--checkpoint-every", "1", "--epochs", "12", "--resume"});
  goes_on_to_the_same_bits(arguments);
}

// What it said it would take before the first step, and what the system counted: within a twentieth.
TEST_F(TrainKinds, ThePlannedMemoryIsWhatItTakes) {
  const std::string config =
      folder.put("large/config.json",
                 R"({"architectures": ["BertForSequenceClassification"], "model_type": "bert", "hidden_act": "gelu",
          "vocab_size": 20000, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "num_labels": 2,
          "intermediate_size": 1024, "max_position_embeddings": 128, "type_vocab_size": 2, "layer_norm_eps": 1e-12})");
  const std::string large = folder / "large.safetensors";
  const ProgramResult built = hone_program({"build", config, "-o", large});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  // Rows of tokens, as long as the longest, with a split to judge by.
  constexpr int64_t kRows = 96, kLength = 64;
  Philox random(3);
  std::vector<int64_t> ids, mask(kRows * kLength, 1), labels;
  for (int64_t i = 0; i < kRows * kLength; ++i) ids.push_back(random.below(20000));
  for (int64_t i = 0; i < kRows; ++i) labels.push_back(i % 2);
  const std::string data = folder / "tokens.npz";
  write_npz(data,
            std::vector<NamedTensor>{
                {"input_ids", Tensor::of<int64_t>({kRows, kLength}, ids)},
                {"attention_mask", Tensor::of<int64_t>({kRows, kLength}, mask)},
                {"token_type_ids", Tensor::of<int64_t>({kRows, kLength}, std::vector<int64_t>(kRows * kLength, 0))},
                {"label", Tensor::of<int64_t>({kRows}, labels)}});
  for (const char* batch : {"2", "32"}) {  // weights, or activations, are most of it
    SCOPED_TRACE(batch);
    const ProgramResult trained =
        hone_program({"train", large, "--data", data, "-o", output(), "--folder", out + "/" + batch, "--epochs", "2",
                      "--batch", batch, "--validation-fraction", "0.34", "--json"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    const Json values = parse_json(trained.out, "train").at("training");
    const double planned = values.at("planned"), measured = values.at("resident");
    EXPECT_GT(measured, 100e6);
    EXPECT_NEAR(planned, measured, 0.05 * measured);
  }
}

}  // namespace
}  // namespace hone
