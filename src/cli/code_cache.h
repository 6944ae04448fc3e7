// --cache and --no-cache hold for the whole program: also for sessions that tasks open by themselves, such as the check
// of a written file, and for processes that the program starts.
#pragma once

#include <string>

namespace hone {

// Sets the variable HONE_CACHE of this process to the folder; to nothing where there is to be no cache.
void choose_code_cache(const std::string& folder, bool none);

}  // namespace hone
