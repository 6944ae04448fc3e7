#include "ship/ship.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/hash.h"
#include "base/staged_files.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/threads.h"
#include "jobs/text_inputs.h"
#include "measure/claim.h"
#include "ship/search.h"
#include "ship/unmet.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLearningRows = 128;  // that rounding methods learn from: more change little
constexpr int64_t kProbeRows = 32;      // that a first run is timed on
constexpr int64_t kFewestRows = 16, kMostChoosing = 2000, kMostJudging = 10000;
// Shares of the time: measuring one candidate, judging, and the final timing. With a search of a score of candidates
// these fill it.
constexpr double kOneCandidate = 0.02, kJudging = 0.1, kTiming = 0.05, kProcesses = 0.15;
constexpr double kLeastTiming = 0.3, kMostTiming = 20;  // seconds
constexpr double kFinalShare = 0.6;                     // of a time that is enough, what follows the search may take
constexpr double kAssumedError = 0.01;  // of outputs and embeddings: 20 dB, a cosine of about 0.995 to the original's
constexpr int kFreshProcesses = 10;     // that memory and first results are measured in, at least

double seconds_since(int64_t start) { return static_cast<double>(steady_ns() - start) * 1e-9; }

// Seen from the folder of the TOML where it lies below that.
std::string seen_from(const std::string& toml, const std::string& file) {
  const fs::path place = fs::absolute(file).lexically_normal();
  const fs::path below = place.lexically_relative(fs::absolute(toml).lexically_normal().parent_path());
  return below.empty() || *below.begin() == ".." ? place : below;
}

class ShipJob {
 public:
  ShipJob(const Model& model, const std::string& output, const ShipModelOptions& options, const TaskContext& context)
      : model_(model), output_(output), options_(options), context_(context), deadline_(options.seconds) {}

  ShipPlan plan() {
    prepare();
    ShipPlan plan = described();
    for (const std::string& format : options_.formats) {
      Recipe recipe;
      recipe.to = format;
      TriedCandidate candidate{.name = name_of(recipe), .recipe = recipe};
      context_.tell(fmt::format("the size of {}", candidate.name));
      try {
        candidate.bytes = file_bytes(output_, maker_->make(recipe, context_), model_.files);
        candidate.meets = !promises_.max_bytes || static_cast<double>(candidate.bytes) <= *promises_.max_bytes;
      } catch (const Error& fault) {
        candidate.fault = fault.what();
      }
      plan.candidates.push_back(std::move(candidate));
    }
    return plan;
  }

  ShipResult run() {
    prepare();
    // Places that can't be written are known before the work, of which a kill leaves nothing there.
    StagedFiles{output_};
    if (!options_.again) AtomicFile{config_path(output_)};
    make_work_folder();
    try {
      const ShipResult result = shipped();
      fs::remove_all(work_folder(output_));
      return result;
    } catch (const Stopped&) {
      context_.note(
          fmt::format("{} keeps what was measured: the same command goes on from there", work_folder(output_)));
      throw;
    } catch (...) {
      if (known_ && known_->measured() + known_->recalled() == 0) fs::remove_all(work_folder(output_));
      throw;
    }
  }

 private:
  void prepare() {
    exporter_for(output_);
    refuse_source_as_output(output_, model_);
    if (options_.evaluation.max_length > 0) cut_texts(model_, options_.evaluation.max_length);
    evaluation_ = options_.evaluation;
    promises_ = options_.promises;
    deal_ = {evaluation_.data.split, evaluation_.data.limit, options_.seed, options_.train};
    context_.tell("reading the data");
    parts_ = read_parts(model_, evaluation_.data.path, evaluation_.data.reading, deal_);
    if (options_.train && std::holds_alternative<std::monostate>(parts_.dataset.labels))
      fail("--train: {} has no labels to train by; leave --train out, or give data with labels", evaluation_.data.path);
    shapes_ = with_sizes_of_rows(options_.shapes, model_.graph, parts_.dataset);
    bind_symbols(model_.graph, shapes_);  // sizes that are not known are refused now
    session_ = options_.session;
    session_.threads = hardware_threads();
    session_.compute.reset();  // of each candidate as it is stored
    make_maker();
  }

