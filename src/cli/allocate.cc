#include <filesystem>
#include <optional>

#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "jobs/allocate_formats.h"
#include "jobs/evaluation_flags.h"
#include "jobs/format_list.h"
#include "jobs/quantize_flags.h"

namespace hone {
namespace {

struct AllocateVerb : ModelFlags, EvaluationFlags, ShapeFlags, QuantizeFlags, RunFlags, ResultFlags {
  AllocateVerb() {
    QuantizeFlags::compute = "bf16";
    static_cast<QuantizeOptions&>(*this) = AllocateFormatsOptions().quantize;
  }
  std::vector<std::string> formats;
  std::string output, budget, memory, target = "safetensors";
  std::optional<double> lambda;
  int64_t trials = 8;
  bool measure_all = false, front = false;
  uint64_t seed = 1;
  double seconds = 10;
  static std::span<const OptionField<AllocateVerb>> fields();
};

std::vector<std::string> targets() { return {"safetensors", "onnx"}; }

constexpr OptionField<AllocateVerb> kAsked[] = {
    required_flag("formats", "Formats to choose from, e.g. mxint{3,4,6,8},int4.g32", &AllocateVerb::formats,
                  {.takes_several = true}),
    flag("budget",
         "avg-bits=4.5, bytes=12MB (of the whole file), latency=0.7x (of the original's time), latency=12ms (both of "
         "the file as written and measured) or drop=0.5% (as few bits as lose no more of the metric, as of squeeze "
         "--max-drop)",
         &AllocateVerb::budget),
    flag("lambda",
         "Instead of a budget: minimise what is lost (1 - accuracy or another metric; without labels the output error) "
         "plus this times average bits",
         &AllocateVerb::lambda, {.least = 0, .most = 1e9, .not_with = "budget"})};
constexpr OptionField<EvaluationFlags> kData[] = {
    flag("data",
         "What choices are compared on, and, on samples that are held out from that, judged by: a file as of --calib, "
         "or a data set (default: that of --calib; where the method learns, it learns from the other half)",
         &EvaluationFlags::data, {.file = OptionFile::reads})};
constexpr OptionField<AllocateVerb> kFor[] = {
    flag("for", "The kind of file that the plan is for: its size is held to a budget of bytes", &AllocateVerb::target,
         {.choices = targets})};
constexpr OptionField<AllocateVerb> kOutput[] = {
    required_flag("output", "Plan to write, a .toml file for --config of quantize and squeeze", &AllocateVerb::output,
                  {.file = OptionFile::writes, .letter = 'o'})};
constexpr OptionField<AllocateVerb> kOwn[] = {
    flag("front", "What is chosen for other budgets too, as table and plot", &AllocateVerb::front),
    flag("measure-all",
         "Measure each tensor in every format; otherwise one measurement a tensor scales its layers' errors",
         &AllocateVerb::measure_all),
    flag("trials", "Choices measured to refine the solution", &AllocateVerb::trials, {.least = 0, .most = 1'000'000}),
    flag("measurements", "File in which measurements are remembered between runs", &AllocateVerb::memory,
         {.file = OptionFile::writes}),
    flag("seconds", "Longest measured part of times", &AllocateVerb::seconds,
         {.least = kLeastSeconds, .most = kMostSeconds}),
    flag("seed", "Of the refinement and of the order of rounds", &AllocateVerb::seed)};

std::span<const OptionField<AllocateVerb>> AllocateVerb::fields() {
  static const auto all = joined_fields<AllocateVerb>(
      ModelFlags::fields().first(2), kAsked, kData, EvaluationFlags::choice_fields("data-"), kFor, ShapeFlags::fields(),
      kOutput, ResultFlags::report_fields(), kOwn, QuantizeFlags::fields(), RunFlags::fields(),
      RunFlags::trust_fields(), ResultFlags::fields());
  return all;
}

int run(AllocateVerb& verb) {
  verb.check();
  files_of(verb).check();
  Report report(verb);
  SessionOptions session = verb.session_options();
  session.compute = verb.compute_type();
  report.finish(
      allocate_formats({.model = verb.model,
                        .output = verb.output,
                        .inputs = verb.inputs,
                        .formats = parse_format_list(verb.formats),
                        .quantize = verb.quantize(),
                        .budget = verb.budget.empty() ? std::nullopt : std::optional(parse_budget(verb.budget)),
                        .lambda = verb.lambda,
                        .data = {verb.data, verb.calibration().batch, {}},
                        .calibration = verb.calibration(),
                        .judged = verb.choice(),
                        .measure_all = verb.measure_all,
                        .front = verb.front,
                        .trials = static_cast<int>(verb.trials),
                        .seed = verb.seed,
                        .target = verb.target,
                        .shapes = verb.shapes(),
                        .seconds = verb.seconds,
                        .session = session,
                        .memory = verb.memory,
                        .command = this_command(),
                        .progress = terminal_progress()}));
  return 0;
}

constexpr Verb<AllocateVerb> kVerb{
    .name = "allocate",
    .task = VerbTask::compress,
    .summary = "Choose a number format for each weight, so that a model meets a budget and loses least",
    .examples =
        "  hone allocate all-MiniLM-L6-v2 --formats mxint{3,4,5,6,8} --budget avg-bits=4.5 --calib texts.txt -o "
        "plan.toml\n"
        "  hone squeeze all-MiniLM-L6-v2 --config plan.toml -o small.safetensors\n"
        "  hone allocate cnn.onnx --formats mxint4,mxint8,bf16 --lambda 0.01 --calib train.npz --front --report "
        "plan.html -o plan.toml",
    .run = run,
    .read_config = [](AllocateVerb& verb) { verb.read_config_file(); }};

}  // namespace

extern constinit const VerbDef allocate_verb_def = verb_def<kVerb>();

}  // namespace hone
