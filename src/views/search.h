// The records of nas/search_model.h.
#pragma once

#include <string>

#include "nas/search_model.h"
#include "report/record.h"

namespace hone {

// Findings; all studies beside each other; of each the best trials, failures and pictures. `command`: what made it,
// from which that of a trial made again is.
Record view_of(const SearchResult& result, const std::string& command);
Record view_of(const RebuiltTrial& rebuilt, const std::string& command);

}  // namespace hone
