// The record of jobs/generate.h.
#pragma once

#include "jobs/generate.h"
#include "report/record.h"

namespace hone {

Record view_of(const GenerateResult& result);

}  // namespace hone
