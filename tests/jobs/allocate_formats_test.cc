// Plans that hone allocate writes: within the budget, usable as they are, and never worse than one format for all.
#include "jobs/allocate_formats.h"
#include "jobs/save_model.h"

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/philox.h"
#include "io/numpy.h"
#include "jobs/sweep.h"
#include "tests/jobs/jobs_fixture.h"
#include "views/allocate.h"
#include "views/sweep.h"

namespace hone {
namespace {

using test::error_of;
using testing::HasSubstr;

// From file to plan, as its verb does it.
struct FileAllocation : AllocateFormatsOptions {
  std::string model, output;
};
Record allocate(const FileAllocation& options) {
  check_plan_name(options.output);
  const AllocatedFormats allocated = allocate_formats(load_model(options.model), options);
  write_plan(options.output, allocated, "hone allocate");
  return view_of(allocated, options.output);
}

// Into a folder, as its verb does it.
struct FileSweep : FormatSweepOptions {
  std::string model, folder;
};
Record sweep(FileSweep options) {
  options.measurements = options.folder + "/measurements.txt";
  const SweepResult result = sweep_formats(load_model(options.model), options);
  Record record = view_of(result, options.folder);
  for (const auto& [name, content] : sweep_files(result, record)) write_file(options.folder + "/" + name, content);
  return record;
}

class AllocateFormats : public JobsTest {
 protected:
  AllocateFormats() {
    write_npz(folder / "data.npz", std::vector<NamedTensor>{{"x", random({64, 32}, 1)}, {"labels", labels()}});
    // Three layers of which the second hardly matters.
    save_artefact(net, test::parse(fmt::format(R"(
      %x : f32[B,32] = input
      %a : f32[64,32] = const "first.weight" {{{}}}
      %b : f32[32,64] = const "second.weight" {{{}}}
      %c : f32[4,32] = const "third.weight" {{{}}}
      %h = linear %x, %a
      %r = relu %h
      %s = linear %r, %b
      %t = add %s, %x
      %y = linear %t, %c
      return %y as "logits")",
                                               values({64, 32}, 2, 0.2f), values({32, 64}, 3, 0.002f),
                                               values({4, 32}, 4, 0.3f))));
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
  static Tensor labels() {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < 64; ++i) numbers.push_back(i % 4);
    return Tensor::of<int64_t>({64}, numbers);
  }

  FileAllocation options(const std::string& budget) const {
    FileAllocation o;
    o.model = net, o.output = folder / "plan.toml";
    o.formats = {"mxint2", "mxint4", "mxint8"};
    if (!budget.empty()) o.budget = parse_budget(budget);
    o.calibration.file = folder / "data.npz";
    o.trials = 4, o.seconds = 0.2;
    o.session.cache_folder = folder / "cache";  // machine code of hundreds of sessions
    return o;
  }
  static double bits(const Record& record, size_t row) {
    return value_of(cell(table_of(record, "results"), "average_bits", row));
  }
  static double error(const Record& record, size_t row) {
    return value_of(cell(table_of(record, "results"), "output_error", row));
  }

