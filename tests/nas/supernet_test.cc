// hone search with a supernet: candidates that begin with a part of its weights, the file that keeps it, and what is
// refused before anything is trained.
#include "nas/supernet.h"

#include "base/hash.h"
#include "base/stop.h"
#include "io/numpy.h"
#include "nas/candidate_results.h"
#include "nas/search_model.h"
#include "nas/search_space.h"
#include "study/study.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"
#include "train/loop/checkpoint.h"

namespace hone {
namespace {

using test::error_of;
using testing::Contains;
using testing::HasSubstr;

Json json(const std::string& text) { return parse_json(text, "test"); }

class SupernetTest : public JobsTest {
 protected:
  // Rows of a class for the sign of the product of their first two numbers.
  std::string put_numbers(int64_t rows = 320) const {
    Philox random(3);
    std::vector<float> x;
    std::vector<int64_t> labels;
    for (int64_t row = 0; row < rows; ++row) {
      for (int i = 0; i < 4; ++i) x.push_back(random.uniform(-1.0f, 1.0f));
      labels.push_back(x[x.size() - 4] * x[x.size() - 3] > 0);
    }
    write_npz(folder / "numbers.npz", std::vector<NamedTensor>{{"features", Tensor::of<float>({rows, 4}, x)},
                                                               {"labels", Tensor::of<int64_t>({rows}, labels)}});
    return folder / "numbers.npz";
  }
  // 8x8 pixels, of one class brighter.
  std::string put_pixels(int64_t rows = 96) const {
    Philox random(4);
    std::vector<float> x;
    std::vector<int64_t> labels;
    for (int64_t row = 0; row < rows; ++row) {
      labels.push_back(random.below(2));
      for (int i = 0; i < 64; ++i) x.push_back(random.uniform(0.0f, 1.0f) + static_cast<float>(labels.back()));
    }
    write_npz(folder / "pixels.npz", std::vector<NamedTensor>{{"pixel_values", Tensor::of<float>({rows, 1, 8, 8}, x)},
                                                              {"labels", Tensor::of<int64_t>({rows}, labels)}});
    return folder / "pixels.npz";
  }

