// Calibration files: what is read from each kind, and what each fault in them is called.
#include "jobs/calibration_data.h"

#include "io/numpy.h"
#include "jobs/text_inputs.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

class CalibrationDataTest : public JobsTest {
 protected:
  std::string put_npz(const std::vector<NamedTensor>& arrays) const {
    write_npz(folder / "data.npz", arrays);
    return folder / "data.npz";
  }
  std::string error(const Model& of, const std::string& path, int64_t batch = 2) const {
    return error_of([&] { read_calibration(of, path, batch); });
  }

  static std::vector<int64_t> labels_of(const CalibrationData& data) {
    std::vector<int64_t> labels;
    for (const RightAnswers& right : data.right)
      labels.insert(labels.end(), right.classes.begin(), right.classes.end());
    return labels;
  }
  static Tensor ids(std::vector<int64_t> shape, int64_t first = 1) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < element_count(shape); ++i) values.push_back(first + i);
    return Tensor::of<int64_t>(std::move(shape), values);
  }

  Model encoder = load_model(model);
  Model classifier = load_model(put_graph("mlp.safetensors", R"(
    %x : f32[B,3] = input "image"
    %w : f32[2,3] = const "w" {1, 2, 3, 4, 5, 6}
    %y = linear %x, %w
    return %y)"));
};

TEST_F(CalibrationDataTest, ArraysAreCutIntoBatchesAndConvertedToTheTypesOfTheInputs) {
  const std::string path = put_npz({{"input_ids", ids({5, 4}).converted(DType::i32)},
                                    {"attention_mask", Tensor::of<int64_t>({5, 4}, std::vector<int64_t>(20, 1))}});
  const CalibrationData data = read_calibration(encoder, path, 2);
  const std::vector<NamedTensors>& batches = data.batches;
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(data.samples, 5);
  EXPECT_TRUE(batches[1].at("input_ids").same_bits(ids({2, 4}, 9)));
  EXPECT_TRUE(batches[2].at("input_ids").same_bits(ids({1, 4}, 17)));
}

TEST_F(CalibrationDataTest, OneArrayIsEnoughForOneInput) {
  const Tensor images = Tensor::of<double>({2, 3}, {1, 2, 3, 4, 5, 6});
  write_npy(folder / "images.npy", images);
  const std::vector<NamedTensors> batches = read_calibration(classifier, folder / "images.npy", 8).batches;
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_TRUE(batches[0].at("image").same_bits(images.converted(DType::f32)));
}

