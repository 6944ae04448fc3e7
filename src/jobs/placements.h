// Ways of running that are set up anew several times, each time where chance puts their memory, and timed in turn: what
// an interval of a ratio needs (measure/ratio.h, docs/decisions/a-claim-of-speed.md).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "measure/timing.h"
#include "runtime/session.h"

namespace hone {

// `place_anew` sets all of the calls up again, in the order that it is given.
using PlaceAnew = std::function<void(const std::vector<size_t>& order)>;
std::vector<Timing> time_placements(std::span<const TimedCall> calls, const PlaceAnew& place_anew, double seconds,
                                    uint64_t seed);

// The tensors in memory of their own.
NamedTensors copied(const NamedTensors& tensors);

}  // namespace hone