  void make_maker() {
    const bool apart = reads_pairs_apart(model_, parts_.data(parts_.choose, kFewestRows), evaluation_);
    const auto learning = std::make_shared<CalibrationData>(
        learning_samples(model_, parts_, kLearningRows, evaluation_.data.batch, apart));
    MakerOptions options{.session = session_, .training_rows = std::ssize(parts_.learn)};
    TrainModelOptions& training = options.training;
    training.data = evaluation_.data.path, training.reading = evaluation_.data.reading;
    training.dealt = [deal = deal_](Dataset& data) {
      deal_rows(data, deal);
      std::erase_if(data.splits, [](const Split& split) { return split.name == "test"; });
    };
    std::string data_of_config;
    if (!options_.train_config.empty())
      read_train_config(options_.train_config, training.training, training.reading, data_of_config);
    if (!data_of_config.empty())
      fail("{}: names data; hone ship trains on the part of --data that is to learn from", options_.train_config);
    training.training.seed = static_cast<int64_t>(options_.seed);
    options.folder = work_folder(output_);
    maker_.emplace(model_, learning, options);
  }

  ShipPlan described() const {
    return {.rows = fmt::format("{}, dealt out by seed {}", parts_.text(), options_.seed),
            .choosing_rows = choosing_rows_,
            .judging_rows = judging_rows_,
            .objective = promises_.of_quality() || !promises_.any()
                             ? "the smallest file that keeps what was promised, and is not shown to take longer"
                             : "the file that loses least within what was promised",
            .original_bytes = original_bytes(output_, model_),
            .limits_size = promises_.max_bytes.has_value(),
            .candidates = {}};
  }

  void make_work_folder() {
    std::error_code error;
    fs::create_directories(work_folder(output_), error);
    if (error) fail("{}: {}; it is where a run that was stopped goes on", work_folder(output_), error.message());
    std::string training = options_.train_config.empty() ? "" : sha256_of_file(options_.train_config);
    known_.emplace(
        work_folder(output_) + "/measurements.txt",
        fmt::format("{} {} {} {} {} {} {} {}", model_.sha256(), parts_.sha256, options_.seed, options_.train, training,
                    std::string(device_name(session_)), options_.session.threads, options_.settings));
  }

  void allot() {
    const auto probed = [&](int64_t rows) {
      const auto meter = quality_meter(model_, parts_.data(parts_.choose, rows), evaluation_, session_, context_);
      require_metric(*meter);
      const int64_t start = steady_ns();
      meter->of(maker_->graph());
      return std::max(seconds_since(start), 1e-6);
    };
    // The first run compiles, which the next ones find done. What opening takes is told from what a row takes.
    const double few_rows = kProbeRows / 4;
    probed(kProbeRows / 4);
    const double few = probed(kProbeRows / 4), many = probed(kProbeRows);
    const double per_row = std::max((many - few) / (kProbeRows - few_rows), many / kProbeRows / 20);
    const double opening = std::max(0.0, many - kProbeRows * per_row);
    const auto affordable = [&](double share, int64_t most, size_t there) {
      const double rows = share * options_.seconds / per_row;
      return std::min(std::clamp(static_cast<int64_t>(std::min(rows, 1e9)), kFewestRows, most),
                      static_cast<int64_t>(there));
    };
    choosing_rows_ = static_cast<int64_t>(known_->get("rows to choose on", [&] {
      return static_cast<double>(affordable(kOneCandidate, kMostChoosing, parts_.choose.size()));
    }));
    const int64_t judging = affordable(kJudging / 3, kMostJudging, parts_.judge.size());
    judging_rows_ =
        options_.judging_rows > 0
            ? options_.judging_rows
            : static_cast<int64_t>(known_->get("rows to judge on", [&] { return static_cast<double>(judging); }));
    run_seconds_ = opening + per_row * static_cast<double>(choosing_rows_);
    judging_seconds_ = 3 * (opening + per_row * static_cast<double>(judging_rows_));
    require_time(deadline_.spent() + 2 * run_seconds_ + 1.2 * judging_seconds_);
  }

