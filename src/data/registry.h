// The generated table of readers of data sets.
#pragma once

#include <span>

#include "data/reader.h"

namespace hone::data {

std::span<const ReaderDef* const> all();

}  // namespace hone::data
