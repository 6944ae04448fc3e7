#include "device/cuda/driver.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace hone::cuda {
namespace {

std::string library_name() {
  const char* chosen = std::getenv("HONE_CUDA_DRIVER");
  return chosen && *chosen ? chosen : "libcuda.so.1";
}

}  // namespace

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

bool is_sticky(int result) {
  constexpr int kEccUncorrectable = 214, kNvlinkUncorrectable = 220, kContained = 226, kContextIsDestroyed = 709,
                kAssert = 710, kFirstOfHardware = 714;
  return result == kIllegalAddress || result == kLaunchTimeout || result == kUnknown || result == kEccUncorrectable ||
         result == kNvlinkUncorrectable || result == kContained || result == kContextIsDestroyed || result == kAssert ||
         (result >= kFirstOfHardware && result <= kLaunchFailed);
}

int newest_ptx(int driver_version) {
  const int major = driver_version / 1000, minor = driver_version % 1000 / 10;
  return 10 * (major - 4) + minor;
}

Driver::Driver() : library_(library_name(), SharedLibrary::Symbols::own, "CUDA needs NVIDIA's driver") {
  library_.find("cuDriverGetVersion", cuDriverGetVersion, "it is no CUDA driver");
  check(cuDriverGetVersion(&version_), "its version");
  if (version_ < kOldestDriver)
    fail(
        "CUDA: the driver is for CUDA {}; hone needs {} (driver 470) or newer. Update NVIDIA's driver, or use --device "
        "cpu",
        version_text(version_), version_text(kOldestDriver));
#define HONE_CUDA_FIND(name, parameters) library_.find(#name, name, "update NVIDIA's driver");
  HONE_CUDA_FUNCTIONS(HONE_CUDA_FIND)
#undef HONE_CUDA_FIND
  check(cuInit(0), "to begin");
  int count = 0;
  check(cuDeviceGetCount(&count), "to count devices");
  if (count == 0) fail("CUDA: the driver has no device. CUDA_VISIBLE_DEVICES may hide it");
}

std::string Driver::text_of(int result, std::string_view what) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName) cuGetErrorName(result, &name);
  if (cuGetErrorString) cuGetErrorString(result, &text);
  std::string more;
  if (result == kUnsupportedPtxVersion)
    more = fmt::format("; this driver is for CUDA {} and reads PTX up to {}.{}", version_text(version_),
                       newest_ptx(version_) / 10, newest_ptx(version_) % 10);
  if (result == kNoDevice) more = "; CUDA_VISIBLE_DEVICES may hide it";
  return fmt::format("CUDA: {}: {} ({}){}", what, text ? text : "an error that the driver does not name",
                     name ? name : fmt::format("{}", result), more);
}

void Driver::check(int result, std::string_view what) const {
  if (result != kSuccess) fail("{}", text_of(result, what));
}

int Driver::attribute(int which, int device) const {
  int value = 0;
  check(cuDeviceGetAttribute(&value, which, device), "an attribute of a device");
  return value;
}

std::vector<GpuFacts> Driver::devices() const {
  int count = 0;
  check(cuDeviceGetCount(&count), "to count devices");
  std::vector<GpuFacts> all;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    std::array<char, 256> name{};
    GpuFacts facts{.ordinal = ordinal};
    check(cuDeviceGet(&device, ordinal), "to open a device");
    check(cuDeviceGetName(name.data(), static_cast<int>(name.size()), device), "a device's name");
    check(cuDeviceTotalMem_v2(&facts.memory_bytes, device), "a device's memory");
    facts.name = name.data();
    facts.major = attribute(kComputeCapabilityMajor, device);
    facts.minor = attribute(kComputeCapabilityMinor, device);
    facts.multiprocessors = attribute(kMultiprocessorCount, device);
    facts.shared_bytes_of_block = attribute(kMaxSharedMemoryPerBlockOptin, device);
    facts.l2_bytes = attribute(kL2CacheSize, device);
    facts.has_pools = attribute(kMemoryPoolsSupported, device) != 0;
    all.push_back(std::move(facts));
  }
  return all;
}

}  // namespace hone::cuda
