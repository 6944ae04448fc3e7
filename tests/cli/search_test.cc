// hone search as a program: a training in each trial, reports, stops.
#include <csignal>
#include <thread>

#include "base/atomic_file.h"
#include "study/study.h"
#include "tests/cli/train_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

class SearchVerb : public TrainTest {
 protected:
  std::string config(const std::string& more = "") {
    return folder.put("search.toml", fmt::format(R"(
model = "convnet"
data = "images"
objective = "accuracy"
trials = 4
{}
[build]
num_channels = 1
image_size = 8
num_classes = 2
[train]
batch = 16
validate-every = 2
[reading]
channels = 1
validation-fraction = 0.25
[parameters]
"build.widths" = ["[4]", "[4,8]"]
"train.steps" = {{low = 4, high = 8}}
"quantize.to" = ["int4", "int8"]
)",
                                                 more));
  }
  TrialList trials(const std::string& study = "study") const {
    const auto storage = open_storage(place);
    return *storage->trials(find_study(*storage, study).id);
  }
  std::string place = folder / "s.db";
};

TEST_F(SearchVerb, TrainsCompressesAndReports) {
  put_images();
  const std::string page = out + "/search.html", best = out + "/best.safetensors";
  const ProgramResult result = hone_program(
      {"search", "--config", config("pruner = \"median\""), "--storage", place, "-o", best, "--report", page});
  expect_done(result);
  EXPECT_THAT(result.out, HasSubstr("chosen by accuracy: trial "));
  for (const TrialPtr& t : trials()) {
    EXPECT_TRUE(t->state == TrialState::complete || t->state == TrialState::pruned) << t->user_attributes.dump();
    EXPECT_FALSE(t->intermediate.empty());
  }
  EXPECT_THAT(read_file(page), HasSubstr("When trials ran"));
  for (const char* outside : {"<link", "src=\"http", "@import"}) EXPECT_THAT(read_file(page), Not(HasSubstr(outside)));
  const ProgramResult judged =
      hone_program({"evaluate", best, "--data", folder / "images", "--channels", "1", "--json"});
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
}

TEST_F(SearchVerb, TrainsAgainWithWeightsAsTheyAreRounded) {
  put_images();
  const std::string more = "sampler = \"grid\"\nstorage-is-a-flag = 1";
  const ProgramResult unknown = hone_program({"search", "--config", config(more)});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("unknown key storage-is-a-flag"));
  const std::string text = read_file(config()) + "\n[retrain]\nsteps = 4\nbatch = 16\n[prune]\nsparsity = 0.5\n";
  const ProgramResult result = hone_program({"search", "--config", folder.put("again.toml", text), "--storage", place,
                                             "--trials", "2", "-o", out + "/best.safetensors"});
  expect_done(result);
  const ProgramResult info = hone_program({"info", out + "/best.safetensors"});
  EXPECT_THAT(info.out, HasSubstr("int"));
}

TEST_F(SearchVerb, AStopPutsTheTrialBackAndResumingRepeatsNone) {
  put_images();
  const std::string text = read_file(config("sampler = \"random\"")) + "\n";
  const std::string file = folder.put("stopped.toml", text);
  const Arguments arguments{"search", "--config", file, "--storage", place, "--trials", "200"};
  RunningProgram program(HONE_PROGRAM, arguments);
  const bool alive = program.until([&] {
    if (!std::filesystem::exists(place)) return false;
    try {
      return trials().size() >= 3;
    } catch (const Error&) {
      return false;  // the file is being made
    }
  });
  ASSERT_TRUE(alive);
  program.send(SIGINT);
  EXPECT_NE(program.end(), 0);
  int64_t ended = 0;
  for (const TrialPtr& t : trials()) {
    EXPECT_NE(t->state, TrialState::running);
    ended += t->state == TrialState::complete;
  }
  const std::string more = std::to_string(ended + 2);
  const ProgramResult refused = hone_program({"search", "--config", file, "--storage", place, "--trials", more});
  EXPECT_THAT(refused.err, HasSubstr("--resume"));
  expect_done(hone_program({"search", "--config", file, "--storage", place, "--trials", more, "--resume"}));
  int64_t complete = 0;
  for (const TrialPtr& t : trials()) complete += t->state == TrialState::complete;
  EXPECT_EQ(complete, ended + 2);
}

