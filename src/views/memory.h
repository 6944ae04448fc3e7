// The record of jobs/memory.h.
#pragma once

#include "jobs/memory.h"
#include "report/record.h"

namespace hone {

// Findings; the tables "memory" (a row per model), "stored" (bytes by what weights are for), "running" (what the peak
// consists of, to the byte), "device" (what lies in a device's own memory, by the plan and as its driver counts) and
// "missing" (the same items in points of the original's peak, which add up to theory less measurement). Where nothing
// was run: "stored" alone.
Record view_of(const MemoryResult& result);

}  // namespace hone
