// How closely one model's answers follow another's (jobs/agreement.h), in sentences and tables.
#pragma once

#include <string>
#include <vector>

#include "jobs/agreement.h"
#include "report/record.h"

namespace hone {

// A sentence for each output, and for the boxes; `examples`: what it was over.
std::vector<std::string> findings_of(const Agreement& agreement, const std::string& examples);

// Table "agreement", with a row per output and only the columns that any of them has; "agreement_boxes" where there are
// boxes.
std::vector<Block> agreement_tables(const Agreement& agreement, const std::string& title);

}  // namespace hone
