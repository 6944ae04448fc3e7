// Where the time of models goes (jobs/profile.h), as a record and as a trace.
#pragma once

#include <string>

#include "jobs/profile.h"
#include "report/record.h"

namespace hone {

// Of one model key-values "profile" and tables "steps" and "slowest"; of two table "steps" side by side, and "totals".
Record view_of(const ProfileResult& result);

// The last runs, for chrome://tracing and ui.perfetto.dev (report/trace.h).
std::string trace_of(const ProfileResult& result);

}  // namespace hone
