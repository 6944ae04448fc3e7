// The record of jobs/passes.h.
#pragma once

#include <span>

#include "jobs/passes.h"
#include "report/record.h"

namespace hone {

Record view_of(std::span<const ListedPass> passes);

}  // namespace hone