  void require_time(double least) const {
    if (!options_.again && least > options_.seconds)
      fail("--time {}: is too short to try one candidate and to measure its file: about {} are needed here",
           duration_text(options_.seconds), duration_text(1.2 * least));
  }

  // What is asked for must be measurable, and the original must keep it.
  void require_metric(const QualityMeter& meter) {
    const bool of_metric = promises_.max_drop || promises_.min_metric;
    if (of_metric && !meter.kind())
      fail(
          "--{}: of which metric? {} has no labels, and the outputs are neither classes, boxes nor embeddings; give "
          "data with labels, or --metric",
          promises_.max_drop ? "max-drop" : "min-metric", evaluation_.data.path);
    if (!promises_.any()) {
      promises_.assumed = true;
      if (meter.kind() && meter.kind()->is_noticed) promises_.max_drop = MaxDrop{1, true};
      else promises_.max_error = kAssumedError;
    }
    kind_ = meter.kind();
  }

  void require_original_keeps(const AnswerQuality& original) const {
    if (!promises_.min_metric || allowed_loss(promises_, original, *kind_) >= 0) return;
    fail(
        "--min-metric {:g}: the original itself has {} of {} on the rows to choose on, which rounding does not raise; "
        "ask "
        "for less, or train the model first (hone train)",
        *promises_.min_metric, figure_text(*kind_, *original.figure), kind_->title);
  }

  // Timing sets both models up several times; a fresh process opens one, too.
  void keep_time_for_the_end(double session_seconds) {
    timing_seconds_ = std::clamp(kTiming * options_.seconds, kLeastTiming, kMostTiming);
    const double placing = 2.0 * kPlacements * session_seconds + timing_seconds_;
    const double processes = kFreshProcesses * (0.2 + 1.5 * session_seconds) + timing_seconds_;
    probes_ = context_.new_process && processes < kProcesses * options_.seconds;
    const double end = 1.2 * (judging_seconds_ + placing + (probes_ ? processes : 0) + 4 * session_seconds);
    const double one = 2 * run_seconds_ + session_seconds;
    if (options_.again) return;
    require_time(std::max(deadline_.spent() + one + end, end / kFinalShare));
    deadline_.keep_free(end);
  }

  ShipResult shipped() {
    allot();
    const auto choosing =
        quality_meter(model_, parts_.data(parts_.choose, choosing_rows_), evaluation_, session_, context_);
    require_original_keeps(choosing->of_original());
    context_.tell("timing the original");
    const int64_t start = steady_ns();
    SessionOptions timed = options_.session;
    timed.compute.reset();
    const CandidateOptions open{.shapes = shapes_, .session = timed, .seed = options_.seed};
    SpeedMeter speed(model_, open);
    keep_time_for_the_end(seconds_since(start));
    ShipSearch search({.ship = options_,
                       .model = model_,
                       .maker = *maker_,
                       .meter = *choosing,
                       .speed = speed,
                       .formats = options_.formats,
                       .output = output_,
                       .run_seconds = run_seconds_},
                      promises_, *known_, deadline_, context_);
    if (options_.again) search.take(*options_.again);
    else search.run();
    if (options_.again && !search.tried()[0].fault.empty()) fail("{}", search.tried()[0].fault);
    const std::optional<size_t> chosen = options_.again ? std::optional<size_t>(0) : search.chosen();
    if (!chosen) refuse(unmet_promise(search.tried(), promises_, choosing->of_original(), kind_));
    ShipResult result{.plan = described(), .kind = kind_, .chosen = *chosen};
    result.plan.candidates = search.tried();
    result.untried = search.untried();
    result.recalled = known_->recalled();
    StagedFiles staged(output_);
    seal(result, staged, open);
    result.config = config_text(result);
    std::optional<AtomicFile> config;
    if (!options_.again) config.emplace(config_path(output_)), config->write(result.config);
    staged.commit();
    if (config) config->commit();
    result.seconds = deadline_.spent(), result.allowed_seconds = options_.seconds;
    return result;
  }

