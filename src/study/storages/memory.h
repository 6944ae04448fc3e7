#pragma once

#include "study/storage.h"

namespace hone {

// Studies of this process alone; threads may share it.
std::shared_ptr<Storage> memory_storage();

}  // namespace hone
