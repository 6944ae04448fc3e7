// What opening a written model again found (jobs/save_model.h), as findings.
#pragma once

#include <string>
#include <vector>

#include "jobs/save_model.h"

namespace hone {

std::vector<std::string> findings_of(const SavedModel& saved, const std::string& path);

}  // namespace hone
