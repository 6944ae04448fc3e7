// The records of jobs/formats.h.
#pragma once

#include <string>

#include "jobs/formats.h"
#include "report/record.h"

namespace hone {

// The table "formats".
Record view_of(const FormatList& list);

// "cast" and findings; `source` and `format`: what the tensor and its format are called.
Record view_of(const CastResult& result, const std::string& source, const std::string& format);

}  // namespace hone
