// Packing by machine code, on all threads, with the cache that everyone uses.
#pragma once

#include <memory>

#include "ir/packer.h"

namespace hone {

std::shared_ptr<const Packer> compiled_packer();

}  // namespace hone
