// A figure means the same everywhere: what hone train says of validation rows is what hone evaluate says of them, of
// every kind of rows and every head, whichever file was written; and what shaped the rows is said.
#include "base/philox.h"
#include "io/numpy.h"
#include "tests/cli/train_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;

class Figures : public TrainTest {
 protected:
  // `metric` of the rows of "validation", by both verbs and of both files. Few steps: a figure between right and wrong.
  void expect_same(const std::string& model, const std::string& data, const std::string& metric,
                   const Arguments& of_training, const Arguments& of_data = {}) {
    for (const char* ending : {".safetensors", ".onnx"}) {
      SCOPED_TRACE(ending);
      const std::string written = out + "/" + metric + ending;
      const ProgramResult trained =
          hone_program(Arguments{"train", model, "--data", data, "-o", written, "--batch", "16", "--epochs", "1",
                                 "--metric", metric, "--folder", out + "/run" + ending, "--json"} +
                       of_training + of_data);
      ASSERT_EQ(trained.exit_code, 0) << trained.err;
      const ProgramResult judged = hone_program(
          Arguments{"evaluate", written, "--data", data, "--split", "validation", "--metric", metric, "--json"} +
          of_data);
      ASSERT_EQ(judged.exit_code, 0) << judged.err;
      const double by_train = parse_json(trained.out, "train").at("validation").at(0).at("metric"),
                   by_evaluate = parse_json(judged.out, "evaluate").at("evaluation").at(0).at(metric);
      EXPECT_NEAR(by_evaluate, by_train, 1e-5 * std::abs(by_train));
      std::filesystem::remove_all(out);
      std::filesystem::create_directories(out);
    }
  }

  // Without the breaks that fit it to a terminal.
  static std::string on_one_line(const std::string& text) {
    std::string line;
    for (const char c : text)
      if (c != '\n' && c != ' ') line += c;
      else if (!line.ends_with(' ')) line += ' ';
    return line;
  }

  // Long texts, of which the first words tell what is right.
  std::string put_rows(const std::string& header, const std::function<std::string(int row)>& rest) const {
    std::string csv = header + ",split\n";
    for (int i = 0; i < 64; ++i)
      csv += fmt::format("the {} and {} that were from some {} with this word,{},{}\n", i % 3 ? "hot" : "other",
                         i % 5 < 2 ? "house" : "some", i % 2 ? "hot" : "house", rest(i),
                         i % 4 == 3 ? "validation" : "train");
    return folder.put("rows.csv", csv);
  }
};

TEST_F(Figures, OfClassesOfTexts) {
  const std::string data = put_rows("text,label", [](int i) { return i % 3 ? "warm" : "cold"; });
  expect_same(model, data, "cross_entropy", {"--max-length", "6"});
  expect_same(model, data, "cross_entropy", {"--head", "add", "--pooling", "first"});
}

TEST_F(Figures, OfClassesInAnotherOrderThanTheirNames) {
  const std::string data = put_rows("text,label", [](int i) { return i % 3 ? "warm" : i % 2 ? "cold" : "mild"; });
  const std::string classes = "--classes";
  expect_same(model, data, "accuracy", {classes, "warm", classes, "cold", classes, "mild", "--max-length", "8"});
}

TEST_F(Figures, OfSeveralClassesOfAText) {
  const std::string data = put_rows("text,labels", [](int i) {
    return i % 3 == 0 ? "warm home" : i % 3 == 1 ? "home" : "warm";
  });
  expect_same(model, data, "f1", {"--max-length", "6"});
}

TEST_F(Figures, OfNumbers) {
  const std::string data = put_rows("text,score", [](int i) { return fmt::format("{}", 0.5 * (i % 3)); });
  expect_same(model, data, "mse", {"--max-length", "6"});
}

TEST_F(Figures, OfPairsOfTexts) {
  const std::string numbers = put_rows("text,text2,score", [](int i) {
    return fmt::format("this {} word were,{}", i % 2 ? "hot" : "some", i % 3 ? 1 : 0);
  });
  expect_same(model, numbers, "mse", {"--max-length", "12"});
  const std::string classes = put_rows("text,text2,label", [](int i) {
    return fmt::format("this {} word were,{}", i % 2 ? "hot" : "some", i % 3 ? "same" : "other");
  });
  expect_same(model, classes, "cross_entropy", {"--max-length", "12"});
}

TEST_F(Figures, OfWords) {
  bert.pools = false;
  const std::string words = folder / "words";
  bert.write(words);
  std::string data;
  for (int i = 0; i < 64; ++i)
    data += fmt::format(R"({{"tokens": ["the", "{}", "and", "{}"], "tags": ["O", "{}", "O", "{}"], "split": "{}"}})"
                        "\n",
                        i % 3 ? "hot" : "some", i % 2 ? "house" : "word", i % 3 ? "WARM" : "O", i % 2 ? "HOME" : "O",
                        i % 4 == 3 ? "validation" : "train");
  expect_same(words, folder.put("words.jsonl", data), "cross_entropy", {"--max-length", "5"});
}

