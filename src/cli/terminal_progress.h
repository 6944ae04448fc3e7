// What a long job does next, as one line of standard error that is overwritten and at last removed; nothing when
// standard error is no terminal.
#pragma once

#include "jobs/progress.h"

namespace hone {

Progress terminal_progress();

}  // namespace hone
