// The records of ship/ship.h.
#pragma once

#include "report/record.h"
#include "ship/ship.h"

namespace hone {

// Of what ship() made of `model` at `output`. The findings are the verdict: at most kVerdictLines. Table "candidates",
// plot "frontier"; "results" and "comparison" as of bench.
constexpr size_t kVerdictLines = 12;
Record view_of(const ShipResult& result, const Model& model, const std::string& output);

// Of a dry run.
Record view_of(const ShipPlan& plan, const Model& model, const std::string& output);

// The findings and what may be typed next, without tables.
std::string verdict_text(const Record& record);

}  // namespace hone
