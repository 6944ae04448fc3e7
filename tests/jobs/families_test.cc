// Folders of Hugging Face's, opened as they are: each of tests/data/families gives what transformers computed on it in
// f64 (bench/peers/families.py, which says what the bounds are).
#include <gtest/gtest.h>

#include "jobs/load_model.h"
#include "ops/evaluate.h"
#include "tests/jobs/golden_family.h"

namespace hone {
namespace {

class Families : public testing::TestWithParam<std::string> {
 protected:
  const std::string folder_ = test::family_folder(GetParam());
};

TEST_P(Families, GiveWhatTransformersComputes) {
  const test::Golden golden(folder_);
  std::vector<std::string> taken;
  for (const auto& [name, tensor] : golden.inputs) taken.push_back(name);
  const Model model = load_model(folder_, taken);
  verify(model.graph);
  const std::vector<Tensor> found = evaluate(model.graph, golden.inputs);
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < model.graph.outputs().size(); ++i) places[model.graph.outputs()[i].label] = i;
  for (const auto& [name, tensor] : golden.outputs) {
    ASSERT_TRUE(places.contains(name)) << "no output " << name;
    const Tensor& output = found[places.at(name)];
    ASSERT_EQ(output.shape(), tensor.shape()) << name;
    const std::vector<double> got = output.to_doubles(), want = tensor.to_doubles();
    const double bound = golden.bounds.at(name).to_doubles()[0];
    for (size_t i = 0; i < want.size(); ++i)
      if (golden.counts(name, tensor.shape(), i)) {
        ASSERT_NEAR(got[i], want[i], bound) << name << "[" << i << "]";
      }
  }
}

// No tensor of a folder is left unread, but for counts of batches, what stands for masked parts in pre-training, and
// decoders behind encoders.
TEST_P(Families, ReadEveryTensor) {
  Model model = load_model(folder_);
  const bool is_encoder = !GetParam().starts_with("opt");  // whose decoder is all that there is
  std::erase_if(model.unused, [&](const std::string& name) {
    return name.ends_with("num_batches_tracked") || name.ends_with("mask_token") ||
           name.ends_with("masked_spec_embed") ||
           (is_encoder && (name.starts_with("decoder.") || name.starts_with("model.decoder."))) ||
           name == "cls.predictions.bias";  // of words that have a matrix of their own, with its own bias
  });
  EXPECT_EQ(model.unused, std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(, Families, testing::ValuesIn(test::family_folders()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace hone
