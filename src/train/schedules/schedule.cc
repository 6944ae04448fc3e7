#include "train/schedules/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

// A number of steps as options give it.
int64_t steps_of(double given, int64_t steps) {
  return std::llround(given < 1 ? given * static_cast<double>(steps) : given);
}

double half_cosine(double from, double to, double at) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * at)) / 2;
}

double constant(const ScheduleOptions&, const ScheduleStep&) { return 1; }

double linear(const ScheduleOptions& o, const ScheduleStep& at) { return 1 + (o.final_rate - 1) * at.progress(); }

double cosine(const ScheduleOptions& o, const ScheduleStep& at) { return half_cosine(1, o.final_rate, at.progress()); }

// Counted from the first step of all, as shares of all steps are; what lies in the warm-up is behind when it ends.
double step_down(const ScheduleOptions& o, const ScheduleStep& at) {
  const int64_t every = std::max<int64_t>(1, steps_of(o.step_every, at.steps));
  return std::pow(o.step_factor, static_cast<double>(at.step / every));
}

// As torch.optim.lr_scheduler.OneCycleLR with its defaults. Smith and Topin, "Super-convergence" (2018).
double one_cycle(const ScheduleOptions&, const ScheduleStep& now) {
  constexpr double kRise = 0.3, kFirst = 1.0 / 25, kLast = kFirst / 1e4;
  const auto at = static_cast<double>(now.step), last = static_cast<double>(now.steps) - 1,
             top = kRise * static_cast<double>(now.steps) - 1;
  if (at <= top) return half_cosine(kFirst, 1, at / top);
  return half_cosine(1, kLast, last > top ? std::min(1.0, (at - top) / (last - top)) : 1);
}

constexpr ScheduleDef kSchedules[] = {
    {"constant", "the rate", constant},
    {"linear", "falls in a line to final-rate", linear},
    {"cosine", "falls along half a cosine to final-rate", cosine},
    {"step", "is multiplied by step-factor every step-every steps, counted from the first step of all", step_down},
    {"one-cycle", "rises from 1/25 during 30 % of the steps, then falls to 1/250,000", one_cycle, true},
};

constexpr OptionField<ScheduleOptions> kFields[] = {
    {"schedule", "how the rate goes on after the warm-up: constant, linear, cosine, step or one-cycle",
     &ScheduleOptions::schedule},
    {"warmup", "steps in which the rate rises to its value; below 1: a share of all steps", &ScheduleOptions::warmup},
    {"final-rate", "where linear and cosine schedules end, as a share of the rate", &ScheduleOptions::final_rate},
    {"step-every", "steps between two falls of the step schedule, counted from the first; below 1: a share of all",
     &ScheduleOptions::step_every},
    {"step-factor", "what the step schedule multiplies the rate by", &ScheduleOptions::step_factor},
};

const ScheduleDef& find_schedule(const std::string& name) {
  std::vector<std::string> names;
  for (const ScheduleDef& def : kSchedules) {
    if (name == def.name) return def;
    names.emplace_back(def.name);
  }
  fail("unknown schedule {}; known: {}{}", name, fmt::join(names, ", "), did_you_mean(name, names));
}

}  // namespace

std::span<const OptionField<ScheduleOptions>> ScheduleOptions::fields() { return kFields; }
std::span<const ScheduleDef> schedules() { return kSchedules; }

Schedule::Schedule(const ScheduleOptions& options, double rate, int64_t steps)
    : options_(options), def_(&find_schedule(options.schedule)), rate_(rate), steps_(steps) {
  if (!(rate > 0) || !std::isfinite(rate)) fail("the rate is {}; accepted: numbers above 0", rate);
  if (steps < 1) fail("a schedule needs at least one step, found {}", steps);
  if (!(options.warmup >= 0 && options.warmup < 1e15)) fail("warmup is {}; accepted: 0 and above", options.warmup);
  if (!(options.final_rate >= 0 && options.final_rate <= 1))
    fail("final-rate is {}; accepted: 0 to 1, a share of the rate", options.final_rate);
  if (!(options.step_every > 0 && options.step_every < 1e15))
    fail("step-every is {}; accepted: numbers above 0", options.step_every);
  if (!(options.step_factor > 0 && options.step_factor <= 1))
    fail("step-factor is {}; accepted: above 0 to 1", options.step_factor);
  if (def_->rises_itself && options.warmup > 0)
    fail("warmup is {}, and the schedule {} has a warm-up of its own: it {}. Leave warmup out", options.warmup,
         def_->name, def_->doc);
  warmup_ = steps_of(options.warmup, steps);
  if (warmup_ >= steps && warmup_ > 0)
    fail("the warm-up takes {} steps, and there are {}; shorten it (warmup) or train longer", warmup_, steps);
}

double Schedule::rate(int64_t step) const {
  step = std::clamp<int64_t>(step, 0, steps_ - 1);
  if (step < warmup_) return rate_ * static_cast<double>(step + 1) / static_cast<double>(warmup_ + 1);
  return rate_ * def_->share(options_, {.step = step, .steps = steps_, .warmup = warmup_});
}

}  // namespace hone
