// The rate of each step: a plain function of its number, given to the step as an argument.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "passes/options.h"

namespace hone {

struct ScheduleOptions {
  std::string schedule = "linear";
  double warmup = 0;        // steps; below 1: a share of all
  double final_rate = 0;    // linear, cosine: where they end, as a share of the rate
  double step_every = 0.3;  // step: as warmup
  double step_factor = 0.1;
  static std::span<const OptionField<ScheduleOptions>> fields();
};

struct ScheduleDef {
  const char* name;
  const char* doc;
  // The share of the rate at step `step` of `steps`, from 0 on, which do not include those of the warm-up.
  double (*share)(const ScheduleOptions& options, int64_t step, int64_t steps);
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
