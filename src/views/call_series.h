// The record of jobs/call_series.h.
#pragma once

#include "jobs/call_series.h"
#include "report/record.h"

namespace hone {

// Tables "readings" (calls, warm-up, mean of each way), "compiling" (ratio, pays_after), "first" (where the first
// call's time went) and "calls", one row a call; a plot of these.
Record view_of(const CallsResult& result);

}  // namespace hone
