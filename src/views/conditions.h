// What records say of models that ran: the files they came from, the conditions, and too many threads.
#pragma once

#include <string>
#include <vector>

#include "jobs/candidate.h"
#include "jobs/file_facts.h"
#include "report/record.h"

namespace hone {

ManifestEntry input_entry(const FileFacts& file);
ManifestEntry output_entry(const FileFacts& file);

// Key-values "conditions".
KeyValues conditions_block(const RunConditions& conditions);

// Said in the findings of what was measured with more threads than there are CPUs; empty otherwise.
std::vector<std::string> oversubscription(const RunConditions& conditions);

}  // namespace hone
