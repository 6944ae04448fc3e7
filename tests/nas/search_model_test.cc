// hone search as a job: studies over figures that need no data, which take milliseconds, and what they refuse.
#include "nas/search_model.h"

#include <set>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "nas/candidate_results.h"
#include "nas/search_config.h"
#include "nas/search_space.h"
#include "study/samplers/make_sampler.h"
#include "study/study.h"
#include "tests/jobs/jobs_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

using testing::HasSubstr;

Json json(const std::string& text) { return parse_json(text, "test"); }

class SearchJobTest : public testing::Test {
 protected:
  // A small network whose formats and width are searched for the fewest bits.
  Json tree(const std::string& more = "{}") const {
    Json all = json(R"({"model": "mlp", "objective": "bits", "trials": 6, "sampler": "random",
                        "build": {"num_features": 16, "num_classes": 2, "widths": [32, 32]},
                        "parameters": {"quantize.to": ["int8", "int4"], "build.widths.1": [16, 32]}})");
    const Json over = json(more);
    for (const auto& [key, value] : over.items()) all[key] = value;
    return all;
  }
  SearchModelOptions options(const Json& of, bool resume = false) const {
    return {.tree = of, .source = "s.toml", .storage = place, .resume = resume};
  }
  std::string error_of(const SearchModelOptions& of) const {
    try {
      search_model(of);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  TrialList trials(const std::string& study = "study") const {
    const auto storage = open_storage(place);
    return *storage->trials(find_study(*storage, study).id);
  }
  TemporaryFolder folder;
  std::string place = folder / "s.db", out = folder / "out.safetensors";
};

TEST_F(SearchJobTest, KeepsTheBestModelWhole) {
  SearchModelOptions o = options(tree());
  o.output = out;
  const SearchedStudy study = search_model(o).studies.at(0);
  EXPECT_EQ(study.name, "study");
  ASSERT_EQ(study.ranked().size(), 6u);
  const Model best = load_model(out);
  double least = INFINITY;
  for (const TrialPtr& t : trials()) least = std::min(least, t->values.at(0));
  const Sizes all = sizes(best.graph);
  EXPECT_DOUBLE_EQ(8 * static_cast<double>(all.weight_bytes) / static_cast<double>(all.parameters), least);
  EXPECT_EQ(study.ranked()[0]->values[0], least);
}

TEST_F(SearchJobTest, EvaluatesIdenticalCandidatesOnce) {
  search_model(options(tree(R"({"trials": 20})")));
  std::set<std::string> candidates;
  int evaluated = 0;
  for (const TrialPtr& t : trials()) {
    candidates.insert(t->user_attributes.at(kCandidateKey).get<std::string>());
    evaluated += !t->user_attributes.contains(kSameAsKey);
    EXPECT_EQ(t->values[0], figures_of(*t).at("bits"));
  }
  EXPECT_EQ(candidates.size(), 4u);
  EXPECT_EQ(evaluated, 4);
  // Another study of the same storage knows them, too: also where what was a parameter is fixed now.
  SearchModelOptions other =
      options(tree(R"({"quantize": {"to": "int4"}, "parameters": {"build.widths.1": [16, 32]}})"));
  other.study = "other";
  search_model(other);
  for (const TrialPtr& t : trials("other")) EXPECT_TRUE(t->user_attributes.contains(kSameAsKey));
}

TEST_F(SearchJobTest, IsTheSameBitForBitAlsoInTwoRuns) {
  const auto values = [&](const std::string& at, std::initializer_list<int> parts) {
    place = at;
    for (const int n : parts) {
      SearchModelOptions o = options(tree(fmt::format(R"({{"trials": {}, "sampler": "tpe", "parameters":
          {{"format.layers.0.weight": ["int{{2..8}}"], "format.layers.2.weight": ["int{{2..8}}"]}}}})",
                                                      n)),
                                     true);
      search_model(o);
    }
    std::vector<std::vector<double>> all;
    for (const TrialPtr& t : trials()) {
      all.push_back(t->values);
      for (const TrialParameter& p : t->parameters) all.back().push_back(p.value);
    }
    return all;
  };
  const auto whole = values(folder / "a.db", {24});
  EXPECT_EQ(whole.size(), 24u);
  EXPECT_EQ(whole, values(folder / "b.db", {9, 15, 24}));
}

