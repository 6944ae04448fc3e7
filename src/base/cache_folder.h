// Where what can be made again is kept.
#pragma once

#include <optional>
#include <string>

namespace hone {

// $HONE_CACHE or ~/.cache/hone. None when HONE_CACHE is empty, or there is no such folder and none can be made. It may
// be one that can only be read.
std::optional<std::string> default_cache_folder();

}  // namespace hone
