// The rate of each step: a plain function of its number, given to the step as an argument.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/options.h"

namespace hone {

struct ScheduleOptions {
  std::string schedule = "linear";
  double warmup = 0;        // steps; below 1: a share of all
  double final_rate = 0;    // linear, cosine: where they end, as a share of the rate
  double step_every = 0.3;  // step: as warmup, and counted from the first step
  double step_factor = 0.1;
  static std::span<const OptionField<ScheduleOptions>> fields();
};

// A step behind the warm-up: its number from 0 on among all steps, the first `warmup` of which are the warm-up's.
struct ScheduleStep {
  int64_t step, steps, warmup;
  double progress() const { return static_cast<double>(step - warmup) / static_cast<double>(steps - warmup); }
};

struct ScheduleDef {
  const char* name;
  const char* doc;
  double (*share)(const ScheduleOptions& options, const ScheduleStep& at);  // of the rate
  bool rises_itself = false;                                                // and takes no warm-up
};
std::span<const ScheduleDef> schedules();

class Schedule {
 public:
  // Throws Error for an unknown schedule, with the nearest, and for numbers that make no sense.
  Schedule(const ScheduleOptions& options, double rate, int64_t steps);

  // Of step `step` from 0 on. The first `warmup` steps rise to the rate in equal parts, none of them 0; steps past the
  // last have its rate.
  double rate(int64_t step) const;

 private:
  ScheduleOptions options_;
  const ScheduleDef* def_;
  double rate_;
  int64_t steps_, warmup_;
};

}  // namespace hone
