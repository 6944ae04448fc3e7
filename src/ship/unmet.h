// Which promise no candidate keeps, and the nearest that one of them keeps.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "ship/ship.h"

namespace hone {

// A sentence without a full stop.
std::string unmet_promise(std::span<const TriedCandidate> tried, const Promises& promises,
                          const AnswerQuality& original, const std::optional<FigureKind>& kind);

}  // namespace hone
