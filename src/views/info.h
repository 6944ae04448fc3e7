// The record of jobs/info.h.
#pragma once

#include "jobs/info.h"
#include "report/record.h"

namespace hone {

Record view_of(const InfoResult& info);

}  // namespace hone
