// The structs of DLPack 1, by which libraries hand each other arrays without a copy (https://dmlc.github.io/dlpack).
// Where the original dlpack/dlpack.h is included before, its declarations are used. This header is C, too.
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_

#include <stdint.h>

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 0
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)  // nobody may write the elements
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)  // the producer made a copy for this array

#ifdef __cplusplus
extern "C" {
#endif

// The version that an array was made by. Arrays of another major version are refused.
typedef struct {
  uint32_t major, minor;
} DLPackVersion;

// Whose memory the elements lie in. hone takes and gives those of the host.
typedef enum {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLCUDAManaged = 13,
} DLDeviceType;

// A device by its kind and number.
typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

// Kinds of elements.
typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
  kDLBool = 6U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e4m3fnuz = 11U,
  kDLFloat8_e5m2 = 12U,
  kDLFloat8_e5m2fnuz = 13U,
  kDLFloat8_e8m0fnu = 14U,
} DLDataTypeCode;

// An element type: its kind, its bits, and how many numbers one element is (hone takes 1).
typedef struct {
  uint8_t code, bits;
  uint16_t lanes;
} DLDataType;

// An array. The element [i, j, ...] lies at data + byte_offset + (i * strides[0] + j * strides[1] + ...) elements. Null
// strides: row-major.
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

// An array with its owner, without a version: of older producers.
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);  // whoever has the array calls this once
} DLManagedTensor;

// An array with its owner.
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);  // whoever has the array calls this once
  uint64_t flags;                                          // DLPACK_FLAG_BITMASK_…
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

#ifdef __cplusplus
}
#endif

#endif  // DLPACK_DLPACK_H_
