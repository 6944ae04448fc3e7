#pragma once

#include "study/storage.h"

namespace hone {

// Optuna's JournalStorage on a file: its processes and ours may share one, also over NFS. All trials are held in
// memory.
std::shared_ptr<Storage> journal_storage(const std::string& path, const StorageOptions& options);

}  // namespace hone
