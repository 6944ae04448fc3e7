// The generated table of exporters.
#pragma once

#include "exporters/exporter.h"

namespace hone::exporters {

std::span<const ExporterDef* const> all();

}  // namespace hone::exporters