  void seal(ShipResult& result, StagedFiles& staged, const CandidateOptions& open) {
    const TriedCandidate& chosen = result.plan.candidates[result.chosen];
    context_.tell("writing " + chosen.name);
    result.saved = save_model(staged.staged(), maker_->make(chosen.recipe, context_), model_);
    const Model written = load_model(staged.staged());
    const EvaluationData rows = parts_.data(parts_.judge, judging_rows_);
    result.judged_on = rows.title;
    const auto judge = quality_meter(model_, rows, evaluation_, session_, context_);
    context_.tell("judging the written file on " + rows.title);
    result.original = judge->of_original(), result.judged = judge->of(written.graph);
    result.timed = time_models(std::vector{model_, written},
                               {.open = open, .seconds = timing_seconds_, .probe = probes_}, context_);
    for (TimedModel& model : result.timed.models) model.file.path = staged.in_place(model.file.path);
    result.saved.check = staged.in_place(result.saved.check);
    for (std::string& file : result.saved.files) file = staged.in_place(file);
    hold_to_promises(result);
  }

  void hold_to_promises(ShipResult& result) const {
    if (promises_.max_bytes) hold_size(result);
    if (promises_.max_latency) hold_latency(result);
    if (promises_.max_drop || promises_.min_metric) hold_quality(result);
    else if (promises_.max_error)
      result.kept.push_back(
          fmt::format("outputs within {:g} of the original's (relative, squared): {}", *promises_.max_error,
                      result.judged.error <= *promises_.max_error ? "kept" : "not kept on these rows"));
  }

  void hold_size(ShipResult& result) const {
    const double bytes = static_cast<double>(result.saved.bytes);
    if (bytes > *promises_.max_bytes)
      refuse(
          fmt::format("--max-size {}: the written file has {}", human_bytes(*promises_.max_bytes), human_bytes(bytes)));
    result.kept.push_back(fmt::format("--max-size {}: kept", human_bytes(*promises_.max_bytes)));
  }

  void hold_latency(ShipResult& result) const {
    const TimedModel& model = result.timed.models[1];
    const Ratio& ratio = model.comparison->ratio;
    const Interval& ns = model.timing.median_ci95;
    const Speed speed{.ms = model.timing.p50 * 1e-6,
                      .original_ms = result.timed.models[0].timing.p50 * 1e-6,
                      .ms_ci95 = {ns.low * 1e-6, ns.high * 1e-6},
                      .share = 1 / ratio.value,
                      .share_ci95 = {1 / ratio.ci95.high, 1 / ratio.ci95.low}};
    if (!keeps(*promises_.max_latency, speed))
      refuse(
          fmt::format("--max-latency: {} is asked for, and the written file takes {:.3f} ms ({:.3f}-{:.3f}), {:.2f} of "
                      "the original's time ({:.2f}-{:.2f})",
                      to_string(*promises_.max_latency), speed.ms, speed.ms_ci95.low, speed.ms_ci95.high, speed.share,
                      speed.share_ci95.low, speed.share_ci95.high));
    result.kept.push_back(
        fmt::format("--max-latency {}: kept by the whole interval", to_string(*promises_.max_latency)));
  }

