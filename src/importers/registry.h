// The generated table of importers.
#pragma once

#include "importers/importer.h"

namespace hone::importers {

std::span<const ImporterDef* const> all();

}  // namespace hone::importers
