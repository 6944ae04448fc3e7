// Lives of candidates: what their steps read, and what is measured of the file.
#include "nas/trial_life.h"

#include "nas/search_model.h"
#include "nas/search_space.h"
#include "study/study.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

class TrialLifeTest : public JobsTest {
 protected:
  TrialPlan plan(const Json& values) const { return plan_of({.model = model}, values); }
};

// Scores of weights by data read them as the study does: here labels stand in a column that only the options name.
TEST_F(TrialLifeTest, PruningReadsTheDataAsTheStudyDoes) {
  LifeOptions options;
  std::string text = "text,kind\n";
  for (int i = 0; i < 24; ++i) text += i % 2 == 0 ? "the hot that,yes\n" : "this house with,no\n";
  options.data = folder.put("kinds.csv", text);
  const std::string out = folder / "out.safetensors";
  for (const char* method : {"wanda", "snip", "movement"}) {
    SCOPED_TRACE(method);
    const TrialPlan pruned =
        plan({{"train.steps", 2}, {"train.batch", 8}, {"prune.sparsity", 0.5}, {"prune.method", method}});
    options.judged.data.reading.label = "kind";
    EXPECT_GT(TrialLife(options).run(pruned, out).at("bytes"), 0);
  }
}

TEST_F(TrialLifeTest, LatencyAndMemoryOfTheFile) {
  LifeOptions options;
  options.figures = {"latency", "memory"};
  options.latency_seconds = 0.05;
  const TrialLife life(options);
  const auto figures = [&](const char* widths) {
    return life.run(plan_of({.model = "mlp"}, {{"build.widths", widths}}), folder / "out.safetensors");
  };
  const Figures small = figures("[32]"), large = figures("[512]");
  EXPECT_GT(small.at("latency"), 0);
  // Weights of 784 to 512 and 10 in f32, as kernels read them, and little beside.
  EXPECT_GT(large.at("memory"), 4 * (784 * 512 + 512 * 10));
  EXPECT_LT(large.at("memory"), 1.1 * 4 * (784 * 512 + 512 * 10));
  EXPECT_LT(small.at("memory"), large.at("memory") / 10);
  EXPECT_FALSE(small.contains("predicted_latency"));
}

TEST_F(TrialLifeTest, ASearchForTheLeastMemoryAndLatency) {
  Json tree = parse_json(R"({"model": "mlp", "objective": "memory", "trials": 3, "sampler": "grid",
      "budget": "latency<=10000", "latency-seconds": 0.05,
      "parameters": {"build.widths": ["[512]", "[32]", "[128]"]}})",
                         "test");
  search_model({.tree = tree, .source = "s.toml", .storage = folder / "s.db"});
  const auto storage = open_storage(folder / "s.db");
  const TrialList trials = *storage->trials(find_study(*storage, "study").id);
  ASSERT_EQ(trials.size(), 3u);
  const TrialPtr best = pareto_front(trials, std::vector{Direction::minimize}).at(0);
  EXPECT_EQ(best->parameters.at(0).distribution->text(best->parameters.at(0).value), "[32]");
  for (const TrialPtr& t : trials) EXPECT_EQ(t->violation(), 0);
  tree["objective"] = "latency";
  search_model({.tree = tree, .source = "s.toml", .storage = folder / "t.db"});
  const auto timed = open_storage(folder / "t.db");
  for (const TrialPtr& t : *timed->trials(find_study(*timed, "study").id)) EXPECT_GT(t->values.at(0), 0);
}

}  // namespace
}  // namespace hone
