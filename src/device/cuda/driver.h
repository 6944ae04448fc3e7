// The CUDA driver, loaded when it is first asked for: no library and no header of NVIDIA's toolkit. Functions are
// called by the names that the driver's binary interface gives them (those with _v2 are the current ones).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/shared_library.h"
#include "device/cuda/abi.h"

namespace hone::cuda {

#define HONE_CUDA_FUNCTIONS(F)                                                                                        \
  F(cuInit, (unsigned flags))                                                                                         \
  F(cuDriverGetVersion, (int* version))                                                                               \
  F(cuGetErrorName, (int code, const char** text))                                                                    \
  F(cuGetErrorString, (int code, const char** text))                                                                  \
  F(cuDeviceGetCount, (int* count))                                                                                   \
  F(cuDeviceGet, (int* device, int ordinal))                                                                          \
  F(cuDeviceGetName, (char* name, int bytes, int device))                                                             \
  F(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                                                \
  F(cuDeviceGetAttribute, (int* value, int attribute, int device))                                                    \
  F(cuDevicePrimaryCtxRetain, (Handle * context, int device))                                                         \
  F(cuDevicePrimaryCtxRelease_v2, (int device))                                                                       \
  F(cuDevicePrimaryCtxReset_v2, (int device))                                                                         \
  F(cuCtxSetCurrent, (Handle context))                                                                                \
  F(cuCtxSynchronize, ())                                                                                             \
  F(cuMemGetInfo_v2, (size_t * free, size_t * total))                                                                 \
  F(cuMemAlloc_v2, (DevicePointer * out, size_t bytes))                                                               \
  F(cuMemFree_v2, (DevicePointer memory))                                                                             \
  F(cuMemAllocAsync, (DevicePointer * out, size_t bytes, Handle stream))                                              \
  F(cuMemFreeAsync, (DevicePointer memory, Handle stream))                                                            \
  F(cuDeviceGetDefaultMemPool, (Handle * pool, int device))                                                           \
  F(cuMemPoolSetAttribute, (Handle pool, int attribute, void* value))                                                 \
  F(cuMemPoolGetAttribute, (Handle pool, int attribute, void* value))                                                 \
  F(cuMemHostAlloc, (void** out, size_t bytes, unsigned flags))                                                       \
  F(cuMemFreeHost, (void* memory))                                                                                    \
  F(cuMemcpyHtoDAsync_v2, (DevicePointer to, const void* from, size_t bytes, Handle stream))                          \
  F(cuMemcpyDtoHAsync_v2, (void* to, DevicePointer from, size_t bytes, Handle stream))                                \
  F(cuMemcpyDtoDAsync_v2, (DevicePointer to, DevicePointer from, size_t bytes, Handle stream))                        \
  F(cuMemsetD8Async, (DevicePointer to, unsigned char value, size_t bytes, Handle stream))                            \
  F(cuModuleLoadDataEx, (Handle * module, const void* image, unsigned count, int* options, void** values))            \
  F(cuModuleUnload, (Handle module))                                                                                  \
  F(cuModuleGetFunction, (Handle * function, Handle module, const char* name))                                        \
  F(cuFuncGetAttribute, (int* value, int attribute, Handle function))                                                 \
  F(cuFuncSetAttribute, (Handle function, int attribute, int value))                                                  \
  F(cuLinkCreate_v2, (unsigned count, int* options, void** values, Handle* link))                                     \
  F(cuLinkAddData_v2,                                                                                                 \
    (Handle link, int type, void* data, size_t bytes, const char* name, unsigned count, int* options, void** values)) \
  F(cuLinkComplete, (Handle link, void** cubin, size_t* bytes))                                                       \
  F(cuLinkDestroy, (Handle link))                                                                                     \
  F(cuStreamCreate, (Handle * stream, unsigned flags))                                                                \
  F(cuStreamDestroy_v2, (Handle stream))                                                                              \
  F(cuStreamSynchronize, (Handle stream))                                                                             \
  F(cuStreamWaitEvent, (Handle stream, Handle event, unsigned flags))                                                 \
  F(cuEventCreate, (Handle * event, unsigned flags))                                                                  \
  F(cuEventDestroy_v2, (Handle event))                                                                                \
  F(cuEventRecord, (Handle event, Handle stream))                                                                     \
  F(cuEventSynchronize, (Handle event))                                                                               \
  F(cuEventQuery, (Handle event))                                                                                     \
  F(cuEventElapsedTime, (float* milliseconds, Handle start, Handle end))                                              \
  F(cuLaunchKernel,                                                                                                   \
    (Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
     unsigned block_z, unsigned shared_bytes, Handle stream, void** params, void** extra))                            \
  F(cuGraphCreate, (Handle * graph, unsigned flags))                                                                  \
  F(cuGraphDestroy, (Handle graph))                                                                                   \
  F(cuGraphAddKernelNode,                                                                                             \
    (Handle * node, Handle graph, const Handle* before, size_t count, const KernelNodeParams* params))                \
  F(cuGraphInstantiateWithFlags, (Handle * exec, Handle graph, unsigned long long flags))                             \
  F(cuGraphExecKernelNodeSetParams, (Handle exec, Handle node, const KernelNodeParams* params))                       \
  F(cuGraphExecDestroy, (Handle exec))                                                                                \
  F(cuGraphLaunch, (Handle exec, Handle stream))

// The oldest driver that has all of these: CUDA 11.4, driver 470.
constexpr int kOldestDriver = 11040;

std::string version_text(int version);  // of 12040, "12.4"

// The newest PTX that a driver reads, as 10 * major + minor: CUDA 11.4 has 7.4, 12.4 has 8.4.
int newest_ptx(int driver_version);

// Whether a result means that the context is of no use any more, with all that lies in it: every later call has it,
// too.
bool is_sticky(int result);

struct GpuFacts {
  int ordinal = 0;
  std::string name;
  size_t memory_bytes = 0;
  int major = 0, minor = 0;       // compute capability
  int multiprocessors = 0;        // of a MIG slice, those that it has
  int shared_bytes_of_block = 0;  // at most, for a kernel that asks for them
  int l2_bytes = 0;
  bool has_pools = false;                                            // stream-ordered allocation
  bool is_emulated() const { return name.starts_with("emulated"); }  // as the driver of the tests calls its own
};

class Driver {
 public:
  // $HONE_CUDA_DRIVER, else the system's libcuda.so.1. Throws Error where there is none, one that is too old, or no
  // device.
  Driver();

  int version() const { return version_; }  // 12040 is CUDA 12.4
  // As CUDA_VISIBLE_DEVICES has them; MIG slices are devices of their own.
  std::vector<GpuFacts> devices() const;
  // "CUDA: WHAT: …", which says what went wrong.
  std::string text_of(int result, std::string_view what) const;
  // Throws Error with that text, unless the result is success.
  void check(int result, std::string_view what) const;

#define HONE_CUDA_DECLARE(name, parameters) int(*name) parameters = nullptr;
  HONE_CUDA_FUNCTIONS(HONE_CUDA_DECLARE)
#undef HONE_CUDA_DECLARE

 private:
  int attribute(int which, int device) const;

  SharedLibrary library_;
  int version_ = 0;
};

}  // namespace hone::cuda