TEST_F(SearchJobTest, GoesOnAfterATrialThatFails) {
  // 16 channels of the first layer can't be pruned to heads: an MLP has none.
  search_model(options(tree(R"({"trials": 12, "parameters": {"quantize.to": ["int8", "mxint8"],
                                "prune.structure": ["none", "heads"]}, "prune": {"sparsity": 0.5}})")));
  int failed = 0, complete = 0;
  for (const TrialPtr& t : trials()) {
    complete += t->state == TrialState::complete;
    if (t->state != TrialState::failed) continue;
    ++failed;
    EXPECT_NE(t->user_attributes.at("error"), "");
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(complete, 0);
  EXPECT_EQ(failed + complete, 12);
}

TEST_F(SearchJobTest, SeveralObjectivesKeepAFront) {
  SearchModelOptions o = options(tree(R"({"objective": ["bits", "parameters"], "sampler": "grid", "trials": 4})"));
  o.output = folder / "front";
  search_model(o);
  const auto best = pareto_front(trials(), std::vector{Direction::minimize, Direction::minimize});
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(o.output)) names.insert(entry.path().filename());
  EXPECT_EQ(names.size(), best.size());
  for (const TrialPtr& t : best) EXPECT_TRUE(names.contains(fmt::format("study-{}.safetensors", t->number)));
  o.output = out;
  o.study = "another";
  EXPECT_THAT(error_of(o), HasSubstr("-o is a folder"));
}

TEST_F(SearchJobTest, MakesACandidateAgainToTheSameBytes) {
  SearchModelOptions o = options(tree());
  o.output = out;
  search_model(o);
  const auto all = trials();
  const TrialPtr best = pareto_front(all, std::vector{Direction::minimize}).at(0);
  o.output = folder / "again.safetensors";
  const RebuiltTrial again = rebuild_trial(o, best->number);
  EXPECT_EQ(again.now.at("bits"), best->values[0]);
  EXPECT_EQ(sha256_of_file(o.output), sha256_of_file(out));
  EXPECT_THAT(test::error_of([&] { rebuild_trial(o, 77); }), HasSubstr("has no trial 77; it has 6"));
}

TEST_F(SearchJobTest, WritesTheBestAgainWhereItIsGone) {
  SearchModelOptions o = options(tree());
  o.output = out;
  search_model(o);
  const std::string before = sha256_of_file(out);
  std::filesystem::remove(out);
  o.resume = true;
  search_model(o);  // no trial is left
  EXPECT_EQ(trials().size(), 6u);
  EXPECT_EQ(sha256_of_file(out), before);
}

TEST_F(SearchJobTest, SeveralStudiesOfOneFile) {
  const SearchResult result =
      search_model(options(tree(R"({"seeds": [1, 2], "studies": {"random": {}, "grid": {"sampler": "grid",
      "trials": 4}}})")));
  EXPECT_EQ(trials("random-1").size(), 6u);
  EXPECT_EQ(trials("grid-2").size(), 4u);
  ASSERT_EQ(result.studies.size(), 4u);
  EXPECT_EQ(result.studies[0].group, result.studies[1].group);
  EXPECT_NE(result.studies[0].group, result.studies[3].group);
  SearchModelOptions one = options(tree(R"({"studies": {"a": {}, "b": {"trials": 5}}})"));
  one.study = "b";
  one.flags = json(R"({"trials": 3})");
  search_model(one);
  EXPECT_EQ(trials("b").size(), 3u);
  one.study = "c";
  EXPECT_THAT(error_of(one), HasSubstr("has no study c; it has a, b"));
}

TEST_F(SearchJobTest, BudgetsMakeCandidatesInfeasible) {
  search_model(options(tree(R"({"objective": "-bits", "budget": ["bits<=12"], "trials": 10})")));
  for (const TrialPtr& t : trials()) EXPECT_EQ(t->violation() > 0, figures_of(*t).at("bits") > 12);
}

TEST_F(SearchJobTest, BeginsWithThePointsOfTheBestZeroCostScore) {
  const Json wide = tree(R"({"trials": 4, "parameters": {"build.widths.1": {"low": 1, "high": 64}},
                             "first": {"by": "synflow", "of": 30, "take": 3}})");
  search_model(options(wide));
  const TrialList all = trials();
  ASSERT_EQ(all.size(), 4u);
  // Twice the flow for twice the paths: of 30 widths the largest come first.
  double before = INFINITY;
  for (size_t i = 0; i < 3; ++i) {
    const double flow = figures_of(*all[i]).at("synflow");
    EXPECT_LT(flow, before);
    EXPECT_GT(all[i]->parameters.at(0).value, 40);
    before = flow;
  }
  EXPECT_EQ(trials().size(), 4u);
  search_model(options(tree(R"({"trials": 5, "parameters": {"build.widths.1": {"low": 1, "high": 64}},
                                "first": {"by": "synflow", "of": 30, "take": 3}})"),
                       true));
  EXPECT_EQ(trials().size(), 5u);  // what begins is not enqueued again
}

