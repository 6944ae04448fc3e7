#include "ship/unmet.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace hone {

std::string unmet_promise(std::span<const TriedCandidate> tried, const Promises& promises,
                          const AnswerQuality& original, const std::optional<FigureKind>& kind) {
  const TriedCandidate *smallest = nullptr, *quickest = nullptr, *nearest = nullptr;
  for (const TriedCandidate& c : tried) {
    if (!c.fault.empty()) continue;
    if (!smallest || c.bytes < smallest->bytes) smallest = &c;
    if (!c.quality) continue;
    if (!quickest || c.speed->share < quickest->speed->share) quickest = &c;
    if (!nearest || c.quality->loss < nearest->quality->loss) nearest = &c;
  }
  if (!smallest)
    return fmt::format("no candidate could be made: {}", tried.empty() ? "none was tried" : tried[0].fault);
  if (promises.max_bytes && static_cast<double>(smallest->bytes) > *promises.max_bytes)
    return fmt::format("--max-size {}: the smallest of {} files has {} ({})", human_bytes(*promises.max_bytes),
                       tried.size(), human_bytes(static_cast<double>(smallest->bytes)), smallest->name);
  if (promises.max_latency && quickest && !keeps(*promises.max_latency, *quickest->speed)) {
    const Speed& s = *quickest->speed;
    return fmt::format(
        "--max-latency: {} is asked for; the least of {} candidates is {:.3f} ms ({:.3f}-{:.3f}), {:.2f} of the "
        "original's time ({})",
        to_string(*promises.max_latency), tried.size(), s.ms, s.ms_ci95.low, s.ms_ci95.high, s.share, quickest->name);
  }
  if (promises.of_quality() && nearest && kind) {
    const Loss loss = loss_of(*nearest->quality, *kind);
    return fmt::format(
        "{}: {} may be lost of {}; the least that one of {} candidates lost is {}{} ({})",
        promises.max_drop ? "--max-drop" : "--min-metric",
        value_text(*kind, std::max(0.0, allowed_loss(promises, original, *kind))), kind->title, tried.size(),
        value_text(*kind, loss.value),
        loss.has_interval ? fmt::format(", by the interval up to {}", value_text(*kind, loss.at_most)) : "",
        nearest->name);
  }
  if (promises.max_error && nearest)
    return fmt::format(
        "the outputs of each candidate are further from the original's than {:g} (relative, squared); "
        "the nearest is {} with {:.3g}",
        *promises.max_error, nearest->name, nearest->quality->error);
  return fmt::format(
      "no one candidate of {} keeps all of the promises, though each of them is kept by some; the smallest is {} ({})",
      tried.size(), human_bytes(static_cast<double>(smallest->bytes)), smallest->name);
}

}  // namespace hone
