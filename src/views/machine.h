// What the machine can reach (jobs/machine.h), as a record, and the peaks in those of profiles.
#pragma once

#include "jobs/machine.h"
#include "report/record.h"

namespace hone {

KeyValues peaks_block(const MachinePeaks& peaks);

// Key-values "peaks", of a device that has memory of its own "rates", and, where there are two CPUs, "pair"; table
// "reads".
Record view_of(const MachineResult& machine);

}  // namespace hone