TEST_F(SearchVerb, TwoProcessesMakeTheTrialsTogether) {
  put_images();
  const std::string file = config("sampler = \"random\"");
  const auto search = [&] {
    expect_done(hone_program({"search", "--config", file, "--storage", place, "--trials", "12", "--resume"}));
  };
  { const std::jthread one(search), other(search); }
  // Both may begin what seems the last one to each.
  EXPECT_GE(trials().size(), 12u);
  EXPECT_LE(trials().size(), 13u);
}

TEST_F(SearchVerb, FlagsWinOverTheFile) {
  put_images();
  const ProgramResult result = hone_program({"search", "--config", config(), "--storage", place, "--trials", "1",
                                             "--objective", "accuracy,bits", "--sampler", "nsga2", "--seed", "3"});
  expect_done(result);
  EXPECT_EQ(trials().size(), 1u);
  EXPECT_EQ(trials()[0]->values.size(), 2u);
}

TEST_F(SearchVerb, FormatsOfAGivenModelByMeasuredLosses) {
  put_images();
  const std::string model = convnet();
  const std::string space = folder.put("formats.toml", R"([parameters]
format = {each = "op:conv", choices = ["int{2,4,8}", "keep"]}
)");
  for (const char* sampler : {"ilp", "ilp-tpe"}) {
    const ProgramResult result = hone_program({"search", model, "--data", folder / "images", "--space", space,
                                               "--objective", "accuracy,bits", "--data-channels", "1", "--trials", "5",
                                               "--sampler", sampler, "--storage", place, "--study", sampler});
    expect_done(result);
    EXPECT_GE(trials(sampler).size(), 3u);
  }
  const ProgramResult unknown = hone_program(
      {"search", model, "--data", folder / "images", "--space",
       folder.put("wrong.toml", "[parameters]\n\"format.features.9.weight\" = [\"int8\"]\n"), "--objective", "bits"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("features.9.weight"));
}

// The file has more than weights: a header with the graph, and a line of it for each packed tensor.
TEST_F(SearchVerb, SolutionsKeepABudgetOfBytesOfTheFile) {
  put_images();
  const std::string model = convnet();
  const std::string space = folder.put("formats.toml", R"([parameters]
format = {each = "op:conv", choices = ["mxint{2,3,4,6}", "keep"]}
)");
  const auto search = [&](const std::string& sampler, const std::string& study, const std::string& budget) {
    std::vector<std::string> arguments{"search",   model,       "--data",    folder / "images", "--space",
                                       space,      "--budget",  budget,      "--data-channels", "1",
                                       "--trials", "6",         "--sampler", sampler,           "--objective",
                                       "loss",     "--storage", place,       "--study",         study};
    expect_done(hone_program(arguments));
    std::vector<double> bytes;
    for (const TrialPtr& t : trials(study)) bytes.push_back(t->user_attributes.at("figures").at("bytes").get<double>());
    return bytes;
  };
  // A byte less than a solution takes is a budget that it would break.
  const std::vector<double> all = search("ilp", "all", "bytes<=1MB");
  const double least = std::ranges::min(all);
  for (const double bytes : all)
    for (const char* sampler : {"ilp", "ilp-tpe"}) {
      if (bytes == least) continue;
      const auto kept = search(sampler, fmt::format("{} {}", sampler, bytes), fmt::format("bytes<={}", bytes - 1));
      EXPECT_LT(std::ranges::max(kept), bytes) << sampler;
    }
  EXPECT_GT(std::ranges::max(all), least);
}

TEST_F(SearchVerb, RanksOfAdaptersThatAreFused) {
  const std::string data = put_classes();
  const std::string file = folder.put("lora.toml", R"(
objective = "bits - accuracy"
trials = 4
sampler = "grid"
[train]
lora = ["op:linear"]
batch = 16
[reading]
validation-fraction = 0.25
[parameters]
"train.lora-rank" = [1, 4]
"train.steps" = [2, 4]
)");
  expect_done(hone_program({"search", model, "--config", file, "--data", data, "--storage", place}));
  for (const TrialPtr& t : trials()) {
    ASSERT_EQ(t->state, TrialState::complete) << t->user_attributes.dump();
    EXPECT_DOUBLE_EQ(t->user_attributes.at("figures").at("bits").get<double>(), 32);
  }
}

TEST_F(SearchVerb, WhereNothingComesThroughTheFirstReasonIsSaid) {
  put_images();
  const ProgramResult result = hone_program({"search", "--config", config(), "--data-channels", "3"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("all 4 trials have failed; the first one"));
  EXPECT_THAT(result.err, HasSubstr("images have 3 channels"));
}

}  // namespace
}  // namespace hone
