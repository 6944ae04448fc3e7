// The record of jobs/build_model.h.
#pragma once

#include "jobs/build_model.h"
#include "report/record.h"

namespace hone {

Record view_of(const BuildResult& result);

}  // namespace hone
