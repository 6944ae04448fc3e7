#include "cli/code_cache.h"

#include <cstdlib>

namespace hone {

void choose_code_cache(const std::string& folder, bool none) {
  if (none || !folder.empty()) ::setenv("HONE_CACHE", none ? "" : folder.c_str(), 1);
}

}  // namespace hone
