#include "ship/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/duration.h"
#include "base/stop.h"
#include "device/device_lost.h"
#include "jobs/scratch_folder.h"
#include "ship/measured.h"
#include "ship/mixed_plans.h"

namespace hone {
namespace {

constexpr double kSlower = 1.05;        // of the original's time: what a quick measurement tells from chance
constexpr size_t kImproved = 2;         // formats that methods are tried on
constexpr int kBisections = 4;          // of the size of a mixed plan
constexpr int64_t kProbeSteps = 4;      // of a training, to learn how long one takes
constexpr double kTrainingShare = 0.4;  // of the time that is left, for one training
constexpr double kPruned = 0.25;
constexpr double kLeastTiming = 0.05;  // seconds

// Why a candidate could not be made; what goes wrong with the measurements' file is no such fault.
struct CandidateFault {
  std::string what;
};
struct OutOfTime {};

std::string way_of(const Recipe& r) {
  return fmt::format("{} {} {}", r.method, r.awq_scaling, r.rule.empty() ? "" : "mixed");
}

bool is_slower(const TriedCandidate& c) { return c.speed && c.speed->share_ci95.low > kSlower; }

}  // namespace

Deadline::Deadline(double seconds) : start_(steady_ns()), seconds_(seconds) {}
double Deadline::spent() const { return static_cast<double>(steady_ns() - start_) * 1e-9; }
double Deadline::left() const { return seconds_ - kept_ - spent(); }

int64_t file_bytes(const std::string& output, const Graph& graph, const NamedFiles& files) {
  const ExporterDef& exporter = exporter_for(output);
  if (const std::optional<int64_t> bytes = exporter.bytes ? exporter.bytes(graph, files) : std::nullopt) return *bytes;
  const ScratchFolder folder;
  return write_scratch_model(folder.path() + "/size" + exporter.ending, graph, files);
}

ShipSearch::ShipSearch(const SearchOptions& options, const Promises& promises, Measurements& known,
                       const Deadline& deadline, const TaskContext& context)
    : o_(options), promises_(promises), known_(known), deadline_(deadline), context_(context) {}

void ShipSearch::run() {
  try_formats();
  try_rounded_inputs();
  try_methods();
  try_mixed();
  if (o_.ship.train) try_training();
  try_other_compute();
  if (!chosen_ && promises_.assumed) take_nearest();
}

// Nobody asked for what is assumed: what comes nearest to it is an answer, too.
void ShipSearch::take_nearest() {
  for (size_t i = 0; i < tried_.size(); ++i)
    if (tried_[i].quality && std::isfinite(tried_[i].quality->loss) &&
        (!chosen_ || tried_[i].quality->loss < tried_[*chosen_].quality->loss))
      chosen_ = i;
}

void ShipSearch::take(const Recipe& recipe) { consider(recipe, 0); }

bool ShipSearch::has_time(double seconds) const { return deadline_.left() > seconds; }

double ShipSearch::expected(const Recipe& recipe) const {
  const auto known = seconds_.find(way_of(recipe));
  if (known != seconds_.end()) return known->second;
  const auto nearest = seconds_.find(way_of({}));
  constexpr double kOfMethod = 3;  // before one has been tried: statistics, and rounding that takes longer
  return nearest == seconds_.end() ? o_.run_seconds : kOfMethod * nearest->second;
}

// nullptr: there is no time for it, or it can't be made.
const TriedCandidate* ShipSearch::consider(const Recipe& recipe, double expected_share) {
  const std::string text = recipe_text(recipe);
  for (const TriedCandidate& known : tried_)
    if (recipe_text(known.recipe) == text) return known.fault.empty() ? &known : nullptr;
  TriedCandidate candidate{.name = name_of(recipe), .recipe = recipe};
  const bool first = tried_.empty();
  if (!first && !has_time(expected_share * expected(recipe))) {
    untried_.push_back(candidate.name);
    return nullptr;
  }
  const int64_t start = steady_ns();
  context_.tell(fmt::format("candidate {}: {}, until {} at most", tried_.size() + 1, candidate.name,
                            duration_text(deadline_.spent() + std::max(0.0, deadline_.left()))));
  try {
    measure(candidate, text);
  } catch (const CandidateFault& fault) {
    candidate.fault = fault.what;
  } catch (const OutOfTime&) {
    untried_.push_back(candidate.name);
    return nullptr;
  }
  candidate.seconds = static_cast<double>(steady_ns() - start) * 1e-9;
  if (candidate.quality && !is_trained(recipe)) {
    double& longest = seconds_[way_of(recipe)];
    longest = std::max(longest, candidate.seconds);
  }
  candidate.meets = candidate.fault.empty() && meets(candidate);
  tried_.push_back(std::move(candidate));
  choose();
  return tried_.back().fault.empty() ? &tried_.back() : nullptr;
}

void ShipSearch::measure(TriedCandidate& candidate, const std::string& key) {
  std::optional<Graph> made;
  const auto graph = [&]() -> const Graph& {
    if (made) return *made;
    // A training may not take the time of what follows; everything else is short.
    TaskContext context{.progress = context_.progress};
    context.cancelled = [&] {
      return (context_.cancelled && context_.cancelled()) || (is_trained(candidate.recipe) && deadline_.left() < 0);
    };
    try {
      return made.emplace(o_.maker.make(candidate.recipe, context));
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error& error) {
      throw CandidateFault{error.what()};
    } catch (const Stopped&) {
      context_.check();
      throw OutOfTime{};
    }
  };
  candidate.bytes = static_cast<int64_t>(known_.get("bytes\n" + o_.output + "\n" + key, [&] {
    const Graph& g = graph();
    try {
      return static_cast<double>(file_bytes(o_.output, g, o_.model.files));
    } catch (const Error& error) {
      throw CandidateFault{error.what()};
    }
  }));
  if (is_ruled_out(candidate.bytes)) return;
  const MeasuredValues values = known_.get<std::tuple_size_v<MeasuredValues>>("measured\n" + key, [&] {
    const Graph& g = graph();
    try {
      return values_of(o_.meter.of(g), o_.speed.measure(g, std::max(o_.run_seconds / 4, kLeastTiming)));
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error& error) {
      throw CandidateFault{error.what()};
    }
  });
  candidate.quality = quality_of(values, o_.meter.kind().has_value());
  candidate.speed = speed_of(values);
}

// Its size alone says that it will not be chosen.
bool ShipSearch::is_ruled_out(int64_t bytes) const {
  if (promises_.max_bytes && static_cast<double>(bytes) > *promises_.max_bytes) return true;
  return promises_.of_quality() && chosen_ && !is_slower(tried_[*chosen_]) && bytes > tried_[*chosen_].bytes;
}

bool ShipSearch::meets_quality(const TriedCandidate& c) const {
  return keeps_quality(promises_, *c.quality, o_.meter.of_original(), o_.meter.kind());
}

bool ShipSearch::meets(const TriedCandidate& c) const {
  if (promises_.max_bytes && static_cast<double>(c.bytes) > *promises_.max_bytes) return false;
  if (!c.quality || !std::isfinite(c.quality->loss)) return false;
  if (promises_.max_latency && !keeps(*promises_.max_latency, *c.speed)) return false;
  return meets_quality(c);
}

// What is slower than the original is chosen only where nothing else keeps the promises. Then the smallest file counts
// where answers were promised, and otherwise what loses least. Of one recipe in two compute types, the quicker.
bool ShipSearch::is_preferred(const TriedCandidate& a, const TriedCandidate& b) const {
  if (is_slower(a) != is_slower(b)) return is_slower(b);
  Recipe alike = b.recipe;
  alike.compute = a.recipe.compute;
  if (a.bytes == b.bytes && recipe_text(a.recipe) == recipe_text(alike)) return a.speed->ms < b.speed->ms;
  if (promises_.of_quality() && a.bytes != b.bytes) return a.bytes < b.bytes;
  return a.quality->loss != b.quality->loss ? a.quality->loss < b.quality->loss : a.bytes < b.bytes;
}

void ShipSearch::choose() {
  for (size_t i = 0; i < tried_.size(); ++i)
    if (tried_[i].meets && (!chosen_ || is_preferred(tried_[i], tried_[*chosen_]))) chosen_ = i;
}

// The first in both compute types: the quicker of them is that of the others.
void ShipSearch::try_formats() {
  for (const std::string& format : o_.formats) {
    Recipe recipe;
    recipe.to = format, recipe.compute = compute_;
    const TriedCandidate* plain = consider(recipe);
    if (!plain || format != o_.formats.front()) continue;
    const double plain_low = plain->speed ? plain->speed->share_ci95.low : 0;
    recipe.compute = "bf16";
    const TriedCandidate* narrow = consider(recipe);
    if (narrow && narrow->speed && narrow->speed->share_ci95.high < plain_low) compute_ = "bf16";
  }
}

void ShipSearch::try_rounded_inputs() {
  if (!std::ranges::count(o_.formats, "int8.channel")) return;
  Recipe recipe;
  recipe.to = "int8.channel", recipe.activations = "int8";
  consider(recipe);
}

// Where answers are promised: formats that are smaller than the chosen and fail narrowly. Otherwise those that lose
// least. Nearest first.
std::vector<Recipe> ShipSearch::promising(size_t most) const {
  std::vector<const TriedCandidate*> found;
  for (const TriedCandidate& c : tried_) {
    const bool is_plain = c.fault.empty() && c.recipe.rule.empty() && !is_trained(c.recipe) &&
                          c.recipe.method == "nearest" && c.recipe.compute == compute_ && c.recipe.activations.empty();
    if (!is_plain || !c.quality) continue;
    if (promises_.of_quality() && (c.meets || (chosen_ && c.bytes >= tried_[*chosen_].bytes))) continue;
    found.push_back(&c);
  }
  std::ranges::stable_sort(found, {}, [](const TriedCandidate* c) { return c->quality->loss; });
  std::vector<Recipe> recipes;
  for (size_t i = 0; i < std::min(most, found.size()); ++i) recipes.push_back(found[i]->recipe);
  return recipes;
}

void ShipSearch::try_methods() {
  for (const Recipe& base : promising(kImproved))
    for (const char* method : {"scale-search", "gptq", "awq"}) {
      Recipe recipe = base;
      recipe.awq_scaling = method == std::string_view("awq");
      recipe.method = recipe.awq_scaling ? "scale-search" : method;
      consider(recipe);
    }
}

// Sizes between what fails and what is chosen, halved as often as there is time; or the largest that is allowed.
void ShipSearch::try_mixed() {
  if (o_.formats.size() < 2 || (!promises_.of_quality() && !promises_.max_bytes)) return;
  const auto fits = [&](const TriedCandidate& c) {
    return c.fault.empty() && (!promises_.max_bytes || static_cast<double>(c.bytes) <= *promises_.max_bytes);
  };
  if (std::ranges::none_of(tried_, fits)) return;
  double least = INFINITY, most = 0, beside = 0;
  Recipe base;
  base.method = "gptq", base.compute = compute_;
  const double trial = expected(base);
  const auto told = [&](const std::string& next) {
    context_.tell(next);
    if (!has_time(2 * trial)) throw OutOfTime{};
  };
  try {
    const MixedPlans plans(o_.maker, o_.formats, base, o_.ship.session, known_, told);
    for (size_t f = 0; f < o_.formats.size(); ++f)
      for (const TriedCandidate& c : tried_)
        if (c.fault.empty() && c.recipe.to == o_.formats[f] && c.recipe.rule.empty() && !is_trained(c.recipe)) {
          beside = std::max(beside, static_cast<double>(c.bytes - plans.stored_bytes(static_cast<int>(f))));
          least = std::min(least, static_cast<double>(c.bytes)), most = std::max(most, static_cast<double>(c.bytes));
        }
    if (chosen_ && promises_.of_quality()) most = static_cast<double>(tried_[*chosen_].bytes);
    if (promises_.max_bytes) most = std::min(most, *promises_.max_bytes);
    const bool bisects = promises_.of_quality();
    for (int i = 0; i < (bisects ? kBisections : 2) && least < most; ++i) {
      const double size = bisects ? (least + most) / 2 : most;
      const std::optional<Recipe> recipe = plans.within(size, beside);
      if (!recipe) return;
      const TriedCandidate* c = consider(*recipe);
      if (!c) return;
      if (c->meets) most = static_cast<double>(c->bytes);
      else if (promises_.max_bytes && static_cast<double>(c->bytes) > *promises_.max_bytes)
        beside += static_cast<double>(c->bytes) - *promises_.max_bytes;  // what tensors' sizes do not add up to
      else least = size;
      if (!bisects && c->quality) return;
    }
  } catch (const OutOfTime&) {
    untried_.emplace_back("mixed plans");
  } catch (const DeviceLost&) {
    throw;
  } catch (const Error& error) {
    tried_.push_back({.name = "mixed plans", .fault = error.what()});
  }
}

// Steps that fit the time: at most those of the epochs that are asked for.
void ShipSearch::try_training() {
  const int64_t rows = o_.maker.training_rows();
  const TrainingOptions& asked = o_.maker.training();
  const int64_t wanted = asked.steps > 0 ? asked.steps : asked.epochs * std::max<int64_t>(1, rows / asked.batch);
  std::vector<Recipe> recipes;
  std::vector<Recipe> targets = promising(kImproved);
  if (targets.empty() && chosen_) targets.push_back(tried_[*chosen_].recipe);
  for (const char* how : {"qat", "lora"})
    for (const Recipe& target : targets) {
      Recipe recipe;
      recipe.to = target.to, recipe.compute = compute_, recipe.train = how;
      if (!recipe.to.empty()) recipes.push_back(recipe);
    }
  std::string to_prune = chosen_ ? tried_[*chosen_].recipe.to : "";
  if (to_prune.empty()) to_prune = targets.empty() ? o_.formats.front() : targets.front().to;
  for (const char* structure : {"neurons", "channels"}) {
    Recipe recipe;
    recipe.to = to_prune;
    recipe.compute = compute_, recipe.train = "weights", recipe.prune = structure, recipe.sparsity = kPruned;
    recipes.push_back(recipe);
  }
  for (Recipe& recipe : recipes) {
    recipe.steps = kProbeSteps;
    if (!has_time(o_.run_seconds)) {
      recipe.steps = wanted;
      untried_.push_back(name_of(recipe));
      continue;
    }
    const double share = kTrainingShare * deadline_.left();
    const double steps = known_.get("steps\n" + recipe_text(recipe), [&] {
      const int64_t start = steady_ns();
      const TriedCandidate* probe = consider(recipe, 0);
      if (!probe || !probe->quality) return 0.0;  // it can't be made, or its size rules it out
      const double seconds = static_cast<double>(steady_ns() - start) * 1e-9;
      return std::clamp(std::floor(share / seconds * kProbeSteps), 0.0, static_cast<double>(wanted));
    });
    recipe.steps = static_cast<int64_t>(steps);
    if (recipe.steps > kProbeSteps) consider(recipe, 0);
  }
}

void ShipSearch::try_other_compute() {
  if (!chosen_) return;
  Recipe recipe = tried_[*chosen_].recipe;
  recipe.compute = recipe.compute == "f32" ? "bf16" : "f32";
  consider(recipe);
}

}  // namespace hone
