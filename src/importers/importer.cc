#include "importers/importer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/registry.h"
#include "base/text.h"
#include "importers/registry.h"
#include "io/file_kind.h"
#include "io/hf_weights.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// Of a pipe or a device nothing is read: its bytes come once.
std::string first_bytes_of(const std::string& path) {
  std::string bytes;
  if (!fs::is_regular_file(path)) return bytes;
  bytes.resize(ImportCandidate::kFirstBytes);
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), std::ssize(bytes));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

std::string what_is(const ImportCandidate& candidate) {
  if (candidate.is_folder) return "a folder of another kind";
  const std::string kind = file_kind(candidate.first_bytes);
  if (!kind.empty()) return kind;
  return candidate.first_bytes.empty() ? "nothing in it could be read" : "its first bytes are of no kind that is known";
}

[[noreturn]] void refuse_unknown(const ImportCandidate& candidate) {
  std::vector<std::string> accepted;
  for (const ImporterDef* def : importers::all())
    if (*def->needs) accepted.emplace_back(def->needs);
  fail("{}: not a model that hone opens: {}; give {}", candidate.path, what_is(candidate), one_of(accepted));
}

[[noreturn]] void refuse_ambiguous(const std::string& path, const std::vector<const ImporterDef*>& sure) {
  std::vector<std::string> names, lines;
  for (const ImporterDef* def : sure) {
    names.emplace_back(def->name);
    lines.push_back(fmt::format("\n  --format {:<12} {}", def->name, def->doc));
  }
  fail("{}: may be {}; say which:{}\nWhere --format is another option, this one is --model-format.", path,
       one_of(names), fmt::join(lines, ""));
}

const ImporterDef& importer_called(const std::string& name) {
  if (const ImporterDef* named = find_def(importers::all(), name)) return *named;
  const std::vector<std::string> known = names_of(importers::all());
  fail("--format: no importer is called \"{}\"; known: {}{}", name, fmt::join(known, ", "), did_you_mean(name, known));
}

std::string name_of(const std::string& path) {
  std::string name = fs::path(path).lexically_normal().filename().string();
  if (name.empty() || name == ".") name = fs::absolute(path).lexically_normal().parent_path().filename().string();
  return name;
}

}  // namespace

bool ImportCandidate::has(const char* name) const { return is_folder && fs::exists(fs::path(path) / name); }

const ImporterDef& importer_of(const std::string& path, const std::string& format) {
  std::error_code error;
  if (!fs::exists(path, error)) fail("{}: {}", path, error ? error.message() : "no such file or folder");
  if (!format.empty()) return importer_called(format);
  ImportCandidate candidate{.path = path, .is_folder = fs::is_directory(path)};
  if (!candidate.is_folder) candidate.first_bytes = first_bytes_of(path);
  Certainty best = Certainty::none;
  std::vector<const ImporterDef*> sure;
  for (const ImporterDef* def : importers::all()) {
    const Certainty certainty = def->recognises(candidate);
    if (certainty == Certainty::none || certainty < best) continue;
    if (certainty > best) sure.clear();
    best = certainty;
    sure.push_back(def);
  }
  if (best != Certainty::certain && !candidate.is_folder) refuse_pickle(path);
  if (sure.empty()) refuse_unknown(candidate);
  if (sure.size() > 1) refuse_ambiguous(path, sure);
  return *sure[0];
}

Model import_model(const std::string& path, const ImportOptions& options) {
  const ImporterDef& importer = importer_of(path, options.format);
  Model model = importer.read(path, options);
  model.path = path;
  model.name = name_of(path);
  model.importer = importer.name;
  for (const std::string& file : model.weight_files) model.file_bytes += static_cast<int64_t>(fs::file_size(file));
  return model;
}

bool has_model_ending(std::string_view path) {
  for (const ImporterDef* def : importers::all())
    for (const std::string& ending : split(def->endings, ' '))
      if (!ending.empty() && path.ends_with(ending)) return true;
  return false;
}

}  // namespace hone
