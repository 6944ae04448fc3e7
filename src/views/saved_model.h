// What is said of a model that was written (jobs/save_model.h).
#pragma once

#include <string>
#include <vector>

#include "jobs/save_model.h"
#include "report/record.h"

namespace hone {

// What opening it again found, and what one should know of the file.
std::vector<std::string> findings_of(const SavedModel& saved, const std::string& path);
void add_check(Record& record, const std::string& path, const SavedModel& saved);  // to the record's findings

// "out.safetensors: 24.1 MB, 26.5 % of model's 90.9 MB (whole files, …)". What the original's files besides the
// weights hold counts where the written file holds it too.
std::string size_finding(const std::string& path, const SavedModel& saved, const Model& source);

}  // namespace hone