// Of another size than the model has, by their own statistics.
TEST_F(Figures, OfImages) {
  for (const char* split : {"train", "validation"})
    for (bool light : {false, true})
      for (int i = 0; i < 16; ++i)
        folder.put(fmt::format("images/{}/{}/{:02}.png", split, light ? "light" : "dark", i),
                   test::grey_png(13, 11, grey(i, light)));
  expect_same(convnet(), folder / "images", "cross_entropy", {"--image-size", "8", "--flip", "--crop-padding", "1"},
              {"--channels", "1"});
}

TEST_F(Figures, OfArrays) {
  const std::string network = folder / "mlp.safetensors";
  const ProgramResult built =
      hone_program({"build", "mlp", "--set", "num_features=16", "--set", "widths=[8]", "-o", network});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  Philox random(5);
  std::vector<float> x(64 * 16), y;
  for (float& value : x) value = random.normal();
  std::vector<int64_t> classes;
  for (int i = 0; i < 64; ++i) classes.push_back(i % 3), y.push_back(static_cast<float>(i % 3) - 1);
  write_npz(folder / "classes.npz", std::vector<NamedTensor>{{"features", Tensor::of<float>({64, 16}, x)},
                                                             {"label", Tensor::of<int64_t>({64}, classes)}});
  write_npz(folder / "numbers.npz", std::vector<NamedTensor>{{"features", Tensor::of<float>({64, 16}, x)},
                                                             {"target", Tensor::of<float>({64}, y)}});
  expect_same(network, folder / "classes.npz", "cross_entropy", {}, {"--validation-fraction", "0.25"});
  expect_same(network, folder / "numbers.npz", "mse", {}, {"--validation-fraction", "0.25"});
}

// What is computed in fewer bits is judged so.
TEST_F(Figures, OfWhatIsTrainedInOtherArithmetic) {
  const std::string data = put_rows("text,label", [](int i) { return i % 3 ? "warm" : "cold"; });
  const std::string written = out + "/bf16.safetensors";
  const ProgramResult trained =
      hone_program({"train", model, "--data", data, "-o", written, "--batch", "16", "--epochs", "1", "--metric",
                    "cross_entropy", "--compute", "bf16", "--json"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const ProgramResult judged = hone_program(
      {"evaluate", written, "--data", data, "--split", "validation", "--metric", "cross_entropy", "--json"});
  ASSERT_EQ(judged.exit_code, 0) << judged.err;
  const double by_train = parse_json(trained.out, "train").at("validation").at(0).at("metric"),
               by_evaluate = parse_json(judged.out, "evaluate").at("evaluation").at(0).at("cross_entropy");
  EXPECT_NEAR(by_evaluate, by_train, 1e-3 * by_train);
}

TEST_F(Figures, EveryVerbCutsTextsAsTrainingDidAndSaysSo) {
  const std::string data = put_rows("text,label", [](int i) { return i % 3 ? "warm" : "cold"; });
  const std::string trained = folder / "trained.safetensors";
  const ProgramResult made = hone_program(
      {"train", model, "--data", data, "-o", trained, "--batch", "16", "--epochs", "1", "--max-length", "6"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::vector<Arguments> verbs{{"evaluate", trained, "--data", data},
                                     {"bench", trained, "--no-probe", "--seq", "6", "--seconds", "0.1", "--data", data},
                                     {"squeeze", trained, "--to", "int8", "--seq", "6", "--seconds", "0.1", "--data",
                                      data, "-o", out + "/small.safetensors"},
                                     {"sweep", trained, "--formats", "int8", "--data", data, "-o", out + "/sweep"}};
  for (const Arguments& verb : verbs) {
    SCOPED_TRACE(verb[0]);
    const ProgramResult as_trained = hone_program(verb), longer = hone_program(verb + Arguments{"--max-length", "9"});
    EXPECT_EQ(as_trained.exit_code, 0) << as_trained.err;
    EXPECT_EQ(longer.exit_code, 0) << longer.err;
    EXPECT_THAT(on_one_line(as_trained.out), HasSubstr("cut to 6 tokens, as in training"));
    EXPECT_THAT(on_one_line(longer.out), HasSubstr("cut to 9 tokens (--max-length)"));
  }
  const ProgramResult refused = hone_program(verbs[0] + Arguments{"--max-length", "65"});
  EXPECT_THAT(refused.err, HasSubstr("max-length is 65; the model takes 64 tokens"));
}

// Norms are folded where a model is quantized, and apart where it was trained in the format.
TEST_F(Figures, BitsAreOfTheSameTensorsTrainedOrQuantized) {
  const ProgramResult swept =
      hone_program({"sweep", convnet(), "--train", "--formats", "int4.channel,int8.channel", "--data", put_images(),
                    "--data-channels", "1", "-o", out + "/sweep", "--json"});
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  const Json rows = parse_json(swept.out, "sweep").at("sweep");
  for (size_t row = 0; row < 4; row += 2) {
    ASSERT_EQ(rows.at(row).at("how"), "quantized");
    ASSERT_EQ(rows.at(row + 1).at("how"), "trained");
    EXPECT_EQ(rows.at(row).at("average_bits"), rows.at(row + 1).at("average_bits"));
  }
}

}  // namespace
}  // namespace hone
