// What a long job does next, on standard error: on a terminal one line that is overwritten and at last removed, with
// the time since the start once that is 2 s; elsewhere one line in 10 s, the first after that. --quiet: nothing.
#pragma once

#include "jobs/progress.h"

namespace hone {

Progress terminal_progress();

void be_quiet();  // from here on terminal_progress() gives none

}  // namespace hone
