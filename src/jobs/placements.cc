#include "jobs/placements.h"

#include <cmath>

#include "measure/ratio.h"
#include "measure/turns.h"

namespace hone {
namespace {

constexpr double kTarget = 0.01;  // half-width of the interval of a median

}  // namespace

std::vector<Timing> time_placements(std::span<const TimedCall> calls, const PlaceAnew& place_anew, double seconds,
                                    uint64_t seed) {
  std::vector<std::vector<Timing>> parts(calls.size());
  Turns turns(calls.size(), seed);
  for (int placement = 0; placement < kPlacements; ++placement) {
    place_anew(turns.next());
    std::vector<Timing> timings = interleave(calls, {.target = kTarget * std::sqrt(kPlacements),
                                                     .min_rounds = kFewestForInterval,
                                                     .max_seconds = seconds / kPlacements,
                                                     .max_warmup_seconds = 1,
                                                     .seed = seed + static_cast<uint64_t>(placement)});
    for (size_t i = 0; i < timings.size(); ++i) parts[i].push_back(std::move(timings[i]));
  }
  std::vector<Timing> all;
  for (const std::vector<Timing>& of_one : parts) all.push_back(joined(of_one, kTarget));
  return all;
}

NamedTensors copied(const NamedTensors& tensors) {
  NamedTensors copies;
  for (const auto& [name, tensor] : tensors)
    copies.emplace(name, tensor.dtype() == DType::string || tensor.container() != Container::none || tensor.is_packed()
                             ? tensor
                             : Tensor(tensor.dtype(), tensor.shape(), Buffer::copy_of(tensor.data().bytes())));
  return copies;
}

}  // namespace hone
