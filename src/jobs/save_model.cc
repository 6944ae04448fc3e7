#include "jobs/save_model.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/staged_files.h"
#include "base/text.h"
#include "io/artefact.h"
#include "io/tokenizer_files.h"
#include "ir/row_keys.h"
#include "jobs/finite_weights.h"
#include "jobs/verify_written.h"
#include "tokenizers/tokenizer_def.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigFile = "config.json";  // of a family of models, which ONNX needs not

// `write` writes and verifies at the path that it is given. Its errors name the place that the file is for.
template <class F>
SavedModel saved(const std::string& path, const F& write) {
  StagedFiles files(path);
  SavedModel result;
  try {
    result = write(files.staged());
    files.commit();
  } catch (const Error& error) {
    throw Error(files.in_place(error.what()));
  }
  result.check = files.in_place(result.check);
  for (std::string& file : result.files) {
    file = files.in_place(file);
    result.bytes += static_cast<int64_t>(fs::file_size(file));
  }
  return result;
}

// What ONNX's types cost: codes in 4, 8 or 16 bits and scales in f32 may take more than they do in hone's own file.
std::vector<std::string> costs_of(const OnnxExport& onnx) {
  constexpr double kWorthSaying = 1.1;
  std::vector<std::string> notes;
  for (const ExportedFormat& format : onnx.formats) {
    if (const double growth = static_cast<double>(format.bytes) / static_cast<double>(format.packed_bytes);
        growth > kWorthSaying)
      notes.push_back(fmt::format("{} takes {:.1f} times the bytes in ONNX ({}): {} against {} as .safetensors",
                                  format.format, growth, format.written, human_bytes(static_cast<double>(format.bytes)),
                                  human_bytes(static_cast<double>(format.packed_bytes))));
    // ONNX Runtime 1.32 has no DequantizeLinear of this type, and of the runtimes in wide use it reads the most.
    if (format.written.starts_with("float4e2m1"))
      notes.push_back(
          fmt::format("{} is written as FLOAT4E2M1, which ONNX Runtime (1.32) does not load yet; int4.g32 and fp8_e4m3 "
                      "it does",
                      format.format));
  }
  return notes;
}

}  // namespace

void refuse_source_as_output(const std::string& path, const LoadedModel& source) {
  for (const std::string& file : source.weight_files) {
    std::error_code none;
    if (fs::equivalent(path, file, none)) fail("{}: is read as the original; choose another name for the output", path);
  }
}

// Its vocab.txt is not read as those of other classes are.
bool is_mpnet(const std::map<std::string, std::string>& files, const std::string& source) {
  return read_tokenizer_settings(files, source).tokenizer_class == "MPNetTokenizer";
}

// Metadata of ONNX is text, and config.json stays behind, which may name the class of older files of a tokenizer: those
// go as the tokenizer.json that they stand for.
Graph with_tokenizer(Graph graph, const std::map<std::string, std::string>& files) {
  const bool is_older = has_tokenizer(files) && !files.contains(kTokenizerJson) &&
                        (!files.contains(kVocabTxt) || is_mpnet(files, graph.name));
  const auto is_vocabulary = [](const std::string& name) {
    return std::ranges::any_of(kTokenizerSets,
                               [&](const auto& set) { return name == set[0] || (set[1] && name == set[1]); });
  };
  for (const auto& [name, content] : files)
    if (name != kConfigFile && !(is_older && is_vocabulary(name))) graph.metadata[kCarriedFile + name] = content;
  if (is_older) graph.metadata[std::string(kCarriedFile) + kTokenizerJson] = tokenizer_json_of(files, graph.name);
  return graph;
}

int64_t write_scratch_model(const std::string& path, const Graph& graph, const LoadedModel& source) {
  if (path.ends_with(".onnx")) return export_onnx(with_tokenizer(graph, source.files), path).bytes;
  save_artefact(path, graph, source.files);
  return static_cast<int64_t>(fs::file_size(path));
}

std::string size_finding(const std::string& path, const SavedModel& saved, const LoadedModel& source) {
  int64_t original = source.file_bytes;
  const bool carries = fs::is_directory(source.path);
  for (const auto& [name, content] : source.files)
    if (carries && (name != kConfigFile || !path.ends_with(".onnx"))) original += static_cast<int64_t>(content.size());
  return fmt::format("{}: {}, {:.1f} % of {}'s {} (whole files, {}what is not packed included)", path,
                     human_bytes(static_cast<double>(saved.bytes)),
                     100.0 * static_cast<double>(saved.bytes) / static_cast<double>(original), source.name,
                     human_bytes(static_cast<double>(original)),
                     carries && has_tokenizer(source.files) ? "the tokenizer and " : "");
}

void add_check(Record& record, const std::string& path, const SavedModel& saved) {
  record.findings.push_back(fmt::format("{}: {}", path, saved.check));
  record.findings.insert(record.findings.end(), saved.notes.begin(), saved.notes.end());
}

SavedModel save_as_artefact(const std::string& path, const Graph& graph,
                            const std::map<std::string, std::string>& files) {
  return saved(path, [&](const std::string& staged) {
    save_artefact(staged, graph, files);
    return SavedModel{.files = {staged}, .onnx = {}, .check = verify_artefact(staged, graph, files), .notes = {}};
  });
}

SavedModel save_as_onnx(const std::string& path, const Graph& graph, const OnnxExportOptions& options) {
  return saved(path, [&](const std::string& staged) {
    SavedModel result{.files = {}, .onnx = export_onnx(graph, staged, options), .check = {}, .notes = {}};
    result.files = result.onnx.files;
    result.notes = costs_of(result.onnx);
    result.check = verify_onnx(staged, graph);
    return result;
  });
}

SavedModel save_model(const std::string& path, const Graph& graph, const LoadedModel& source,
                      const OnnxExportOptions& onnx) {
  require_finite_weights(graph, source.graph);
  if (path.ends_with(".onnx")) {
    refuse_source_as_output(path, source);
    return save_as_onnx(path, with_tokenizer(graph, source.files), onnx);
  }
  if (!path.ends_with(".safetensors")) fail("{}: the output's name must end in .safetensors or .onnx", path);
  if (fs::is_directory(source.path)) refuse_source_as_output(path, source);
  return save_as_artefact(path, graph, source.files);
}

}  // namespace hone
