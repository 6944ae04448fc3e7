#pragma once

#include "study/storage.h"

namespace hone {

// Studies in a PostgreSQL database with Optuna's tables, for workers on many machines: Optuna and its dashboard read
// and go on with them, and hone with theirs.
std::shared_ptr<Storage> postgres_storage(const std::string& place, const StorageOptions& options);

}  // namespace hone
