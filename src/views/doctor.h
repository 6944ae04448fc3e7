// The record of jobs/doctor.h.
#pragma once

#include "jobs/doctor.h"
#include "report/record.h"

namespace hone {

// Findings by severity; tables "unsupported", "interpreted", "on_host", "parameters", "untrainable", "formats",
// "speed", "memory".
Record view_of(const Diagnosis& diagnosis);

}  // namespace hone
