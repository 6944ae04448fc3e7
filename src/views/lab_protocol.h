// The figures of the lab protocol (jobs/lab_protocol.h), explained by the fair protocol's.
#pragma once

#include <vector>

#include "jobs/bench.h"
#include "report/record.h"

namespace hone {

// Of models that were all measured by it: table "lab", and where the difference comes from in words.
Section lab_section(const std::vector<TimedModel>& models);

}  // namespace hone