TEST_F(SearchJobTest, RefusesBeforeAnythingIsDone) {
  const auto refused = [&](const std::string& more) {
    const std::string error = error_of(options(tree(more)));
    const auto storage = open_storage(place);
    EXPECT_TRUE(storage->studies().empty()) << more;
    return error;
  };
  EXPECT_THAT(refused(R"({"budget": "bits<=1"})"), HasSubstr("no candidate meets the budget bits<=1"));
  EXPECT_THAT(refused(R"({"trails": 3})"), HasSubstr("Did you mean trials"));
  EXPECT_THAT(refused(R"({"sampler": "tpee"})"), HasSubstr("Did you mean tpe"));
  EXPECT_THAT(refused(R"({"objective": "accuracy"})"), HasSubstr("give --data"));
  EXPECT_THAT(refused(R"({"parameters": {}})"), HasSubstr("nothing to search"));
  EXPECT_THAT(refused(R"({"parameters": {"build.widths.1": {"low": 9, "high": 3}}})"), HasSubstr("is above high"));
  EXPECT_THAT(refused(R"({"parameters": {"quantize.tto": ["int8"]}})"), HasSubstr("quantize.tto"));
  EXPECT_THAT(refused(R"({"parameters": {"format.layers.7.weight": ["int8"]}})"), HasSubstr("layers.7"));
  EXPECT_THAT(refused(R"({"parameters": {"quantize.to": []}})"), HasSubstr("no choices"));
  EXPECT_THAT(refused(R"({"pruner": "median"})"), HasSubstr("no single metric"));
  EXPECT_THAT(refused(R"({"model": "mlpp"})"), HasSubstr("mlpp"));
  EXPECT_THAT(refused(R"({"sampler": "ilp"})"), HasSubstr("changes the model"));
  EXPECT_THAT(refused(R"({"objective": "snip"})"), HasSubstr("give --data"));
  EXPECT_THAT(refused(R"({"first": {"by": "loss"}})"), HasSubstr("known of trained candidates only"));
  EXPECT_THAT(refused(R"({"first": {"by": "synflow", "of": 2, "take": 3}})"), HasSubstr("take 3 of 2"));
  EXPECT_THAT(refused(R"({"sampler": "grid", "sampler-option": "max-points=3"})"), HasSubstr("4 points"));
}

TEST_F(SearchJobTest, AStudyOfSomethingElseIsNotGoneOnWith) {
  search_model(options(tree()));
  EXPECT_THAT(error_of(options(tree())), HasSubstr("--resume"));
  const auto refused = [&](const char* more) { return error_of(options(tree(more), true)); };
  EXPECT_THAT(refused(R"({"model": "convnet", "build": {}, "parameters": {"quantize.to": ["int8", "int4"]}})"),
              HasSubstr("has another model"));
  EXPECT_THAT(refused(R"({"objective": "bytes"})"), HasSubstr("has another objective"));
  EXPECT_THAT(refused(R"({"budget": "bits<=30"})"), HasSubstr("has another budget"));
  EXPECT_THAT(refused(R"({"parameters": {"quantize.to": ["int8", "int2"], "build.widths.1": [16, 32]}})"),
              HasSubstr("has another parameter quantize.to"));
  EXPECT_THAT(refused(R"({"parameters": {"quantize.to": ["int8", "int4"]}})"), HasSubstr("build.widths.1"));
  EXPECT_EQ(trials().size(), 6u);
}

// What the examples say how to make need not be there.
void leave_out_data(Json& tree) {
  if (!tree.is_structured()) return;
  if (tree.is_object()) {
    tree.erase("data");
    const std::string model = tree.value("model", "");
    if (model.find('/') != std::string::npos && !std::filesystem::exists(model)) tree["model"] = "mlp";
  }
  for (Json& item : tree) leave_out_data(item);
}

TEST(SearchExamples, AreReadAndNameWhatThereIs) {
  for (const char* name : {"searches/supernet", "labs/lab2/nas", "labs/lab2/compression", "labs/lab3/precision",
                           "labs/lab3/formats", "labs/lab3/lambda"}) {
    const std::string path = fmt::format("{}/examples/{}.toml", test::kSourceDir, name);
    Json tree = read_search_config(path);
    leave_out_data(tree);
    for (const SearchStudy& study : studies_of(tree, Json::object(), path, "", {})) {
      EXPECT_GT(study.parameters.size(), 0u) << study.source;
      // Values of every parameter are accepted, but for the model's own names.
      for (const auto& [name, range] : study.parameters.items()) {
        if (!name.starts_with("train.")) continue;
        EXPECT_NO_THROW(plan_of(study.fixed, {{name, range.at("low")}})) << name;
      }
      EXPECT_NE(make_sampler(study.sampler, study.seed, study.sampler_options), nullptr);
    }
  }
}

TEST_F(SearchJobTest, WorkersShareAStudy) {
  SearchModelOptions o = options(tree(R"({"trials": 24})"));
  o.workers = 3;
  search_model(o);
  std::set<int64_t> numbers;
  for (const TrialPtr& t : trials()) {
    EXPECT_EQ(t->state, TrialState::complete);
    numbers.insert(t->number);
  }
  EXPECT_EQ(numbers.size(), 24u);
}

}  // namespace
}  // namespace hone