  std::string net = folder / "net.safetensors";
};

TEST_F(AllocateFormats, KeepsToTheBudgetAndBeatsTheUniformFormatOfItsSize) {
  FileAllocation o = options("avg-bits=4.25");
  write_npz(folder / "data.npz", std::vector<NamedTensor>{{"x", random({64, 32}, 1)}});  // no labels: the output error
  const Record record = allocate(o);
  EXPECT_LE(bits(record, 0), 4.25);
  EXPECT_EQ(text_of(cell(table_of(record, "results"), "choice", 2)), "all in mxint4");
  EXPECT_EQ(bits(record, 2), 4.25);
  EXPECT_LT(error(record, 0), 0.5 * error(record, 2));
  EXPECT_EQ(value_of(cell(table_of(record, "plan"), "bytes", 0)) +
                value_of(cell(table_of(record, "plan"), "bytes", 1)) +
                value_of(cell(table_of(record, "plan"), "bytes", 2)),
            value_of(cell(table_of(record, "results"), "bytes", 0)));
}

TEST_F(AllocateFormats, ThePlanIsAConfigurationOfQuantize) {
  const Record record = allocate(options("bytes=2.5kB"));
  QuantizeOptions quantize;
  Calibration calibration;
  read_quantize_config(folder / "plan.toml", quantize, calibration);
  EXPECT_EQ(quantize.method, "gptq");
  EXPECT_EQ(calibration.file, folder / "data.npz");
  const QuantizedModel packed = quantize_model(load_model(net), quantize, std::nullopt, calibration);
  EXPECT_EQ(static_cast<double>(packed.after.weight_bytes), value_of(cell(table_of(record, "results"), "bytes", 0)));
  const Table& plan = table_of(record, "plan");
  for (size_t row = 0; row < plan.rows.size(); ++row) {
    const std::string name = text_of(cell(plan, "name", row));
    const Tensor& tensor = *packed.graph.constant(packed.graph.find_constant(name));
    EXPECT_EQ(to_string(*tensor.format()), text_of(cell(plan, "format", row)));
  }
  // For another model it is refused, with every name that differs.
  EXPECT_THAT(error_of([&] { quantize_model(load_model(model), quantize, std::nullopt); }),
              testing::AllOf(HasSubstr("first.weight"), HasSubstr("second.weight"), HasSubstr("third.weight")));
}

TEST_F(AllocateFormats, ThePlanNamesItsDataFromItsFolderOn) {
  allocate(options("bytes=2.5kB"));
  EXPECT_THAT(read_file(folder / "plan.toml"), HasSubstr("\ncalib = \"data.npz\"\n"));
  FileAllocation elsewhere = options("bytes=2.5kB");
  std::filesystem::create_directory(folder / "plans");
  elsewhere.output = folder / "plans" + "/plan.toml";
  elsewhere.calibration.batch = 8;
  allocate(elsewhere);
  EXPECT_THAT(read_file(elsewhere.output),
              HasSubstr(fmt::format("\ncalib = \"{}\"\ncalib-batch = 8\n", folder / "data.npz")));
  FileAllocation nearest = options("bytes=2.5kB");  // quantizes without data
  nearest.quantize.method = "nearest";
  allocate(nearest);
  EXPECT_THAT(read_file(folder / "plan.toml"), testing::Not(HasSubstr("\ncalib")));
}

TEST_F(AllocateFormats, WhatWasDecidedBeforeBelongsToThePlan) {
  FileAllocation o = options("bytes=1MB");
  o.quantize.rule = {R"(\bfirst=mxint6)"};
  o.quantize.skip = {"third"};
  const Record record = allocate(o);
  EXPECT_EQ(table_of(record, "plan").rows.size(), 1U);
  QuantizeOptions quantize;
  Calibration calibration;
  read_quantize_config(folder / "plan.toml", quantize, calibration);
  EXPECT_EQ(quantize.rule[0], o.quantize.rule[0]);
  EXPECT_EQ(quantize.skip, o.quantize.skip);
  EXPECT_EQ(
      static_cast<double>(quantize_model(load_model(net), quantize, std::nullopt, calibration).after.weight_bytes),
      value_of(cell(table_of(record, "results"), "bytes", 0)));
}

TEST_F(AllocateFormats, WithLabelsAccuracyDecides) {
  const Record record = allocate(options("avg-bits=4.3"));
  const Table& results = table_of(record, "results");
  for (size_t row = 1; row + 1 < results.rows.size(); ++row)
    if (bits(record, row) <= 4.3) {
      EXPECT_GE(value_of(cell(results, "selection_accuracy", 0)), value_of(cell(results, "selection_accuracy", row)));
    }
}

TEST_F(AllocateFormats, AnotherMetricMayDecide) {
  FileAllocation o = options("avg-bits=4.3");
  o.judged.metrics = {"cross_entropy"};  // of which less is better
  const Record record = allocate(o);
  const Table& results = table_of(record, "results");
  for (size_t row = 1; row + 1 < results.rows.size(); ++row)
    if (bits(record, row) <= 4.3) {
      EXPECT_LE(value_of(cell(results, "selection_cross_entropy", 0)),
                value_of(cell(results, "selection_cross_entropy", row)));
    }
  const Number difference = std::get<Number>(cell(results, "cross_entropy_difference", 0));
  const size_t original = results.rows.size() - 1;
  EXPECT_NEAR(difference.value,
              value_of(cell(results, "cross_entropy", 0)) - value_of(cell(results, "cross_entropy", original)), 1e-12);
  ASSERT_TRUE(difference.interval);
  EXPECT_TRUE(difference.interval->contains(difference.value));
  EXPECT_THAT(record.findings[0], HasSubstr("cross-entropy"));

  o.judged.metrics = {"mse"};
  EXPECT_THAT(error_of([&] { allocate(o); }), HasSubstr("metric mse does not fit labels that are classes"));
  o.judged.metrics = {"f1", "mcc"};
  EXPECT_THAT(error_of([&] { allocate(o); }), HasSubstr("judged by one metric; 2 are given"));
  o.judged.metrics = {"f1"};
  o.judged.data.limit = 3;
  EXPECT_THAT(error_of([&] { allocate(o); }), HasSubstr("is read as it is"));
}

TEST_F(AllocateFormats, ADropOfTheMetricMayBeTheBudget) {
  // The right classes are what the original says: it is right everywhere.
  const Tensor x = random({64, 32}, 1), scores = Session(load_model(net).graph, {}).run({{"x", x}})[0];
  std::vector<int64_t> classes;
  for (int64_t row = 0; row < 64; ++row) {
    const auto of_row = scores.as<float>().subspan(static_cast<size_t>(row) * 4, 4);
    classes.push_back(std::ranges::max_element(of_row) - of_row.begin());
  }
  write_npz(folder / "data.npz", std::vector<NamedTensor>{{"x", x}, {"labels", Tensor::of<int64_t>({64}, classes)}});
  const Record any = allocate(options("drop=100%")), little = allocate(options("drop=7%"));
  EXPECT_EQ(bits(any, 0), 2.25);  // all in mxint2
  EXPECT_GT(bits(little, 0), 2.25);
  EXPECT_LT(bits(little, 0), 8.25);
  EXPECT_GE(value_of(cell(table_of(little, "results"), "selection_accuracy", 0)), 0.93);

  FileAllocation none = options("drop=0");
  none.formats = {"mxint2"};
  none.output = folder / "none.toml";
  EXPECT_THAT(
      error_of([&] { allocate(none); }),
      testing::AllOf(HasSubstr("no choice of formats meets the budget of a drop of 0"), HasSubstr("of accuracy")));
  EXPECT_FALSE(std::filesystem::exists(none.output));
  write_npz(folder / "data.npz", std::vector<NamedTensor>{{"x", x}});
  EXPECT_THAT(error_of([&] { allocate(options("drop=7%")); }), HasSubstr("of which metric?"));
  EXPECT_THAT(error_of([] { parse_budget("drop=-1%"); }), HasSubstr("is no drop"));
}

// What selects does not judge: the figures that are reported are of samples that took no part.
TEST_F(AllocateFormats, ReportsOnSamplesThatAreHeldOut) {
  const Record record = allocate(options("avg-bits=4.3"));
  const Table& results = table_of(record, "results");
  EXPECT_EQ(results.title,
            fmt::format("On 16 of the 64 samples of {}, held out: the method learnt from 32, and choices "
                        "were compared on 16",
                        folder / "data.npz"));
  EXPECT_THAT(record.findings[0], testing::AllOf(HasSubstr("on 16 samples: output error "), HasSubstr("accuracy "),
                                                 HasSubstr("held out from choosing")));
  EXPECT_EQ(text_of(cell(results, "choice", results.rows.size() - 1)), "the original, f32");
  for (size_t row = 0; row < results.rows.size(); ++row) {
    const Number accuracy = std::get<Number>(cell(results, "accuracy", row));
    ASSERT_TRUE(accuracy.interval) << row;
    EXPECT_GT(accuracy.interval->high - accuracy.interval->low, 0.1) << row;  // 16 samples say little
    EXPECT_TRUE(accuracy.interval->contains(accuracy.value)) << row;
  }
  const Number error = std::get<Number>(cell(results, "output_error", 0));
  ASSERT_TRUE(error.interval);
  EXPECT_TRUE(error.interval->low < error.value && error.value < error.interval->high);

  FileAllocation nearest = options("avg-bits=4.3");
  nearest.quantize.method = "nearest";
  EXPECT_THAT(table_of(allocate(nearest), "results").title, HasSubstr("On 32 of the 64 samples of"));
  write_npz(folder / "data.npz", std::vector<NamedTensor>{{"x", random({1, 32}, 1)}});
  EXPECT_THAT(allocate(nearest).findings[0], HasSubstr("they chose it too, so this flatters"));
}

TEST_F(AllocateFormats, APriceOfBitsChoosesTheSize) {
  write_npz(folder / "data.npz", std::vector<NamedTensor>{{"x", random({64, 32}, 1)}});  // no labels
  FileAllocation dear = options(""), cheap = options("");
  dear.lambda = 100, cheap.lambda = 1e-9;
  EXPECT_EQ(bits(allocate(dear), 0), 2.25);
  EXPECT_GT(bits(allocate(cheap), 0), 4);
}

TEST_F(AllocateFormats, TheFrontFallsWithTheBudget) {
  FileAllocation o = options("avg-bits=4.25");
  o.front = true;
  const Record record = allocate(o);
  const std::vector<Cell> sizes = column(table_of(record, "front"), "average_bits"),
                          predicted = column(table_of(record, "front"), "predicted");
  ASSERT_GE(sizes.size(), 5U);
  EXPECT_EQ(text_of(cell(table_of(record, "front"), "point", sizes.size() - 1)), "the original");
  for (size_t i = 1; i + 1 < sizes.size(); ++i) {
    EXPECT_GE(value_of(sizes[i]), value_of(sizes[i - 1]));
    EXPECT_LE(value_of(predicted[i]), value_of(predicted[i - 1]));
  }
  EXPECT_NE(find_block<ScatterPlot>(record, "front_plot"), nullptr);
}

TEST_F(AllocateFormats, APlanForABudgetOfTimeIsMeasuredAsItIsWritten) {
  FileAllocation o = options("latency=1000x");
  o.shapes.batch = 3;
  o.session.compute = Compute::bf16;
  const Record record = allocate(o);
  EXPECT_EQ(text_of(item(record, "time", "shape")), "x: f32[3,32]");
  const Number ratio = std::get<Number>(item(record, "time", "measured_ratio"));
  ASSERT_TRUE(ratio.interval);
  EXPECT_LE(ratio.interval->high, 1000);
  EXPECT_GT(value_of(item(record, "time", "original_ms")), 0);
  // Each under its own compute type: the plan's is stored in the plan, and so in what is made of it.
  for (const KeyValue& each : find_block<KeyValues>(record, "time")->items) {
    if (each.key == "original_ms") {
      EXPECT_EQ(each.title, "the original, f32");
    }
    if (each.key == "plan_ms") {
      EXPECT_EQ(each.title, "the plan, bf16");
    }
  }
  EXPECT_THAT(read_file(o.output), HasSubstr("\ncompute = \"bf16\"\nfor = \"safetensors\"\n"));
}

TEST_F(AllocateFormats, ABudgetOfTimeThatTheIntervalDoesNotMeetIsRefused) {
  for (const char* budget : {"latency=0.0001x", "latency=0.000001ms"}) {
    EXPECT_THAT(
        error_of([&] { allocate(options(budget)); }),
        testing::AllOf(HasSubstr("no choice of formats meets the budget of"), HasSubstr("mxint2, mxint4, mxint8"),
                       HasSubstr("At x: f32[1,32], 1 thread(s)"), HasSubstr("Nothing is written")));
    EXPECT_FALSE(std::filesystem::exists(folder / "plan.toml"));
  }
}

// Six layers: steps of a few hundred bytes.
class BudgetOfBytes : public AllocateFormats {
 protected:
  BudgetOfBytes() {
    std::string text = "%x0 : f32[B,32] = input \"x\"\n";
    for (int i = 0; i < 6; ++i)
      text += fmt::format(
          "%w{0} : f32[32,32] = const \"layer.{0}.weight\" {{{2}}}\n%h{0} = linear %x{0}, %w{0}\n%x{1} = tanh %h{0}\n",
          i, i + 1, values({32, 32}, static_cast<uint64_t>(i) + 5, 0.2f));
    save_artefact(net, test::parse(text + "return %x6 as \"y\""));
    write_npz(folder / "data.npz", std::vector<NamedTensor>{{"x", random({64, 32}, 1)}});
  }
  FileAllocation options(const std::string& target, const std::string& budget) const {
    FileAllocation o = AllocateFormats::options(budget);
    o.formats = {"mxint2", "mxint4", "mxint5", "mxint8", "bf16"};
    o.target = target, o.trials = 1;
    o.session.compute = Compute::bf16;
    return o;
  }
  // What quantize makes of the plan.
  int64_t written_bytes(const std::string& target) const {
    QuantizeOptions quantize;
    Calibration calibration;
    PlanNotes notes;
    read_quantize_config(folder / "plan.toml", quantize, calibration, &notes);
    EXPECT_EQ(notes.target, target);
    const Model source = load_model(net);
    const std::string file = folder / "made." + target;
    const int64_t bytes =
        save_model(file, quantize_model(source, quantize, parse_compute(notes.compute), calibration).graph, source)
            .bytes;
    EXPECT_EQ(bytes, static_cast<int64_t>(std::filesystem::file_size(file)));
    EXPECT_FALSE(over_plan(notes, file, bytes));
    return bytes;
  }
  int64_t least(const std::string& target) const {
    const std::string refusal = error_of([&] { allocate(options(target, "bytes=1")); });
    EXPECT_FALSE(std::filesystem::exists(folder / "plan.toml"));
    const std::string before = "bf16 is ";
    const size_t at = refusal.find(before);
    EXPECT_NE(at, std::string::npos) << refusal;
    return std::stoll(refusal.substr(at + before.size()));
  }
};

TEST_F(BudgetOfBytes, HoldsForTheFileThatIsWritten) {
  for (const char* target : {"safetensors", "onnx"}) {
    const int64_t from = least(target);
    for (const int64_t budget : {from, from + 700, from + 2000}) {
      const Record record = allocate(options(target, fmt::format("bytes={}", budget)));
      const int64_t bytes = written_bytes(target);
      EXPECT_LE(bytes, budget) << target;
      EXPECT_GE(bytes, budget - 600) << target << ": what the budget allows is used";  // a step in ONNX is 512 bytes
      EXPECT_THAT(record.findings[0], HasSubstr(fmt::format("{} bytes", bytes))) << target;
    }
    std::filesystem::remove(folder / "plan.toml");
  }
}

TEST_F(BudgetOfBytes, APlanSaysWhatItIsFor) {
  allocate(options("onnx", "bytes=1MB"));
  EXPECT_THAT(read_file(folder / "plan.toml"), HasSubstr("\nfor = \"onnx\"\nbytes = 1000000\n"));
  const PlanNotes notes{.compute = {}, .target = "onnx", .bytes = 100};
  EXPECT_FALSE(over_plan(notes, "a.onnx", 100));
  EXPECT_EQ(over_plan(notes, "a.onnx", 101), "a.onnx: 101 bytes, 1 more than the plan's 100");
  EXPECT_THAT(*over_plan(notes, "a.safetensors", 200), HasSubstr("the plan is for a .onnx file"));
  EXPECT_FALSE(over_plan({}, "a.onnx", 1 << 30));
}

TEST_F(AllocateFormats, RemembersWhatItMeasured) {
  FileAllocation o = options("avg-bits=4.25");
  o.memory = folder / "memory.txt";
  const Record first = allocate(o), second = allocate(o);
  EXPECT_THAT(second.findings.back(), HasSubstr("; 0 measurements taken"));
  EXPECT_EQ(error(first, 0), error(second, 0));
}

TEST_F(AllocateFormats, RefusesWhatItCantDo) {
  EXPECT_THAT(error_of([&] { allocate(options("avg-bits=2")); }),
              HasSubstr("no choice of formats meets the budget of 2 bits per element; the least with mxint2, mxint4, "
                        "mxint8 is 2.250 bits per element"));
  EXPECT_THAT(error_of([&] { allocate(options("")); }), HasSubstr("give either a budget"));
  FileAllocation rewriting = options("avg-bits=4");
  rewriting.quantize.smooth_quant = true;
  EXPECT_THAT(error_of([&] { allocate(rewriting); }), HasSubstr("come after the choice"));
  FileAllocation no_data = options("avg-bits=4");
  no_data.calibration.file = "";
  EXPECT_THAT(error_of([&] { allocate(no_data); }), HasSubstr("give --calib"));
  EXPECT_THAT(error_of([] { parse_budget("bits=4"); }), HasSubstr("unknown quantity bits; give avg-bits=4.5"));
  EXPECT_THAT(error_of([] { parse_budget("bytes=4XB"); }), HasSubstr("unknown unit \"XB\""));
  EXPECT_THAT(error_of([] { parse_budget("bytes=-4MB"); }), HasSubstr("no number above 0"));
  EXPECT_EQ(parse_budget("bytes=12MiB").value, 12 * 1024 * 1024);
  for (const char* nothing : {"latency=0x", "latency=-1x", "avg-bits=0", "bytes=0", "avg-bits=nan", "avg-bits=inf"})
    EXPECT_THAT(error_of([&] { parse_budget(nothing); }), HasSubstr("no number above 0")) << nothing;
  FileAllocation elsewhere = options("avg-bits=4");
  elsewhere.output = net;
  EXPECT_THAT(error_of([&] { allocate(elsewhere); }), HasSubstr("must end in .toml"));
  elsewhere = options("avg-bits=4");
  elsewhere.target = "gguf";
  EXPECT_THAT(error_of([&] { allocate(elsewhere); }), HasSubstr("expected safetensors or onnx"));
}

TEST_F(AllocateFormats, AnyLargeBudgetWillDo) {
  for (const char* budget : {"avg-bits=1e9", "avg-bits=1e300", "bytes=1e9GB", "latency=1e300x"})
    EXPECT_EQ(error_of([&] { allocate(options(budget)); }), "") << budget;
}

TEST_F(AllocateFormats, OneCandidateIsAStudyToo) {
  FileAllocation one = options("avg-bits=32");
  one.formats = {"mxint8"};
  one.quantize.skip = {"second", "third"};
  EXPECT_EQ(table_of(allocate(one), "plan").rows.size(), 1U);
  one.quantize.skip.emplace_back("first");
  EXPECT_THAT(error_of([&] { allocate(one); }), testing::Not(""));
}

class SweepTest : public AllocateFormats {
 protected:
  FileSweep options(std::vector<std::string> formats) const {
    FileSweep o;
    o.model = net, o.folder = folder / "sweep";
    o.formats = std::move(formats);
    o.data.file = folder / "data.npz";
    o.session.cache_folder = folder / "cache";
    return o;
  }
};

TEST_F(SweepTest, MoreBitsLoseLessAndTheFilesSayTheSame) {
  const Record record = sweep(options({"mxint2", "mxint4", "mxint8", "int8.f4"}));
  const Table& table = table_of(record, "sweep");
  for (size_t row = 1; row < 3; ++row)
    EXPECT_LT(value_of(cell(table, "output_error", row)), 0.5 * value_of(cell(table, "output_error", row - 1)));
  EXPECT_EQ(text_of(cell(table, "family", 3)), "int.f4");
  const std::string csv = read_file(folder / "sweep" + "/sweep.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);  // with the titles and the original's
  EXPECT_THAT(csv, HasSubstr("mxint4,mxint,4.250000,"));
  EXPECT_THAT(csv, HasSubstr("the original,,32.000000,"));
  for (const char* name : {"curves.svg", "best_so_far.svg"})
    EXPECT_THAT(read_file(folder / "sweep" + "/" + name), HasSubstr("</svg>"));
  EXPECT_EQ(find_block<LinePlot>(record, "curves")->lines.size(), 2U);  // families
}

TEST_F(SweepTest, GoesOnWhereItWasStopped) {
  sweep(options({"mxint2", "mxint4"}));
  const Record more = sweep(options({"mxint2", "mxint4", "mxint8"}));
  EXPECT_THAT(more.findings[1], HasSubstr("1 measured, 2 remembered"));
  FileSweep both = options({"mxint2"});
  both.activations = true;
  EXPECT_THAT(sweep(both).findings[1], HasSubstr("1 measured, 0 remembered"));
}

TEST_F(SweepTest, CalibratesOnOtherDataThanItMeasuresOn) {
  FileSweep same = options({"mxint3"}), other = same;
  same.quantize.method = other.quantize.method = "gptq";
  other.calibration.file = folder / "other.npz";
  Tensor x = random({64, 32}, 9);
  for (size_t i = 0; i < 64 * 32; ++i)
    if (i % 32 != 0) x.mutable_as<float>()[i] *= 1e-3f;  // only the first input seems to matter
  write_npz(other.calibration.file, std::vector<NamedTensor>{{"x", x}});
  const double error = value_of(cell(table_of(sweep(same), "sweep"), "output_error", 0));
  const Record record = sweep(other);  // in the same folder: what was measured before is not taken
  EXPECT_THAT(record.findings[1], HasSubstr("1 measured, 0 remembered"));
  EXPECT_GT(value_of(cell(table_of(record, "sweep"), "output_error", 0)), 1.1 * error);
}

TEST_F(SweepTest, JudgesWhatALearningMethodMadeByDataThatItHasNotSeen) {
  const Tensor x = random({64, 32}, 1);
  const auto rows = [&](std::vector<int64_t> batches) {  // of 16 samples
    std::vector<float> values;
    for (int64_t b : batches) {
      const std::span<const float> part = x.as<float>().subspan(static_cast<size_t>(b) * 16 * 32, 16 * 32);
      values.insert(values.end(), part.begin(), part.end());
    }
    return std::vector<NamedTensor>{{"x", Tensor::of<float>({32, 32}, values)}};
  };
  write_npz(folder / "learnt.npz", rows({0, 3}));
  write_npz(folder / "judged.npz", rows({1, 2}));
  write_npz(folder / "data.npz", std::vector<NamedTensor>{{"x", x}});
  FileSweep one = options({"mxint3"}), two = one;
  one.quantize.method = two.quantize.method = "gptq";
  two.folder = folder / "two";
  two.calibration.file = folder / "learnt.npz", two.data.file = folder / "judged.npz";
  const Record of_one = sweep(one), of_two = sweep(two);
  for (const char* key : {"output_error", "selection_error"})
    EXPECT_EQ(value_of(cell(table_of(of_one, "sweep"), key, 0)), value_of(cell(table_of(of_two, "sweep"), key, 0)));
  EXPECT_NE(value_of(cell(table_of(of_one, "sweep"), "output_error", 0)),
            value_of(cell(table_of(of_one, "sweep"), "selection_error", 0)));
  EXPECT_THAT(table_of(of_one, "sweep").title, HasSubstr("On 16 of the 64 samples of"));
  EXPECT_THAT(table_of(of_two, "sweep").title, HasSubstr("On 16 of the 32 samples of"));
  one.data.batch = 64;  // one batch is read as four
  EXPECT_THAT(table_of(sweep(one), "sweep").title, HasSubstr("On 16 of the 64 samples of"));
  one.quantize.method = "nearest";
  EXPECT_THAT(table_of(sweep(one), "sweep").title, HasSubstr("On 32 of the 64 samples of"));
}

TEST_F(SweepTest, TheBestIsReportedOnWhatDidNotChooseItBesideTheOriginal) {
  const Record record = sweep(options({"mxint2", "mxint4", "mxint8"}));
  const Table& table = table_of(record, "sweep");
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(text_of(cell(table, "format", 3)), "the original");
  EXPECT_EQ(value_of(cell(table, "average_bits", 3)), 32);
  size_t best = 0;
  for (size_t row = 1; row < 3; ++row)
    if (value_of(cell(table, "selection_accuracy", row)) > value_of(cell(table, "selection_accuracy", best)))
      best = row;
  EXPECT_THAT(record.findings[0], testing::AllOf(HasSubstr("Chosen: " + text_of(cell(table, "format", best)) + ","),
                                                 HasSubstr("on 32 samples held out: "),
                                                 HasSubstr(", against the original "), HasSubstr("; the original: ")));
  EXPECT_TRUE(std::get<Number>(cell(table, "accuracy", best)).interval);
}

TEST_F(SweepTest, TheOriginalIsNotComparedWithItself) {
  const Record record = sweep(options({"mxint4"}));
  const Table& table = table_of(record, "sweep");
  EXPECT_TRUE(is_empty(cell(table, "accuracy_difference", 1)));
  EXPECT_FALSE(is_empty(cell(table, "accuracy_difference", 0)));
  EXPECT_THAT(record.findings[0], testing::Not(HasSubstr("no difference shown (0.00 to 0.00 points)")));
}

TEST_F(SweepTest, TheBestSoFarFallsNowhere) {
  std::vector<std::string> formats;
  for (int bits = 2; bits <= 8; ++bits)
    for (const char* family : {"mxint", "int"}) formats.push_back(fmt::format("{}{}", family, bits));
  const Record record = sweep(options(formats));
  const LinePlot* plot = find_block<LinePlot>(record, "best_so_far");
  ASSERT_NE(plot, nullptr);
  for (const Line& line : plot->lines)
    for (size_t i = 1; i < line.points.size(); ++i)
      EXPECT_GE(line.points[i].second, line.points[i - 1].second) << line.label << " " << i;
  EXPECT_EQ(plot->lines.back().points.size(), formats.size());
}

TEST_F(SweepTest, InputsOfProductsCanBeInTheFormatToo) {
  FileSweep weights = options({"mxint4"}), both = options({"mxint4"});
  both.activations = true, both.folder = folder / "both";
  EXPECT_GT(value_of(cell(table_of(sweep(both), "sweep"), "output_error", 0)),
            1.2 * value_of(cell(table_of(sweep(weights), "sweep"), "output_error", 0)));
}

}  // namespace
}  // namespace hone
