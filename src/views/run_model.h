// The record of jobs/run_model.h.
#pragma once

#include <string>
#include <vector>

#include "jobs/run_model.h"
#include "report/record.h"

namespace hone {

// Table "outputs", and the profile where there is one. `files`: where each output was written; empty: nowhere.
Record view_of(const RunModelResult& result, const std::vector<std::string>& files = {});

}  // namespace hone