  void hold_quality(ShipResult& result) const {
    const Loss loss = loss_of(result.judged, *kind_);
    const double allowed = allowed_loss(promises_, result.original, *kind_);
    const std::string asked = promises_.max_drop ? fmt::format("--max-drop {}", to_string(*promises_.max_drop))
                                                 : fmt::format("--min-metric {:g}", *promises_.min_metric);
    const std::string found =
        fmt::format("{}{} of {} lost where {} may be", value_text(*kind_, loss.value),
                    loss.has_interval ? fmt::format(" (at most {})", value_text(*kind_, loss.at_most)) : "",
                    kind_->title, value_text(*kind_, std::max(0.0, allowed)));
    const bool is_kept = loss.value <= allowed + 1e-12;
    if (!is_kept && !promises_.assumed)
      refuse(fmt::format("{}: {} seemed to keep it on the rows to choose on, but on {} that it had not seen: {}", asked,
                         result.plan.candidates[result.chosen].name, result.judged_on, found));
    const char* how = !is_kept                          ? "not kept on these rows"
                      : !loss.has_interval              ? "kept, by a value without an interval"
                      : loss.at_most <= allowed + 1e-12 ? "kept by the whole interval"
                                                        : "kept by the value, not by the whole interval";
    result.kept.push_back(fmt::format("{}{}: {}: {}", promises_.assumed ? "assumed " : "", asked, how, found));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    std::vector<std::string> help;
    if (promises_.of_quality() || promises_.max_bytes) {
      if (!options_.train && !std::holds_alternative<std::monostate>(parts_.dataset.labels))
        help.emplace_back("--train");
      help.emplace_back("other --formats");
    }
    if (promises_.max_latency) help.emplace_back("more --threads, or a smaller --batch or --seq");
    if (promises_.of_quality()) help.emplace_back("more rows of data");
    help.emplace_back("more --time");
    fail(
        "{}. {} is not written. What would help: a promise that is met, {}. What was measured is kept in {} for the "
        "next run",
        what, output_, fmt::join(help, ", "), work_folder(output_));
  }

  std::string config_text(const ShipResult& result) const {
    const std::string toml = config_path(output_);
    const auto path = [&](const char* key, const std::string& file) {
      return fmt::format("{} = {}\n", key, detail::toml_string(seen_from(toml, file)));
    };
    const TriedCandidate& chosen = result.plan.candidates[result.chosen];
    std::string text = fmt::format(
        "# What hone ship chose of {} candidates: {}.\n# hone ship MODEL --config THIS -o FILE makes it again.\n",
        result.plan.candidates.size(), chosen.name);
    text += path("data", evaluation_.data.path);
    if (!options_.train_config.empty()) text += path("train-config", options_.train_config);
    text += options_.asked + options_.settings + fmt::format("judging-rows = {}\n", judging_rows_);
    Recipe recipe = chosen.recipe;
    text += "\n[recipe]\n" + recipe_text(recipe);
    if (recipe.compute == Recipe().compute) text += fmt::format("compute = \"{}\"\n", recipe.compute);
    return text;
  }

  Model model_;
  const std::string output_;
  const ShipModelOptions options_;
  const TaskContext& context_;
  Deadline deadline_;
  EvaluationOptions evaluation_;
  Promises promises_;
  std::optional<FigureKind> kind_;
  Deal deal_;
  ShipParts parts_;
  ShapeOptions shapes_;     // of what is timed
  SessionOptions session_;  // of all but times: with all threads
  std::optional<Maker> maker_;
  std::optional<Measurements> known_;
  int64_t choosing_rows_ = 0, judging_rows_ = 0;
  double run_seconds_ = 0, judging_seconds_ = 0, timing_seconds_ = kLeastTiming;
  bool probes_ = false;
};

}  // namespace

ShipPlan plan_ship(const Model& model, const std::string& output, const ShipModelOptions& options,
                   const TaskContext& context) {
  return ShipJob(model, output, options, context).plan();
}

ShipResult ship(const Model& model, const std::string& output, const ShipModelOptions& options,
                const TaskContext& context) {
  return ShipJob(model, output, options, context).run();
}

}  // namespace hone
