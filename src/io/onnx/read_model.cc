#include "io/onnx/read_model.h"

#include "base/error.h"
#include "io/onnx/message_file.h"

namespace hone::onnx {
namespace {

// A version newer than the standard's newest may still hold nothing new, but not a hundred versions later.
constexpr int64_t kNewestIrVersion = 13, kMaxIrVersion = 99;

ModelProto checked(ModelProto model, const std::string& source) {
  if (model.ByteSizeLong() == 0) fail("{}: empty; expected an ONNX model", source);
  if (!model.has_graph()) fail("{}: has no graph; is this an ONNX model?", source);
  if (model.ir_version() < 1 || model.ir_version() > kMaxIrVersion)
    fail("{}: its IR version is {}; ONNX has 1 to {}. Is this an ONNX model?", source, model.ir_version(),
         kNewestIrVersion);
  return model;
}

}  // namespace

ModelFile read_model(const std::string& path) {
  ModelFile model{.message = {}, .file = std::make_shared<const MappedFile>(path), .large_data = {}};
  model.large_data = read_message(*model.file, model.message);
  model.message = checked(std::move(model.message), path);
  return model;
}

ModelProto parse_model(std::string_view bytes, const std::string& source) {
  ModelProto model;
  parse_message(bytes, source, model);
  return checked(std::move(model), source);
}

}  // namespace hone::onnx
