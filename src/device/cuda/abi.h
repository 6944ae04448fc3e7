// What the CUDA driver's binary interface fixes, as far as hone uses it: codes of results, numbers of attributes, one
// struct. No header of NVIDIA's toolkit is needed. The names are the manual's without their prefixes.
#pragma once

#include <cstdint>

namespace hone::cuda {

enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
  kNotSupported = 801,
  kUnknown = 999,
};

enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kMaxRegistersPerBlock = 12,
  kClockRate = 13,
  kMultiprocessorCount = 16,
  kIntegrated = 18,
  kMemoryClockRate = 36,
  kGlobalMemoryBusWidth = 37,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerMultiprocessor = 81,
  kMaxSharedMemoryPerBlockOptin = 97,
  kMaxBlocksPerMultiprocessor = 106,
  kMemoryPoolsSupported = 115,
};

enum FunctionAttribute : int {
  kFunctionMaxThreads = 0,
  kFunctionSharedBytes = 1,
  kFunctionConstBytes = 2,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionPtxVersion = 5,
  kFunctionBinaryVersion = 6,
  kFunctionMaxDynamicShared = 8,
};

enum PoolAttribute : int { kPoolReleaseThreshold = 4, kPoolReservedBytes = 5, kPoolUsedBytes = 7 };
enum StreamFlag : unsigned { kStreamNonBlocking = 1 };  // it does not wait for the default stream
enum EventFlag : unsigned { kEventWithTime = 0, kEventWithoutTime = 2 };
enum HostAllocFlag : unsigned { kHostPortable = 1 };  // pinned for all contexts

enum JitOption : int { kInfoLog = 3, kInfoLogBytes = 4, kErrorLog = 5, kErrorLogBytes = 6, kVerboseLog = 12 };
enum JitInput : int { kInputCubin = 0, kInputPtx = 1 };

using DevicePointer = unsigned long long;

using Handle = void*;  // of contexts, modules, functions, streams, events, graphs

struct KernelNodeParams {  // CUDA_KERNEL_NODE_PARAMS_v1
  Handle function;
  unsigned grid[3], block[3], shared_bytes;
  void** params;
  void** extra;
};

}  // namespace hone::cuda
