// Valid ONNX models, changed in their structure, through import, passes, -O0 and -O2. An Error is a fine answer.
#include <cstdlib>
#include <string>

#include "io/onnx/import_model.h"
#include "tests/fuzz/exercise.h"
#include "tests/fuzz/mutate_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  hone::fuzz::exercise([&] { return hone::import_onnx_bytes(bytes, "fuzz.onnx").graph; });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  hone::onnx::ModelProto model;
  hone::Philox random(seed);
  if (!model.ParseFromArray(data, static_cast<int>(size)) || !model.has_graph()) return size;
  hone::fuzz::mutate(model, random);
  const std::string bytes = model.SerializeAsString();
  if (bytes.size() > max_size) return size;
  bytes.copy(reinterpret_cast<char*>(data), bytes.size());
  return bytes.size();
}