  Json of_numbers(const std::string& more = "{}") const {
    Json all = json(R"({"model": "mlp", "objective": "loss", "trials": 4, "sampler": "grid",
                        "build": {"num_features": 4, "num_classes": 2},
                        "reading": {"validation-fraction": 0.25},
                        "supernet": {"steps": 120, "rate": 0.02, "sub-nets": 1, "points": 3},
                        "parameters": {"build.widths": ["[8]", "[16]", "[24]", "[32]"]}})");
    all["data"] = put_numbers();
    const Json over = json(more);
    for (const auto& [key, value] : over.items())
      if (value.is_null()) all.erase(key);
      else all[key] = value;
    return all;
  }
  SearchModelOptions options(const Json& tree) const { return {.tree = tree, .source = "s.toml", .storage = place}; }
  std::vector<double> losses(const std::string& study = "study") const {
    const auto storage = open_storage(place);
    std::map<double, double> by_width;  // in the order of the choices
    for (const TrialPtr& t : *storage->trials(find_study(*storage, study).id)) {
      EXPECT_EQ(t->state, TrialState::complete) << t->user_attributes.dump();
      if (t->state == TrialState::complete) by_width[t->parameters.at(0).value] = t->values.at(0);
    }
    std::vector<double> all;
    for (const auto& [width, loss] : by_width) all.push_back(loss);
    return all;
  }
  std::string refused(const Json& tree) const {
    return error_of([&] { search_model(options(tree)); });
  }
  std::string place = folder / "s.db";
};

// Chance is ln 2; alone, networks get as many steps as there were of the supernet for each of the four.
TEST_F(SupernetTest, CandidatesBeginWithWhatWasLearned) {
  const SearchResult result = search_model(options(of_numbers(R"({"studies": {
      "begun": {"supernet": {"steps": 120, "rate": 0.02, "sub-nets": 1, "points": 3, "seed": 2}},
      "untrained": {}}, "supernet": null})")));
  EXPECT_THAT(result.studies.at(0).notes, Contains(HasSubstr("begun: supernet: 120 steps with 4 networks, loss 0.")));
  const std::vector<double> begun = losses("begun"), untrained = losses("untrained");
  ASSERT_EQ(begun.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_LT(begun[i], 0.5) << i;
    EXPECT_LT(begun[i], untrained[i]) << i;
  }
}

TEST_F(SupernetTest, AFileKeepsItAndAnInterruptedOneGoesOn) {
  const std::string file = folder / "supernet.safetensors";
  Json tree = of_numbers();
  search_model(options(tree));
  const std::vector<double> whole = losses();

  tree["supernet"]["file"] = file;
  tree["supernet"]["checkpoint-every"] = 50;
  place = folder / "kept.db";
  int told = 0;
  const TaskContext interrupts{.progress = [&](const std::string& next) {
    if (next.find("supernet: step") != std::string::npos && ++told == 70) throw Stopped(Stop::interrupted);
  }};
  EXPECT_THROW(search_model(options(tree), interrupts), Stopped);
  EXPECT_EQ(load_checkpoint(file).progress.at("step"), 70);
  EXPECT_THAT(search_model(options(tree)).studies.at(0).notes, Contains(HasSubstr("resumed after step 70")));
  EXPECT_EQ(losses(), whole);  // bit for bit

  place = folder / "third.db";  // another study reads it
  const std::string bytes = sha256_of_file(file);
  EXPECT_THAT(search_model(options(tree)).studies.at(0).notes, Contains(HasSubstr("120 steps, read from " + file)));
  EXPECT_EQ(losses(), whole);
  EXPECT_EQ(sha256_of_file(file), bytes);

  place = folder / "fourth.db";
  tree["supernet"]["rate"] = 0.01;
  EXPECT_THAT(refused(tree), HasSubstr("was written with other options: it has \"rate = 0.02\""));
  tree["supernet"]["rate"] = 0.02;
  tree["parameters"] = json(R"({"build.widths": ["[8]", "[40]"]})");
  EXPECT_THAT(refused(tree), HasSubstr("is of another model"));
  folder.put("supernet.safetensors", "no such file");
  EXPECT_THAT(refused(of_numbers(fmt::format(R"({{"supernet": {{"steps": 9, "file": "{}"}}}})", file))),
              HasSubstr(file));
}

TEST_F(SupernetTest, ACandidateIsMadeAgainToTheSameBytes) {
  SearchModelOptions o = options(of_numbers(R"({"train": {"steps": 3, "batch": 16}})"));
  o.output = folder / "best.safetensors";
  search_model(o);
  const auto storage = open_storage(place);
  const TrialList all = *storage->trials(find_study(*storage, "study").id);
  const int64_t number = pareto_front(all, std::vector{Direction::minimize}).at(0)->number;
  const std::string best = sha256_of_file(o.output);
  o.output = folder / "again.safetensors";
  rebuild_trial(o, number);
  EXPECT_EQ(sha256_of_file(o.output), best);
  EXPECT_EQ(parse_json(load_model(o.output).files.at("config.json"), "config.json").at("id2label").size(), 2u);
}

// What a candidate of convolutions begins with has batch norms that were measured on its own values: the largest
// network's would put them elsewhere.
TEST_F(SupernetTest, BatchNormsOfPartsAreMeasuredAnew) {
  Json tree = json(R"({"model": "resnet18", "objective": "accuracy", "trials": 2, "sampler": "grid",
                       "build": {"num_channels": 1, "image_size": 8, "num_classes": 2, "stem": "small",
                                 "widths": [4, 8], "depths": [1, 1]},
                       "reading": {"validation-fraction": 0.25},
                       "supernet": {"steps": 30, "batch": 16, "rate": 0.01, "sub-nets": 1, "points": 2},
                       "parameters": {"build.widths.1": [4, 8], "build.depths.0": [1, 2]}})");
  tree["data"] = put_pixels();
  tree["trials"] = 4;
  search_model(options(tree));
  for (const double accuracy : losses()) EXPECT_GT(accuracy, 0.9);
}

