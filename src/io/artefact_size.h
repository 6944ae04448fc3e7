// The size of an artefact without writing it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/graph.h"

namespace hone {

// Of the file that save_artefact makes of these; the same errors.
int64_t artefact_bytes(const Graph& graph, const std::map<std::string, std::string>& files);

}  // namespace hone
