// Bytes as a model: read, then every tensor decoded; read again and imported as a graph, which must verify. Whatever
// the bytes are, the only way to refuse them is an Error.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "io/onnx/external_data.h"
#include "io/onnx/import_model.h"
#include "io/onnx/read_model.h"
#include "io/onnx/tensor_messages.h"
#include "io/onnx/tensors.h"

namespace hone::onnx {
namespace {

template <class Stage>
void attempt(Stage&& stage) {
  try {
    stage();
  } catch (const Error&) {
  }
}

// One tensor that is refused does not keep the next from being decoded.
void decode_tensors(ModelProto model) {
  ExternalData external("absent/fuzz.onnx");
  const TensorContext where{"fuzz.onnx", &external};
  const TensorMessages tensors = tensor_messages(model);
  for (TensorProto* proto : tensors.dense) attempt([&] { tensor_of(std::move(*proto), where); });
  for (SparseTensorProto* proto : tensors.sparse) attempt([&] { tensor_of(std::move(*proto), where); });
}

}  // namespace
}  // namespace hone::onnx

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  hone::onnx::attempt([&] { hone::onnx::decode_tensors(hone::onnx::parse_model(bytes, "fuzz.onnx")); });
  hone::onnx::attempt([&] { hone::verify(hone::import_onnx_bytes(bytes, "fuzz.onnx").graph); });
  return 0;
}
