// The driver itself, its devices and their contexts.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/support/cuda/driver.h"

namespace hone::emulated_cuda {
namespace {

struct Named {
  Result code;
  const char *name, *text;
};
constexpr Named kNames[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
const Named* named(int code) {
  const auto found = std::find_if(std::begin(kNames), std::end(kNames), [&](const Named& n) { return n.code == code; });
  return found == std::end(kNames) ? nullptr : found;
}

std::optional<int> attribute(const Settings& s, int which) {
  switch (which) {
    case kMaxThreadsPerBlock:
      return 1024;
    case kMaxSharedMemoryPerBlock:
      return 48 << 10;
    case kWarpSize:
      return 32;
    case kMaxRegistersPerBlock:
      return 65536;
    case kClockRate:
      return 1500000;
    case kMultiprocessorCount:
      return s.multiprocessors;
    case kIntegrated:
      return 0;
    case kMemoryClockRate:
      return 2000000;
    case kGlobalMemoryBusWidth:
      return 5120;
    case kL2CacheSize:
      return 40 << 20;
    case kMaxThreadsPerMultiprocessor:
      return s.major == 7 ? 1024 : 2048;
    case kComputeCapabilityMajor:
      return s.major;
    case kComputeCapabilityMinor:
      return s.minor;
    case kMaxSharedMemoryPerMultiprocessor:
      return shared_limit(s) + 1024;
    case kMaxSharedMemoryPerBlockOptin:
      return shared_limit(s);
    case kMaxBlocksPerMultiprocessor:
      return 32;
    case kMemoryPoolsSupported:
      return 1;
    default:
      return {};
  }
}

}  // namespace

int shared_limit(const Settings& s) {
  const int capability = 10 * s.major + s.minor;
  return (capability < 80 ? 64 : capability == 80 ? 163 : capability < 90 ? 99 : 227) << 10;
}

// As the environment asks, unless a test has said it.
void begin_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* text = std::getenv("HONE_EMULATED_CUDA");
    if (!driver().begun) driver().begin(parse_settings(text ? text : ""));
  });
}

}  // namespace hone::emulated_cuda

using namespace hone::emulated_cuda;

extern "C" {
int cuInit(unsigned flags) {
  return call_unlocked([&] {
    {
      std::lock_guard lock(driver().mutex);
      if (flags != 0) throw Failed{kInvalidValue};
      if (driver().initialised) return;
    }
    begin_once();
    std::lock_guard lock(driver().mutex);
    if (driver().settings.devices == 0) throw Failed{kNoDevice};
    driver().initialised = true;
  });
}
int cuDriverGetVersion(int* version) {
  return call_unlocked([&] {
    begin_once();
    std::lock_guard lock(driver().mutex);
    *version = driver().settings.driver;
  });
}
int cuGetErrorName(int code, const char** text) {
  const auto* found = named(code);
  *text = found ? found->name : nullptr;
  return found ? kSuccess : kInvalidValue;
}
int cuGetErrorString(int code, const char** text) {
  const auto* found = named(code);
  *text = found ? found->text : nullptr;
  return found ? kSuccess : kInvalidValue;
}

int cuDeviceGetCount(int* count) {
  return call([&] {
    driver().device(0);
    *count = driver().settings.devices;
  });
}
int cuDeviceGet(int* device, int ordinal) {
  return call([&] { *device = driver().device(ordinal).index; });
}
int cuDeviceGetName(char* name, int bytes, int device) {
  return call([&] {
    if (bytes < 1) throw Failed{kInvalidValue};
    const std::string text = "emulated device " + std::to_string(driver().device(device).index);
    std::strncpy(name, text.c_str(), static_cast<size_t>(bytes) - 1);
    name[bytes - 1] = '\0';
  });
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return call([&] {
    driver().device(device);
    *bytes = static_cast<size_t>(driver().settings.memory);
  });
}
int cuDeviceGetAttribute(int* value, int which, int device) {
  return call([&] {
    driver().device(device);
    const auto found = attribute(driver().settings, which);
    if (!found) throw Failed{kInvalidValue};
    *value = *found;
  });
}

int cuDevicePrimaryCtxRetain(Device** context, int device) {
  return call([&] {
    Device& of = driver().device(device);
    if (of.lost) throw Failed{kUnknown};
    ++of.retained;
    *context = &of;
  });
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return call([&] {
    Device& of = driver().device(device);
    if (of.retained == 0) throw Failed{kInvalidContext};
    if (--of.retained > 0) return;
    of.memory.clear();
    of.used = 0, of.sticky = kSuccess;
  });
}
// What a fault made unusable can be used again; memory is gone. A lost device stays lost.
int cuDevicePrimaryCtxReset_v2(int device) {
  return call([&] {
    Device& of = driver().device(device);
    if (of.lost) throw Failed{kUnknown};
    of.memory.clear();
    of.used = 0, of.sticky = kSuccess;
  });
}
int cuCtxSetCurrent(Device* context) {
  return call([&] {
    const auto& all = driver().devices;
    if (context != nullptr && (context < all.data() || context >= all.data() + all.size() || context->retained == 0))
      throw Failed{kInvalidContext};
    driver().set_current(context);
  });
}
int cuCtxGetCurrent(Device** context) {
  return call([&] { *context = driver().current_or_none(); });
}
int cuCtxGetDevice(int* device) {
  return call([&] { *device = driver().current().index; });
}
int cuCtxSynchronize() {
  return call_unlocked([&] {
    std::vector<std::shared_ptr<void>> alive;
    std::vector<Stream*> streams;
    {
      std::lock_guard lock(driver().mutex);
      const Device* device = &driver().current();
      for (Stream* stream : driver().streams)
        if (&stream->device() == device) {
          alive.push_back(driver().get(stream));
          streams.push_back(stream);
        }
    }
    for (Stream* stream : streams) stream->synchronise();
    std::lock_guard lock(driver().mutex);
    driver().current();
  });
}
}
