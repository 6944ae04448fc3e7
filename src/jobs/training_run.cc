#include "jobs/training_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "data/batch_reader.h"

namespace hone {
namespace {

Metric metric_of(const TrainingOptions& options, const LabelNeeds& needs) {
  const Metric metric = parse_metric(options.metric.empty() ? needs.metric : options.metric);
  if (!metric.fits(needs.kind))
    fail("metric {} is not one of {}: {}", metric.name(), to_string(needs.kind), metric.def->doc);
  return metric;
}

std::string duration_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  return seconds < 5400 ? fmt::format("{:.1f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

// NaN and infinities are no JSON.
Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(); }
double number_of(const Json& value) { return value.is_number() ? value.get<double>() : std::nan(""); }

TrainingLoop loop_of(const Batches& data, const TrainingOptions& options, double rate, const Ranks* ranks) {
  const int64_t steps = options.steps > 0 ? options.steps : options.epochs * data.per_epoch();
  return {data, Schedule(options, rate, steps), steps, ranks ? BatchShare{ranks->rank(), ranks->size()} : BatchShare()};
}

}  // namespace

TrainingRun::TrainingRun(Trainer& trainer, Teacher* teacher, const TrainingData& data, const TrainingOptions& options,
                         double rate, std::string folder, std::string identity, std::string decisive, Ranks* ranks)
    : trainer_(trainer),
      teacher_(teacher),
      data_(data),
      options_(options),
      folder_(std::move(folder)),
      identity_(std::move(identity)),
      decisive_(std::move(decisive)),
      ranks_(ranks),
      metric_(metric_of(options, data.needs())),
      loop_(loop_of(data.train(), options, rate, ranks)) {}

double TrainingRun::seconds() const { return seconds_before_ + static_cast<double>(steady_ns() - begin_ns_) * 1e-9; }

TrainingOutcome TrainingRun::run(const TaskContext& context) {
  begin_ns_ = steady_ns();
  if (is_first())
    log_.emplace(folder_, std::vector<std::string>{"loss", "rate", "gradient_norm", metric_.name()}, trainer_.steps());
  if (ended_.empty())
    loop_.run(trainer_.steps(), loop_.steps(),
              {.make = [&](const TrainingStep& next) { return step(next); },
               .lost = [&](const TrainingStep& at, double loss) { name_first_fault(at.number + 1, loss, context); },
               .made =
                   [&](const TrainingStep&, double loss) {
                     after_step(loss, context);
                     return ended_.empty();
                   }});
  const int64_t made = trainer_.steps();
  if (!is_first()) return {.steps = made};
  if (best_ && best_->step != made) {
    const Checkpoint best = load_checkpoint(best_path());
    trainer_.restore(best.tensors, best_->step, best_path());
  }
  if (as_written) trainer_.change_parameters(as_written);
  if (best_) {
    context.tell(fmt::format("validation of the weights of step {}", best_->step));
    best_ = validate(true);
  }
  return {.steps = made,
          .seconds = seconds(),
          .best = best_,
          .last = last_,
          .ended = ended_,
          .log = {log_->entries().begin(), log_->entries().end()},
          .metric = metric_};
}

std::vector<NamedTensors> TrainingRun::lessons(const Batch& batch) {
  std::vector<NamedTensors> parts = data_.parts(batch, options_.parts);
  if (!teacher_) return parts;
  const std::vector<NamedTensors> inputs = data_.teacher_parts(batch, options_.parts);
  for (size_t i = 0; i < parts.size(); ++i) teacher_->teach(inputs[i], parts[i]);
  return parts;
}

double TrainingRun::step(const TrainingStep& step) {
  const Trainer::Step done = trainer_.step(lessons(step.batch), step.rate, false, step.batch.first);
  if (!std::isfinite(done.loss)) return done.loss;  // the loop's end, of which nothing is logged
  loss_sum_ += done.loss;
  ++loss_steps_;
  has_norm_ = done.norm.has_value();
  norm_sum_ += done.norm.value_or(0);
  return done.loss;
}

std::string TrainingRun::state_text(double loss) const {
  const int64_t done = trainer_.steps();
  const double per_step = (static_cast<double>(steady_ns() - begin_ns_) * 1e-9) / static_cast<double>(done);
  std::string text = fmt::format("epoch {}, step {} of {}: loss {:.4f}, rate {:.2e}", loop_.epochs(done - 1) + 1, done,
                                 loop_.steps(), loss, loop_.rate(done - 1));
  if (last_) text += fmt::format(", {} {:.4f}", metric_.title(), last_->metric);
  return text + fmt::format(", {} left", duration_text(per_step * static_cast<double>(loop_.steps() - done)));
}

void TrainingRun::after_step(double loss, const TaskContext& context) {
  context.tell(state_text(loss));
  const int64_t made = trainer_.steps();
  const bool ends_epoch = loop_.batches(made) == 0, is_last = made == loop_.steps();
  const auto is_due = [&](int64_t every) { return is_last || (every > 0 ? made % every == 0 : ends_epoch); };
  if (is_due(options_.log_every)) log_training();
  if (data_.validation() && is_due(options_.validate_every)) judge(context);
  if (is_due(options_.checkpoint_every) || !ended_.empty()) save(last_path());
}

void TrainingRun::log_training() {
  if (loss_steps_ == 0 || !log_) return;
  const auto steps = static_cast<double>(loss_steps_);
  LogEntry entry{.step = trainer_.steps(),
                 .epoch = loop_.epochs_seen(trainer_.steps()),
                 .split = "train",
                 .seconds = seconds(),
                 .values = {{"loss", loss_sum_ / steps}, {"rate", loop_.rate(trainer_.steps() - 1)}}};
  if (has_norm_) entry.values.emplace_back("gradient_norm", norm_sum_ / steps);
  log_->add(entry);
  loss_sum_ = norm_sum_ = 0;
  loss_steps_ = 0;
}

Validation TrainingRun::validate(bool with_interval) {
  const Batches& batches = *data_.validation();
  MetricSamples samples(metric_);
  Validation validation{.step = trainer_.steps()};
  if (data_.needs().kind == TargetKind::classes) validation.confusion.emplace();
  double sum = 0, count = 0;
  BatchReader reader(batches, 1);
  while (const std::optional<Batch> batch = reader.next()) {
    check_stop();
    for (const NamedTensors& part : data_.parts(*batch, options_.parts)) {
      const Trainer::Evaluation given = trainer_.evaluate(part);
      sum += given.loss_sum;
      count += given.count;
      const std::vector<float> predictions = given.predictions.to_floats();
      const Answers answers = data_.answers(part, predictions);
      samples.add(answers);
      if (validation.confusion) validation.confusion->add(answers);
    }
  }
  const Evidence evidence = samples.finish();
  const std::vector<double> ones(static_cast<size_t>(evidence.samples), 1.0);
  validation.loss = sum / count;
  validation.metric = metric_.def->value(evidence, ones);
  if (with_interval) validation.estimate = estimate(metric_, evidence);
  return validation;
}

// Rank 0 judges, the others wait: all decide by the same numbers.
void TrainingRun::share_validation() {
  std::array<double, 2> numbers{};
  if (last_) numbers = {last_->loss, last_->metric};
  ranks_->broadcast(std::as_writable_bytes(std::span(numbers)));
  if (!is_first()) last_ = Validation{.step = trainer_.steps(), .loss = numbers[0], .metric = numbers[1]};
}

bool TrainingRun::is_better(const Validation& a, const Validation& b) const {
  return metric_.def->larger_is_better ? a.metric > b.metric : a.metric < b.metric;
}

void TrainingRun::judge(const TaskContext& context) {
  context.tell(fmt::format("validation after step {}", trainer_.steps()));
  if (is_first()) last_ = validate();
  if (ranks_) share_validation();
  if (log_)
    log_->add({.step = trainer_.steps(),
               .epoch = loop_.epochs_seen(trainer_.steps()),
               .split = "validation",
               .seconds = seconds(),
               .values = {{"loss", last_->loss}, {metric_.name(), last_->metric}}});
  if (validated) validated(*last_);
  if (!best_ || is_better(*last_, *best_)) {
    best_ = last_;
    worse_ = 0;
    save(best_path());
    return;
  }
  if (++worse_ == options_.patience)
    ended_ = fmt::format("ended after step {}: {} validations have not {} the {}", trainer_.steps(), worse_,
                         metric_.def->larger_is_better ? "raised" : "lowered", metric_.title());
}

Json TrainingRun::progress_json() const {
  const int64_t made = trainer_.steps();
  Json json{
      {"step", made},          {"epoch", loop_.epochs(made)}, {"index", loop_.batches(made)}, {"seconds", seconds()},
      {"loss_sum", loss_sum_}, {"norm_sum", norm_sum_},       {"loss_steps", loss_steps_},    {"worse", worse_},
      {"ended", ended_}};
  for (const auto& [key, validation] : {std::pair("best", &best_), std::pair("last", &last_)})
    if (*validation)
      json[key] = {{"step", (*validation)->step},
                   {"loss", number_json((*validation)->loss)},
                   {"metric", number_json((*validation)->metric)}};
  return json;
}

void TrainingRun::save(const std::string& path) const {
  if (!is_first()) return;
  save_checkpoint(
      path, {.model = identity_, .options = decisive_, .progress = progress_json(), .tensors = trainer_.tensors()});
}

void TrainingRun::resume() {
  const Checkpoint checkpoint = load_checkpoint(last_path());
  check_resumable(last_path(), checkpoint, identity_, decisive_);
  restore(checkpoint, last_path());
}

void TrainingRun::share_what_resumed() {
  const Json progress = parse_json(ranks_->broadcast(progress_json().dump()), "rank 0");
  std::map<std::string, Tensor> tensors = trainer_.tensors();
  for (auto& [name, tensor] : tensors) {
    if (!is_first()) tensor = own_copy(tensor);
    ranks_->broadcast(
        {is_first() ? const_cast<std::byte*>(tensor.data().address()) : tensor.mutable_data(), tensor.data().size()});
  }
  if (is_first()) return;
  set_progress(progress, "rank 0");
  trainer_.restore(tensors, json_get<int64_t>(progress, "step", "rank 0"), "rank 0");
}

void TrainingRun::restore(const Checkpoint& checkpoint, const std::string& path) {
  set_progress(checkpoint.progress, path);
  trainer_.restore(checkpoint.tensors, json_get<int64_t>(checkpoint.progress, "step", path), path);
}

void TrainingRun::set_progress(const Json& json, const std::string& path) {
  const auto integer = [&](const char* key) { return json_get<int64_t>(json, key, path); };
  const int64_t step = integer("step");
  const auto epoch = json_get<uint64_t>(json, "epoch", path);
  const int64_t index = integer("index");
  if (step < 0 || epoch != static_cast<uint64_t>(loop_.epochs(step)) || index != loop_.batches(step))
    fail("{}: says that it was written after step {}, at batch {} of epoch {}, and the data have {} batches", path,
         step, index, epoch, loop_.per_epoch());
  seconds_before_ = json_get<double>(json, "seconds", path);
  loss_sum_ = json_get<double>(json, "loss_sum", path);
  norm_sum_ = json_get<double>(json, "norm_sum", path);
  loss_steps_ = integer("loss_steps");
  worse_ = integer("worse");
  ended_ = json_get<std::string>(json, "ended", path);
  for (const auto& [key, validation] : {std::pair("best", &best_), std::pair("last", &last_)}) {
    if (!json.contains(key)) continue;
    const Json& from = json.at(key);
    validation->emplace(Validation{.step = json_get<int64_t>(from, "step", path),
                                   .loss = from.contains("loss") ? number_of(from.at("loss")) : std::nan(""),
                                   .metric = from.contains("metric") ? number_of(from.at("metric")) : std::nan("")});
  }
}

// Steps are the same bits each time: those since the last checkpoint are made once more, the last two with every result
// looked at. The step before the loss that is no number may have been what spoilt the weights.
void TrainingRun::name_first_fault(int64_t step, double loss, const TaskContext& context) {
  std::optional<Checkpoint> checkpoint;
  if (is_first() && std::filesystem::exists(last_path())) {
    checkpoint = load_checkpoint(last_path());
    if (checkpoint->model != identity_ || checkpoint->options != decisive_) checkpoint.reset();
  }
  if (checkpoint) restore(*checkpoint, last_path());
  else trainer_.reset();
  if (ranks_) share_what_resumed();
  const std::string kept = trainer_.steps() > 0 ? fmt::format("{} is from after step {}", last_path(), trainer_.steps())
                                                : std::string("no checkpoint was written before it");
  std::string first = "no single operation computes NaN or an infinity: they are sums of large numbers, or in the data";
  try {
    loop_.run(trainer_.steps(), step, {.make = [&](const TrainingStep& again) {
                context.tell(fmt::format("the loss of step {} is {}; looking for where it comes from, at step {}", step,
                                         loss, again.number + 1));
                const bool checked = again.number + 2 >= step;
                return trainer_.step(lessons(again.batch), again.rate, checked, again.batch.first).loss;
              }});
  } catch (const Error& error) {
    first = fmt::format("in step {}, {}", trainer_.steps() + 1, error.what());
  }
  const std::string text = fmt::format(
      "the loss of step {} is {}: {}. {}. Try a smaller rate, a longer warm-up or clip-norm", step, loss, first, kept);
  if (ranks_ && trainer_.steps() == step) ranks_->meet(text, "");  // a rank that has found it ends the others
  throw Error(text);
}

}  // namespace hone
