// Opens whatever a user calls a model, by the table of importers (importers/importer.h).
#pragma once

#include <string>
#include <vector>

#include "importers/importer.h"

namespace hone {

// `inputs` chooses what the graph takes (--inputs); empty: the architecture's default. An artefact takes what it was
// written with. `format` names the importer (--format); empty: the one that is surest. Adapters of PEFT that lie in a
// model's folder are put into its graph. Throws Error that says what was found and what would be accepted.
Model load_model(const std::string& path, const std::vector<std::string>& inputs = {}, const std::string& format = {});

}  // namespace hone
