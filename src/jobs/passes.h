// hone passes: every pass and its options.
#pragma once

#include "report/record.h"

namespace hone {

// The tables "passes" and "options", of all that are registered.
Record list_passes();

}  // namespace hone
