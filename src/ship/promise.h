// What the written file must keep: at most so large, so slow, so much worse, or at least so good.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/max_drop.h"
#include "measure/statistics.h"
#include "ship/quality.h"

namespace hone {

struct LatencyPromise {
  double value = 0;
  bool is_share = false;  // of the original's time; otherwise milliseconds
};

struct Promises {
  std::optional<double> max_bytes;
  std::optional<LatencyPromise> max_latency;
  std::optional<MaxDrop> max_drop;
  std::optional<double> min_metric;
  std::optional<double> max_error;  // of outputs, relative, squared: where there is no figure that could be promised
  bool assumed = false;             // nothing was asked for, so that this is what a candidate is chosen by

  bool of_quality() const { return max_drop || min_metric || max_error; }
  bool any() const { return max_bytes || max_latency || of_quality(); }
};

// Each "" where it is not given. Throws Error that names the option.
Promises parse_promises(const std::string& max_size, const std::string& max_latency, const std::string& max_drop,
                        const std::string& min_metric);
std::string to_string(const LatencyPromise& promise);  // "5 ms", "0.7 of the original's time"

// One inference of a candidate beside the original's.
struct Speed {
  double ms = 0, original_ms = 0;
  Interval ms_ci95;
  double share = 1;  // of the original's time
  Interval share_ci95;
};

// The whole interval is within it.
bool keeps(const LatencyPromise& promise, const Speed& speed);

// How much is lost of the figure, and at most how much by the interval; above 0 is worse.
struct Loss {
  double value = 0, at_most = 0;
  bool has_interval = false;
};
Loss loss_of(const AnswerQuality& quality, const FigureKind& kind);

// Of many candidates that seem to keep a promise narrowly, some do by chance: half of what the interval reaches beyond
// the value counts as lost. Not of what is assumed, nor of agreement, whose interval is not of paired differences.
bool keeps_quality(const Promises& promises, const AnswerQuality& quality, const AnswerQuality& original,
                   const std::optional<FigureKind>& kind);

// The allowed loss of the original's figure, by either of the promises of quality; the smaller of both.
double allowed_loss(const Promises& promises, const AnswerQuality& original, const FigureKind& kind);

}  // namespace hone
