// Bytes as each kind of value that ONNX's test data has in files.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "io/onnx/tensor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using hone::Container;
  for (Container container :
       {Container::none, Container::sequence, Container::optional, Container::optional_sequence}) {
    try {
      hone::parse_tensor_file({reinterpret_cast<const char*>(data), size}, "fuzz.pb",
                              hone::TensorType::of(container, hone::DType::f32));
    } catch (const hone::Error&) {
    }
  }
  return 0;
}
