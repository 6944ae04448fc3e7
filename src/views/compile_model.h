// The record of jobs/compile_model.h.
#pragma once

#include "jobs/compile_model.h"
#include "report/record.h"

namespace hone {

Record view_of(const CompileResult& result);

}  // namespace hone
