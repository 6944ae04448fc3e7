// What the records of hone bench --op share.
#pragma once

#include <vector>

#include "base/peaks.h"
#include "jobs/op_forms.h"
#include "report/record.h"

namespace hone {

// Table "steps" (form, ops, ms, share, mflop, bytes, why): the steps of each form, in the order they run in. Of those
// that a run repeats, the first stand for all.
Table steps_table(const std::vector<const OpTimes*>& forms, int threads, const MachinePeaks& peaks,
                  int64_t repeats = 1);

}  // namespace hone
