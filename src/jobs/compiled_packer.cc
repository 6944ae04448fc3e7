#include "jobs/compiled_packer.h"

#include "base/cache_folder.h"
#include "base/threads.h"
#include "device/device.h"

namespace hone {

std::shared_ptr<const Packer> compiled_packer() {
  return open_device("cpu")->make_packer({.threads = hardware_threads(), .cache_folder = default_cache_folder()});
}

}  // namespace hone
