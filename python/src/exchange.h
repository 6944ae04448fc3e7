// DLPack 1.3's exchange of arrays by functions in C, which torch.Tensor has as __dlpack_c_exchange_api__: a tensor is
// read in a tenth of a microsecond, without any call of Python.
#pragma once

#include <hone/dlpack.h>

namespace hone::python {

struct ExchangeHeader {
  DLPackVersion version;
  ExchangeHeader* prev_api;  // of an older version; null: there is none
};

// Each function returns 0, or -1 with Python's error set.
struct ExchangeApi {
  ExchangeHeader header;
  int (*allocate)(DLTensor* like, DLManagedTensorVersioned** out, void* context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, DLManagedTensorVersioned** out);
  int (*object_from_managed)(DLManagedTensorVersioned* array, void** out_object);  // takes the array over
  int (*borrowed_from_object)(void* object, DLTensor* out);
  int (*current_stream)(DLDeviceType device, int32_t id, void** out_stream);
};

}  // namespace hone::python