TEST_F(SupernetTest, LayersThatAreLeftOutAndHeads) {
  const std::string config = folder.put("bert.json", R"({"architectures": ["BertForSequenceClassification"],
      "model_type": "bert", "vocab_size": 150, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
      "intermediate_size": 32, "hidden_act": "gelu", "max_position_embeddings": 16, "type_vocab_size": 2,
      "num_labels": 2})");
  Json tree = json(R"({"objective": "accuracy", "trials": 6, "sampler": "random", "vocabulary": 150,
                       "supernet": {"steps": 80, "batch": 16, "rate": 0.005, "sub-nets": 2, "points": 4},
                       "parameters": {"build.num_hidden_layers": [1, 2], "build.hidden_size": [8, 16],
                                      "build.num_attention_heads": [1, 2]}})");
  tree["model"] = config;
  tree["data"] = put_texts({.rows = 160});
  search_model(options(tree));
  const auto storage = open_storage(place);
  for (const TrialPtr& t : *storage->trials(find_study(*storage, "study").id)) {
    ASSERT_EQ(t->state, TrialState::complete) << t->user_attributes.dump();
    EXPECT_GT(t->values.at(0), 0.8);
  }
}

TEST_F(SupernetTest, RefusesBeforeAnythingIsTrained) {
  const auto of = [&](const std::string& more) { return refused(of_numbers(more)); };
  EXPECT_THAT(of(R"({"supernet": {"stesp": 9}})"), HasSubstr("[supernet]: unknown option stesp"));
  EXPECT_THAT(of(R"({"supernet": {"steps": 9, "lora": "x"}})"), HasSubstr("unknown option lora"));
  EXPECT_THAT(of(R"({"supernet": {"rate": 0.1}})"), HasSubstr("give steps, at least 1"));
  EXPECT_THAT(of(R"({"supernet": {"steps": 9, "sub-nets": 9, "points": 3}})"), HasSubstr("sub-nets are 9 of 3 points"));
  EXPECT_THAT(of(R"({"supernet": {"steps": 9, "statistics": 0}})"), HasSubstr("at least 1 batch"));
  EXPECT_THAT(of(R"({"supernet": {"steps": 9, "optimizer": "adm"}})"), HasSubstr("unknown optimizer adm"));
  EXPECT_THAT(of(R"({"supernet": 3})"), HasSubstr("supernet is no table"));
  EXPECT_THAT(of(R"({"parameters": {"train.rate": [0.1, 0.2]}, "train": {"steps": 3}})"),
              HasSubstr("no parameter begins with build. or layer."));
  EXPECT_THAT(of(R"({"data": null, "objective": "bits"})"), HasSubstr("[supernet] is trained on data"));
  EXPECT_THAT(of(R"({"parameters": {"build.num_features": [2, 4]}, "build": {"num_classes": 2}})"),
              HasSubstr("the smallest network of the space: it takes features: f32[B,2], and the largest network"));
  EXPECT_FALSE(std::filesystem::exists(place));
}

TEST(CornerPlan, OfListsEachElement) {
  Space space;
  space.add({"build.widths", category_distribution("build.widths", {"[8,64]", "[16,32]", "[4,4,4]"})});
  space.add({"build.activation", category_distribution("build.activation", {"relu", "gelu"})});
  space.add({"layer.layers.2", category_distribution("layer.layers.2", {"linear", "identity"})});
  space.add({"build.num_classes", integer_distribution("build.num_classes", 2, 10)});
  space.add({"train.rate", real_distribution("train.rate", 0.1, 0.2)});
  const TrialPlan fixed = plan_of({.model = "mlp"}, Json::object());
  const TrialPlan largest = corner_plan(space, fixed, Corner::largest),
                  smallest = corner_plan(space, fixed, Corner::smallest);
  EXPECT_EQ(largest.build.at("widths"), "[16,64,4]");
  EXPECT_EQ(smallest.build.at("widths"), "[4,4]");
  EXPECT_EQ(largest.build.at("activation"), "gelu");
  EXPECT_EQ(largest.build.at("num_classes"), "10");
  EXPECT_EQ(smallest.build.at("num_classes"), "2");
  EXPECT_TRUE(largest.identities.empty());
  EXPECT_EQ(smallest.identities, std::vector<std::string>{"layers.2"});
  EXPECT_EQ(largest.train.rate, 0);
}

}  // namespace
}  // namespace hone