TEST_F(CalibrationDataTest, BatchesAreDealtOutWithTheirLabels) {
  const CalibrationData data =
      read_calibration(classifier, put_npz({{"image", Tensor(DType::f32, {5, 3})}, {"labels", ids({5})}}), 2);
  const std::vector<CalibrationData> halves = deal(data, std::array<size_t, 2>{0, 1});
  ASSERT_EQ(halves.size(), 2U);
  EXPECT_EQ(labels_of(halves[0]), (std::vector<int64_t>{1, 2, 5}));
  EXPECT_EQ(labels_of(halves[1]), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(halves[0].samples, 3);
  EXPECT_EQ(halves[1].samples, 2);
  ASSERT_EQ(halves[0].batches.size(), 2U);
  EXPECT_EQ(halves[0].batches[1].at("image").dim(0), 1);
  EXPECT_EQ(halves[1].batches.size(), 1U);
  const std::vector<CalibrationData> many = deal(data, std::array<size_t, 4>{0, 1, 2, 3});
  EXPECT_EQ(labels_of(many[1]), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(many[3].samples, 0);
}

TEST_F(CalibrationDataTest, LabelsComeWithTheSamples) {
  const Tensor images(DType::f32, {2, 3});
  EXPECT_EQ(labels_of(read_calibration(classifier, put_npz({{"image", images}, {"labels", ids({2})}}), 1)),
            (std::vector<int64_t>{1, 2}));
  EXPECT_THAT(error(classifier, put_npz({{"image", images}, {"labels", ids({3})}})),
              HasSubstr("array \"labels\" has 3 numbers for 2 samples"));
  EXPECT_THAT(error(classifier, put_npz({{"image", images}, {"labels", images}})),
              HasSubstr("array \"labels\" is f32[2,3]; integers [samples] are expected"));
}

TEST_F(CalibrationDataTest, TextsBecomeTokensOfTheModel) {
  const std::string path = folder.put("texts.txt", "the first text\n\n  another  \r\nand a third\n");
  const CalibrationData data = read_calibration(encoder, path, 2);
  const std::vector<NamedTensors>& batches = data.batches;
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(data.samples, 3);
  const std::vector<NamedTensors> want{text_inputs(encoder, tokenizer_of(encoder), {"the first text", "another"}),
                                       text_inputs(encoder, tokenizer_of(encoder), {"and a third"})};
  for (size_t i = 0; i < 2; ++i)
    for (const auto& [name, tensor] : want[i]) EXPECT_TRUE(batches[i].at(name).same_bits(tensor)) << name;
}

TEST_F(CalibrationDataTest, AModelThatRunsOneSampleGetsThemOneByOne) {
  const Model fixed = load_model(put_graph("fixed.safetensors", R"(
    %x : f32[1,3] = input "image"
    %y = tanh %x
    return %y)"));
  write_npy(folder / "images.npy", Tensor(DType::f32, {3, 3}));
  EXPECT_EQ(read_calibration(fixed, folder / "images.npy", 2).batches.size(), 3u);
}

TEST_F(CalibrationDataTest, WrongNamesAreListedWithWhatTheModelTakes) {
  EXPECT_THAT(error(encoder, put_npz({{"input_id", ids({1, 4})}, {"attention_mask", ids({1, 4})}})),
              AllOf(HasSubstr("data.npz: array \"input_id\" is no input of the model, which takes "),
                    HasSubstr("input_ids i64[B,S]"), HasSubstr("Did you mean input_ids")));
  EXPECT_THAT(error(encoder, put_npz({{"input_ids", ids({1, 4})}})),
              HasSubstr("data.npz: has no array \"attention_mask\"; the model takes "));
  write_npy(folder / "ids.npy", ids({1, 4}));
  EXPECT_THAT(error(encoder, folder / "ids.npy"), HasSubstr("holds one array, but model takes 2 inputs: "));
}

TEST_F(CalibrationDataTest, WrongShapesTypesAndNumbersNameTheArray) {
  EXPECT_THAT(error(classifier, put_npz({{"image", Tensor(DType::f32, {2, 4})}})),
              AllOf(HasSubstr("data.npz: input \"image\": dimension 1"), HasSubstr("is 4; expected 3")));
  EXPECT_THAT(error(classifier, put_npz({{"image", Tensor(DType::f32, {2})}})),
              HasSubstr("has 1 dimensions; expected [B,3]"));
  EXPECT_THAT(error(classifier, put_npz({{"image", Tensor(DType::i64, {2, 3})}})),
              HasSubstr("array \"image\" is i64[2,3]; the model takes f32[B,3]"));
  EXPECT_THAT(error(encoder, put_npz({{"input_ids", ids({1, 4}, 241)}, {"attention_mask", ids({1, 4})}})),
              HasSubstr("array \"input_ids\" holds 244, but the table that it selects from has 244 rows"));
  EXPECT_THAT(error(encoder, put_npz({{"input_ids", ids({1, 4}, -1)}, {"attention_mask", ids({1, 4})}})),
              HasSubstr("array \"input_ids\" holds -1"));
}

TEST_F(CalibrationDataTest, NoSamplesAndUnequalNumbersOfThemAreRefused) {
  EXPECT_THAT(error(classifier, put_npz({{"image", Tensor(DType::f32, {0, 3})}})),
              HasSubstr("array \"image\" is empty; at least one sample is needed"));
  EXPECT_THAT(error(classifier, put_npz({{"image", Tensor::scalar<float>(1)}})),
              HasSubstr("\"image\" is a single number"));
  EXPECT_THAT(error(classifier, put_npz({})), HasSubstr("has no array \"image\""));
  EXPECT_THAT(error(encoder, put_npz({{"input_ids", ids({2, 4})}, {"attention_mask", ids({3, 4})}})),
              HasSubstr("array \"input_ids\" has 2 samples, but \"attention_mask\" has 3"));
  EXPECT_THAT(error(encoder, folder.put("empty.txt", "\n  \n")), HasSubstr("empty.txt: has no text"));
  EXPECT_EQ(error(classifier, "x.npy", 0), "a batch of 0 samples; at least 1 is needed");
}

TEST_F(CalibrationDataTest, TextsNeedATokenizerAndOtherEndingsAreUnknown) {
  EXPECT_THAT(error(classifier, folder.put("texts.txt", "a text\n")), HasSubstr("has no tokenizer"));
  EXPECT_THAT(error(classifier, folder.put("data.xyz", "?")), HasSubstr("data.xyz: no reader recognises it"));
}

}  // namespace
}  // namespace hone
