// hone ship: a smaller file that keeps what was promised, on rows that its choice had not seen.
#include "ship/ship.h"

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/stop.h"
#include "io/numpy.h"
#include "tests/jobs/jobs_fixture.h"
#include "views/ship.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kRows = 160, kWide = 64;

class Ship : public JobsTest {
 protected:
  Ship() {
    save_artefact(net, test::parse(fmt::format(R"(
      %x : f32[B,{0}] = input "x"
      %a : f32[{0},{0}] = const "first.weight" {{{1}}}
      %b : f32[{0},{0}] = const "second.weight" {{{2}}}
      %c : f32[4,{0}] = const "third.weight" {{{3}}}
      %h = linear %x, %a
      %r = relu %h
      %s = linear %r, %b
      %t = add %s, %x
      %y = linear %t, %c
      return %y as "logits")",
                                               kWide, values({kWide, kWide}, 2, 0.2f), values({kWide, kWide}, 3, 0.1f),
                                               values({4, kWide}, 4, 0.3f))));
    // What the net itself says is right, so that the original makes no mistake.
    const Tensor rows = random({kRows, kWide}, 1);
    const std::vector<float> scores =
        Session(load_model(net).graph, SessionOptions()).run({{"x", rows}})[0].to_floats();
    std::vector<int64_t> labels;
    for (int64_t row = 0; row < kRows; ++row) {
      const auto* first = &scores[static_cast<size_t>(row * 4)];
      labels.push_back(std::max_element(first, first + 4) - first);
    }
    write_npz(data, std::vector<NamedTensor>{{"x", rows}, {"labels", Tensor::of<int64_t>({kRows}, labels)}});
    write_npz(unlabelled, std::vector<NamedTensor>{{"x", rows}});
    fs::create_directories(out);
  }

  static Tensor random(std::vector<int64_t> shape, uint64_t seed, float scale = 1) {
    Philox rng(seed);
    std::vector<float> numbers(static_cast<size_t>(element_count(shape)));
    for (float& n : numbers) n = scale * rng.normal();
    return Tensor::of<float>(std::move(shape), numbers);
  }
  static std::string values(std::vector<int64_t> shape, uint64_t seed, float scale) {
    return fmt::format("{}", fmt::join(random(std::move(shape), seed, scale).as<float>(), ", "));
  }

  ShipOptions options() const {
    ShipOptions o;
    o.data = data, o.time = "20s", o.formats = {"int8.channel", "mxint4", "mxint2"};
    o.cache = folder / "cache";
    return o;
  }
  ShipResult shipped(const ShipOptions& o) { return ship(load_model(net), small, o.typed()); }
  std::string refusal(const ShipOptions& o) {
    const std::string error = error_of([&] { shipped(o); });
    EXPECT_FALSE(fs::exists(small));
    EXPECT_FALSE(fs::exists(out + "/small.toml"));
    return error;
  }
  static const TriedCandidate& chosen(const ShipResult& result) { return result.plan.candidates[result.chosen]; }
  static const TriedCandidate* tried(const ShipResult& result, const std::string& name) {
    const auto found = std::ranges::find(result.plan.candidates, name, &TriedCandidate::name);
    return found == result.plan.candidates.end() ? nullptr : &*found;
  }

  std::string net = folder / "net.safetensors", data = folder / "data.npz", unlabelled = folder / "rows.npz";
  std::string out = folder / "out", small = out + "/small.safetensors";
};

TEST_F(Ship, WritesTheSmallestFileThatKeepsThePromise) {
  ShipOptions o = options();
  o.max_drop = "10%";
  const ShipResult result = shipped(o);
  EXPECT_EQ(result.saved.bytes, static_cast<int64_t>(fs::file_size(small)));
  EXPECT_LT(result.saved.bytes, result.plan.original_bytes);
  EXPECT_TRUE(chosen(result).meets);
  for (const TriedCandidate& c : result.plan.candidates)
    if (c.meets && c.speed->share_ci95.low <= 1.05) {
      EXPECT_LE(chosen(result).bytes, c.bytes) << c.name;
    }
  EXPECT_EQ(result.original.figure->value, 1);  // on rows that it is right about
  EXPECT_EQ(result.judged.figure->samples, kRows / 2);
  ASSERT_EQ(result.kept.size(), 1u);
  EXPECT_THAT(result.kept[0], HasSubstr("--max-drop 10%: kept"));
  EXPECT_FALSE(fs::exists(work_folder(small)));  // it is done
}

