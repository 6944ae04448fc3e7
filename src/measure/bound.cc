#include "measure/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/threads.h"

namespace hone {
namespace {

constexpr double kShortMs = 0.005;  // a clock reading, a fork and a join, an indirect call

std::string time_text(double milliseconds) {
  return milliseconds < 0.1 ? fmt::format("{:.2g} µs", milliseconds * 1e3) : fmt::format("{:.3g} ms", milliseconds);
}

std::string share_text(double share) { return fmt::format("{:.0f} %", share * 100); }

std::string bytes_text(const StepProfile& step) {
  const double rest = step.bytes - step.weight_bytes;
  if (step.weight_bytes > rest) return fmt::format("Reads {} of weights once", human_bytes(step.weight_bytes));
  return fmt::format("Moves {}", human_bytes(step.bytes));
}

}  // namespace

const char* to_string(Bound::By by) {
  constexpr const char* kNames[] = {"-", "compute", "memory", "overhead"};
  return kNames[static_cast<size_t>(by)];
}

Bound bound_of(const StepProfile& step, double milliseconds, const MachinePeaks& peaks, const StepSetting& setting) {
  const double threads = std::clamp(setting.threads, 1, hardware_threads());
  const double gflops = threads * peaks.gflops(step.unit);
  const double activation_bytes = step.bytes - step.weight_bytes;
  const double weights_rate = threads * peaks.read_gbytes(setting.model_bytes),
               activations_rate = threads * peaks.read_gbytes(activation_bytes);
  Bound bound;
  if (gflops > 0) bound.compute_ms = step.flops / gflops * 1e-6;
  if (weights_rate > 0)
    bound.memory_ms = (step.weight_bytes / weights_rate + activation_bytes / activations_rate) * 1e-6;
  const double least = std::max(bound.compute_ms, bound.memory_ms);
  if (least <= 0) return bound;
  bound.share = least / milliseconds;
  if (milliseconds < kShortMs && bound.share < 0.5) bound.by = Bound::By::overhead;
  else bound.by = bound.compute_ms >= bound.memory_ms ? Bound::By::compute : Bound::By::memory;
  return bound;
}

std::string why_not_faster(const StepProfile& step, double milliseconds, const Bound& bound) {
  constexpr const char* kPeaks[] = {"f32", "bf16", "int16", "int8", "bf16 tile", "int8 tile"};
  const char* peak = kPeaks[static_cast<size_t>(step.unit)];
  const char* count = is_integer(step.unit) ? "GOP" : "GFLOP";
  const std::string taken = time_text(milliseconds), share = share_text(bound.share);
  if (step.kind == "interpreted") return fmt::format("Interpreted, without machine code: {}.", step.why_interpreted);
  if (step.on_host())
    return fmt::format("On the host, with {} copied there and back: {}.", human_bytes(step.copied_bytes),
                       step.why_on_host);
  switch (bound.by) {
    case Bound::By::unknown:
      return "No peak of this machine is known to hold it against.";
    case Bound::By::overhead:
      return fmt::format("Too small: {} to dispatch what the peaks allow in {}.", taken,
                         time_text(std::max(bound.compute_ms, bound.memory_ms)));
    case Bound::By::compute:
      if (bound.share > 1.02)
        return fmt::format("At {} of the {} peak: fewer operations than the {:.3g} {} of the plain method.", share,
                           peak, step.flops * 1e-9, count);
      if (bound.share >= 0.85) return fmt::format("Compute-bound, at {} of the {} peak.", share, peak);
      return fmt::format(
          "{:.3g} {}: the {} peak allows {}, it takes {} ({}){}.", step.flops * 1e-9, count, peak,
          time_text(bound.compute_ms), taken, share,
          bound.share < 0.5 ? "; nor does memory, at " + time_text(bound.memory_ms) + ", explain it" : "");
    case Bound::By::memory:
      return fmt::format(
          "{}: memory allows {}, it takes {} ({}){}.", bytes_text(step), time_text(bound.memory_ms), taken, share,
          bound.share > 1.02  ? ", so part of it was still in a cache"
          : bound.share < 0.5 ? "; nor does arithmetic, at " + time_text(bound.compute_ms) + ", explain it"
                              : "");
  }
  return "";
}

}  // namespace hone
