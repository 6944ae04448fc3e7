#pragma once

#include "study/storage.h"

namespace hone {

// Studies in one SQLite file with Optuna's tables: Optuna and its dashboard read and go on with them, and hone with
// theirs. Any number of processes may work on it.
std::shared_ptr<Storage> sqlite_storage(const std::string& path, const StorageOptions& options);

}  // namespace hone
