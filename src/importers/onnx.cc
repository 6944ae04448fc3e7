// An ONNX file (io/onnx/import_model.h), with the tokenizer that hone's exporter puts into its metadata.
#include "base/error.h"
#include "base/file_name.h"
#include "importers/importer.h"
#include "io/onnx/import_model.h"
#include "ir/row_keys.h"
#include "passes/pipelines.h"

namespace hone {
namespace {

void take_carried_files(Model& model, const std::string& path) {
  std::erase_if(model.graph.metadata, [&](const auto& entry) {
    if (!entry.first.starts_with(kCarriedFile)) return false;
    const std::string name = entry.first.substr(std::string_view(kCarriedFile).size());
    if (!is_plain_file_name(name)) fail("{}: carries a file \"{}\", which is no plain name", path, name);
    model.files[name] = entry.second;
    return true;
  });
}

Model read(const std::string& path, const ImportOptions& options) {
  if (!options.inputs.empty()) fail("{}: an ONNX file has its inputs fixed; --inputs chooses those of a folder", path);
  OnnxImport import = import_onnx(path);
  if (!import.unsupported.empty()) throw Error(unsupported_text(path, import.unsupported));
  Model model;
  // Weights that the file has as codes and scales stay that small.
  model.graph = run_pass(std::move(import.graph), "recognise_packed");
  take_carried_files(model, path);
  model.weight_files = std::move(import.files);
  return model;
}

// A ModelProto has no magic number. Writers begin with its field 1, the IR version, and a text or the graph follows:
// fields 2 to 8 as varint or bytes (https://github.com/onnx/onnx, onnx.proto).
bool begins_as_model(std::string_view bytes) {
  if (bytes.size() < 3) return false;
  const auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  constexpr unsigned kVarint = 0, kBytes = 2, kNewestIrVersion = 99;
  const unsigned field = at(2) >> 3, wire = at(2) & 7;
  return at(0) == (1 << 3 | kVarint) && at(1) >= 1 && at(1) <= kNewestIrVersion && field >= 2 && field <= 8 &&
         wire == (field == 5 ? kVarint : kBytes);
}

Certainty recognises(const ImportCandidate& candidate) {
  if (candidate.is_folder) return Certainty::none;
  const bool is_named = candidate.path.ends_with(".onnx"), fits = begins_as_model(candidate.first_bytes);
  return is_named && fits ? Certainty::certain : is_named || fits ? Certainty::likely : Certainty::none;
}

}  // namespace

extern constinit const ImporterDef onnx_importer_def{.name = "onnx",
                                                     .doc = "an ONNX model, with its external data beside it",
                                                     .needs = "an .onnx file",
                                                     .endings = ".onnx",
                                                     .recognises = recognises,
                                                     .read = read};

}  // namespace hone