TEST_F(Ship, TheVerdictFitsAScreenAndTheReportHasTheRest) {
  const ShipResult result = shipped(options());
  const Record record = view_of(result, load_model(net), small);
  check(record);
  EXPECT_LE(record.findings.size(), kVerdictLines - 1);  // one is for the command
  const std::string verdict = verdict_text(record);
  for (const char* part : {"size: ", " → ", "time: ", "memory: ", "accuracy: ", "promise: assumed --max-drop 1%",
                           "80 rows", "took no part in the choice", "dealt out by seed 1"})
    EXPECT_THAT(verdict, HasSubstr(part));
  EXPECT_EQ(table_of(record, "candidates").rows.size(), result.plan.candidates.size());
  EXPECT_EQ(find_block<ScatterPlot>(record, "frontier")->x.title, "file");
  EXPECT_EQ(record.manifest[1].path, small);
}

TEST_F(Ship, TheTomlMakesTheSameBytesAgain) {
  ShipOptions o = options();
  o.max_size = "9kB";
  const ShipResult result = shipped(o);
  EXPECT_EQ(read_file(out + "/small.toml"), result.config);
  ShipOptions again;
  again.cache = o.cache;
  read_ship_config(out + "/small.toml", again);
  ASSERT_TRUE(again.again);
  EXPECT_EQ(again.data, fs::path(data));
  const ShipResult second = ship(load_model(net), out + "/second.safetensors", again.typed());
  EXPECT_EQ(second.plan.candidates.size(), 1u);
  EXPECT_EQ(read_file(small), read_file(out + "/second.safetensors"));
  EXPECT_EQ(second.judged.figure->value, result.judged.figure->value);
  EXPECT_FALSE(fs::exists(out + "/second.toml"));
}

TEST_F(Ship, WithinASizeWhatLosesLeastIsChosen) {
  ShipOptions o = options();
  o.max_size = "9kB";  // about five bits for each of 8,448 weights
  const ShipResult result = shipped(o);
  EXPECT_LE(result.saved.bytes, 9000);
  for (const TriedCandidate& c : result.plan.candidates)
    if (c.meets && c.speed->share_ci95.low <= 1.05) {
      EXPECT_LE(chosen(result).quality->loss, c.quality->loss) << c.name;
    }
  EXPECT_FALSE(tried(result, "int8.channel, f32")->quality);  // its size ruled it out before it was run
}

TEST_F(Ship, ABudgetBelowTheSmallestFileNamesThatFile) {
  ShipOptions o = options();
  o.max_size = "1kB";
  const std::string error = refusal(o);
  for (const char* part : {"--max-size 1.00 kB", "the smallest of", "mxint2", "is not written", "What would help",
                           "small.safetensors.ship"})
    EXPECT_THAT(error, HasSubstr(part));
}

TEST_F(Ship, ADropThatNothingKeepsNamesTheLeastThatWasLost) {
  ShipOptions o = options();
  o.formats = {"mxint2"}, o.max_drop = "0.1%";
  const std::string error = refusal(o);
  for (const char* part : {"--max-drop", "may be lost of accuracy", "the least that one of", "more rows of data"})
    EXPECT_THAT(error, HasSubstr(part));
}

TEST_F(Ship, ATimeThatNothingKeepsNamesTheLeast) {
  ShipOptions o = options();
  o.max_latency = "0.001x";
  EXPECT_THAT(refusal(o), HasSubstr("--max-latency: 0.001 of the original's time is asked for; the least of"));
}

TEST_F(Ship, AMetricThatTheOriginalDoesNotReachIsRefusedBeforeTheSearch) {
  ShipOptions o = options();
  o.min_metric = "1.5";
  EXPECT_THAT(refusal(o), HasSubstr("the original itself has 100.00 %"));
}

TEST_F(Ship, WithoutLabelsTheOutputsAreComparedWithTheOriginals) {
  ShipOptions o = options();
  o.data = unlabelled;
  const ShipResult result = shipped(o);
  ASSERT_TRUE(result.kind);  // the output is called logits
  EXPECT_EQ(result.kind->title, "same class as the original");
  EXPECT_GT(result.judged.figure->value, 0.9);
  EXPECT_GT(result.judged.error, 0);
}

