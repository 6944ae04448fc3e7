#include "jobs/allocate_formats.h"

#include <algorithm>
#include <cmath>

#include "base/atomic_file.h"
#include "base/printable.h"
#include "base/text.h"
#include "jobs/format_list.h"
#include "jobs/search_formats.h"
#include "measure/statistics.h"

namespace hone {
namespace {

using A = AllocateFlags;

std::vector<std::string> targets() { return {"safetensors", "onnx"}; }

constexpr OptionField<A> kAsked[] = {
    required_flag("formats", "Formats to choose from, e.g. mxint{3,4,6,8},int4.g32", &A::formats,
                  {.takes_several = true}),
    flag("budget",
         "avg-bits=4.5, bytes=12MB (of the whole file), latency=0.7x (of the original's time), latency=12ms (both of "
         "the file as written and measured) or drop=0.5% (as few bits as lose no more of the metric, as of squeeze "
         "--max-drop)",
         &A::budget),
    flag("lambda",
         "Instead of a budget: minimize what is lost (1 - accuracy or another metric; without labels the output error) "
         "plus this times average bits",
         &A::lambda, {.least = 0, .most = 1e9, .not_with = "budget"})};
constexpr OptionField<EvaluationFlags> kData[] = {
    flag("data",
         "What choices are compared on, and, on samples that are held out from that, judged by: a file as of --calib, "
         "or a data set (default: that of --calib; where the method learns, it learns from the other half)",
         &EvaluationFlags::data, {.file = OptionFile::reads})};
constexpr OptionField<A> kFor[] = {flag("for",
                                        "The kind of file that the plan is for: its size is held to a budget of bytes",
                                        &A::target, {.choices = targets})};
constexpr OptionField<A> kOwn[] = {
    flag("front", "What is chosen for other budgets too, as table and plot", &A::front),
    flag("measure-all",
         "Measure each tensor in every format; otherwise one measurement a tensor scales its layers' errors",
         &A::measure_all),
    flag("trials", "Choices measured to refine the solution", &A::trials, {.least = 0, .most = 1'000'000}),
    flag("measurements", "File in which measurements are remembered between runs", &A::memory,
         {.file = OptionFile::writes}),
    flag("seconds", "Longest time that one measurement of times takes", &A::seconds,
         {.least = kLeastSeconds, .most = kMostSeconds}),
    flag("seed", "Random seed for the refinement and for the order of rounds", &A::seed)};

// As a comment holds it.
std::string one_line(std::string_view text) {
  std::string line = printable(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

class Description {
 public:
  Description(const AllocateFormatsOptions& options, FoundFormats& found)
      : options_(options), found_(found), study_(found.study), candidates_(found.candidates), plan_(found.chosen()) {}

  AllocatedFormats make() {
    AllocatedFormats result{.study = study_.facts(),
                            .plan = found_.plan,
                            .calibration = study_.data.calibration,
                            .notes = notes(),
                            .file_bytes = found_.file_bytes,
                            .budget = options_.budget,
                            .lambda = options_.lambda,
                            .compute = options_.session.compute.value_or(Compute::f32),
                            .threads = options_.session.threads,
                            .is_uniform = found_.allocation.is_uniform,
                            .speed = found_.speed,
                            .predicted_ms = plan_.cost + found_.fixed_cost,
                            .seconds = found_.seconds};
    result.chosen = measured("the plan", plan_.chosen);
    add_trials(result);
    result.measured = study_.known.measured(), result.recalled = study_.known.recalled();  // of the search
    if (!found_.choice_seconds.empty()) result.choice_seconds = median(found_.choice_seconds);
    for (size_t f = 0; f < candidates_.formats.size(); ++f)
      result.uniform.push_back(measured("all in " + candidates_.formats[f], candidates_.uniform(static_cast<int>(f))));
    add_originals(result);
    add_tensors(result);
    if (options_.front) add_front(result);
    if (options_.measure_all) add_sensitivities(result);
    return result;
  }

 private:
  PlanNotes notes() const {
    const bool of_bytes = options_.budget && options_.budget->kind == Budget::Kind::bytes;
    PlanNotes notes{
        .target = options_.target,
        .bytes = of_bytes ? static_cast<int64_t>(std::min(options_.budget->value, 0x1p62)) : found_.file_bytes};
    if (options_.session.compute) notes.compute = to_string(*options_.session.compute);
    return notes;
  }

  MeasuredChoice sized(const std::string& name, std::span<const int> chosen) const {
    return {.name = name,
            .average_bits = candidates_.average_bits(chosen),
            .bytes = static_cast<int64_t>(candidates_.stored_bytes(chosen))};
  }

  MeasuredChoice measured(const std::string& name, std::span<const int> chosen) {
    MeasuredChoice choice = sized(name, chosen);
    choice.held_out = found_.judged(chosen), choice.selecting = found_.distance(chosen);
    return choice;
  }

  void add_originals(AllocatedFormats& result) {
    const std::vector<int> plain = candidates_.uniform(kPlain);
    if (result.compute != Compute::f32)
      result.original_as_the_others = measured(fmt::format("the original, {}", to_string(result.compute)), plain);
    result.original = sized("the original, f32", plain);
    result.original.held_out = study_.judge().of_reference();
    result.original.selecting = study_.selection().of_reference();
    const double bits = candidates_.average_bits(plain);
    result.original_weighed = {"the original", bits, 0,
                               study_.scale.loss(found_.distance(plain)) + options_.lambda.value_or(0) * bits};
  }

  WeighedChoice weighed(const Trial& trial) const {
    return {trial.origin, candidates_.average_bits(trial.chosen), trial.predicted, trial.score};
  }

  void add_trials(AllocatedFormats& result) {
    const Trial* least = nullptr;
    for (const Trial& trial : found_.allocation.trials) {
      result.trials.push_back(weighed(trial));
      if (trial.origin.starts_with("uniform") && (!least || trial.score < least->score)) least = &trial;
    }
    result.best = found_.allocation.best;
    if (result.is_uniform || !least) return;
    result.least_uniform = weighed(*least);
    result.least_uniform_held_out = found_.judged(least->chosen);
  }

  void add_tensors(AllocatedFormats& result) const {
    for (size_t t = 0; t < candidates_.tensors.size(); ++t) {
      const auto f = static_cast<size_t>(plan_.chosen[t]);
      const TensorSensitivity& s = found_.sensitivities[t];
      result.tensors.push_back({candidates_.tensors[t].name, candidates_.formats[f],
                                static_cast<int64_t>(candidates_.tensors[t].bytes[f]), s.layer_error[f], s.loss(f),
                                s.output_error[f].has_value()});
    }
  }

  void add_front(AllocatedFormats& result) {
    for (size_t i = 0; i < found_.front.size(); ++i) {
      result.front.push_back(measured(fmt::format("{}", i + 1), found_.front[i].chosen));
      result.front.back().predicted = found_.front[i].predicted;
    }
    result.original_of_front = measured("the original", candidates_.uniform(kPlain));
  }

  void add_sensitivities(AllocatedFormats& result) const {
    result.estimates = estimate_quality(found_.sensitivities);
    for (size_t t = 0; t < found_.sensitivities.size(); ++t)
      for (size_t f = 0; f < candidates_.formats.size(); ++f) {
        const TensorSensitivity& s = found_.sensitivities[t];
        if (s.output_error[f])
          result.sensitivities.push_back({candidates_.tensors[t].name, candidates_.formats[f], s.layer_error[f],
                                          s.estimate(f), *s.output_error[f]});
      }
  }

  const AllocateFormatsOptions& options_;
  FoundFormats& found_;
  FormatStudy& study_;
  const Candidates& candidates_;
  const Trial& plan_;
};

}  // namespace

std::span<const OptionField<A>> A::first_fields() {
  static const auto all =
      joined_fields<A>(kAsked, kData, EvaluationFlags::choice_fields("data-"), kFor, ShapeFlags::fields());
  return all;
}

std::span<const OptionField<A>> A::other_fields() {
  static const auto all = joined_fields<A>(kOwn, QuantizeFlags::fields(), RunFlags::fields(), RunFlags::trust_fields());
  return all;
}

std::span<const OptionField<A>> A::fields() {
  static const auto all = joined_fields<A>(first_fields(), other_fields());
  return all;
}

AllocateFormatsOptions A::typed() const {
  check();
  SessionOptions session = session_options();
  session.compute = compute_type();
  return {.formats = parse_format_list(formats),
          .quantize = quantize(),
          .budget = budget.empty() ? std::nullopt : std::optional(parse_budget(budget)),
          .lambda = lambda,
          .data = {data, calibration().batch, {}},
          .calibration = calibration(),
          .judged = choice(),
          .measure_all = measure_all,
          .front = front,
          .trials = static_cast<int>(trials),
          .seed = seed,
          .target = target,
          .shapes = shapes(),
          .seconds = seconds,
          .session = session,
          .memory = memory};
}

AllocatedFormats allocate_formats(const Model& model, const AllocateFormatsOptions& options,
                                  const TaskContext& context) {
  FormatStudy study(model, {.data = options.data,
                            .judged = options.judged,
                            .calibration = options.calibration,
                            .quantize = options.quantize,
                            .session = options.session,
                            .memory = options.memory});
  FoundFormats found = search_formats(options, study, context);
  return Description(options, found).make();
}

AllocatedFormats allocate_formats(const Model& model, const AllocateFlags& options, const TaskContext& context) {
  return allocate_formats(model, options.typed(), context);
}

void check_plan_name(const std::string& path) {
  if (!path.ends_with(".toml")) fail("{}: the plan's name must end in .toml", path);
}

void write_plan(const std::string& path, const AllocatedFormats& allocated, const std::string& made_by) {
  check_plan_name(path);
  write_file(path, fmt::format("# {}\n# {}: {:.3f} bits per element; {} bytes as .{}\n\n{}{}", one_line(made_by),
                               one_line(allocated.study.model), allocated.chosen.average_bits, allocated.file_bytes,
                               allocated.notes.target, options_toml(plan_fields(), allocated.notes),
                               quantize_config(path, allocated.plan, allocated.calibration)));
}

}  // namespace hone