TEST_F(Ship, ALaterRunGoesOnFromWhatWasMeasured) {
  ShipOptions o = options();
  o.max_size = "1kB";
  refusal(o);
  ASSERT_TRUE(fs::exists(work_folder(small) + "/measurements.txt"));
  o.max_size = "9kB";
  const ShipResult result = shipped(o);
  EXPECT_GE(result.recalled, 4);  // how many rows, and sizes
}

TEST_F(Ship, AStoppedRunKeepsWhatItMeasuredAndWritesNothingElse) {
  int candidates = 0;
  TaskContext context;
  context.progress = [&](const std::string& next) { candidates += next.starts_with("candidate"); };
  context.cancelled = [&] { return candidates > 2; };
  EXPECT_THROW(ship(load_model(net), small, options().typed(), context), Stopped);
  EXPECT_FALSE(fs::exists(small));
  EXPECT_TRUE(fs::exists(work_folder(small)));
  EXPECT_GE(shipped(options()).recalled, 4);
}

TEST_F(Ship, AnExistingFileStaysUntilItsSuccessorIsWhole) {
  write_file(small, "precious");
  ShipOptions o = options();
  o.max_size = "1kB";
  error_of([&] { shipped(o); });
  EXPECT_EQ(read_file(small), "precious");
  o.max_size = "9kB";
  const ShipResult result = shipped(o);
  EXPECT_EQ(result.saved.bytes, static_cast<int64_t>(fs::file_size(small)));
}

TEST_F(Ship, TrainingIsTriedWhereItIsAskedFor) {
  ShipOptions o = options();
  o.formats = {"int8.channel", "mxint2"}, o.train = true, o.max_drop = "2%";
  const ShipResult result = shipped(o);
  const auto is_qat = [](const TriedCandidate& c) { return c.recipe.train == "qat" && c.quality; };
  EXPECT_TRUE(std::ranges::any_of(result.plan.candidates, is_qat));
  for (const TriedCandidate& c : result.plan.candidates)
    if (!c.fault.empty()) {
      EXPECT_FALSE(c.meets) << c.name;
    }
}

TEST_F(Ship, TrainingNeedsLabels) {
  ShipOptions o = options();
  o.data = unlabelled, o.train = true;
  EXPECT_THAT(refusal(o), HasSubstr("has no labels to train by"));
  EXPECT_FALSE(fs::exists(work_folder(small)));
}

TEST_F(Ship, ATimeThatIsTooShortSaysHowMuchIsNeeded) {
  ShipOptions o = options();
  o.time = "10ms";
  EXPECT_THAT(refusal(o), testing::AllOf(HasSubstr("--time 10 ms: is too short"), HasSubstr("are needed here")));
}

TEST_F(Ship, AProgramMayJudge) {
  ShipOptions o = options();
  o.metric = {"cmd:echo 0.5 #"}, o.formats = {"int8.channel"};
  const ShipResult result = shipped(o);
  EXPECT_EQ(result.judged.figure->value, 0.5);
  EXPECT_FALSE(result.judged.figure->ci95);
  EXPECT_THAT(result.kept[0], HasSubstr("a value without an interval"));
  fs::remove(small), fs::remove(out + "/small.toml");
  o.metric = {"cmd:exit 3 #"};
  EXPECT_THAT(refusal(o), HasSubstr("3"));
}

TEST_F(Ship, TwoMetricsAreRefused) {
  ShipOptions o = options();
  o.metric = {"accuracy", "f1"};
  EXPECT_THAT(refusal(o), HasSubstr("one metric"));
}

TEST_F(Ship, ADryRunWritesNothingAndNamesSizes) {
  ShipOptions o = options();
  o.max_size = "9kB";
  const ShipPlan plan = plan_ship(load_model(net), small, o.typed());
  ASSERT_EQ(plan.candidates.size(), 3u);
  EXPECT_FALSE(plan.candidates[0].meets);
  EXPECT_TRUE(plan.candidates[1].meets);
  EXPECT_THAT(plan.rows, HasSubstr("80 to judge on"));
  EXPECT_TRUE(fs::is_empty(out));
  check(view_of(plan, load_model(net), small));
}

}  // namespace
}  // namespace hone
