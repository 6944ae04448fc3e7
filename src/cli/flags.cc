#include "cli/flags.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/cache_folder.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/registry.h"
#include "base/shell.h"
#include "cli/option_flags.h"
#include "device/registry.h"
#include "importers/registry.h"
#include "io/numpy.h"
#include "ir/text.h"
#include "passes/pass.h"
#include "report/html.h"
#include "report/json.h"
#include "report/text.h"

namespace hone {

namespace {

std::vector<std::string> importer_names() { return names_of(importers::all()); }

constexpr const char* kFormatDoc = "Kind of the model's files, where they do not tell";

constexpr OptionField<ModelFlags> kModelFormat[] = {
    flag("model-format", kFormatDoc, &ModelFlags::model_format, {.choices = importer_names})};
constexpr OptionField<ModelsFlags> kModelsFormat[] = {
    flag("model-format", kFormatDoc, &ModelsFlags::model_format, {.choices = importer_names})};

constexpr OptionField<ModelFlags> kModel[] = {
    required_flag("model", "Hugging Face folder, .gguf or .onnx file, or a file that hone wrote", &ModelFlags::model,
                  {.file = OptionFile::reads, .is_positional = true}),
    flag("inputs", "Inputs of the graph of a Hugging Face folder, e.g. input_ids,attention_mask,labels",
         &ModelFlags::inputs, {.has_commas = true, .takes_several = true}),
    flag("format", kFormatDoc, &ModelFlags::model_format, {.choices = importer_names})};

constexpr OptionField<ModelsFlags> kModels[] = {
    required_flag("model", "Folders or files; the first is what the others are compared with", &ModelsFlags::model,
                  {.file = OptionFile::reads, .is_positional = true}),
    flag("inputs", "Inputs of the graph of a Hugging Face folder, e.g. input_ids,attention_mask,labels",
         &ModelsFlags::inputs, {.has_commas = true, .takes_several = true}),
    flag("format", kFormatDoc, &ModelsFlags::model_format, {.choices = importer_names})};

constexpr OptionField<OutputFlags> kOutput[] = {required_flag("output", "File to write, .safetensors or .onnx",
                                                              &OutputFlags::output,
                                                              {.file = OptionFile::writes, .letter = 'o'})};

constexpr OptionField<ResultFlags> kJson[] = {flag("json", "Print the result as JSON", &ResultFlags::json)};

constexpr OptionField<ResultFlags> kReport[] = {
    flag("report", "HTML file to write", &ResultFlags::report, {.file = OptionFile::writes})};

}  // namespace

std::span<const OptionField<ModelFlags>> ModelFlags::fields() { return kModel; }
std::span<const OptionField<ModelsFlags>> ModelsFlags::fields() { return kModels; }
std::span<const OptionField<ModelFlags>> ModelFlags::model_format_field() { return kModelFormat; }
std::span<const OptionField<ModelsFlags>> ModelsFlags::model_format_field() { return kModelsFormat; }

std::vector<Model> ModelsFlags::load() const {
  std::vector<Model> models;
  for (const std::string& path : model)
    models.push_back(
        load_model(path, std::filesystem::is_directory(path) ? inputs : std::vector<std::string>(), model_format));
  return models;
}

std::span<const OptionField<OutputFlags>> OutputFlags::fields() { return kOutput; }
std::span<const OptionField<ResultFlags>> ResultFlags::fields() { return kJson; }
std::span<const OptionField<ResultFlags>> ResultFlags::report_fields() { return kReport; }

void ResultFlags::print(const Record& record) const {
  if (json) print_json(json_text(record));
  else print_text(text(record));
}

Report::Report(const ResultFlags& flags) : flags_(flags) {
  if (!flags.report.empty()) file_.emplace(flags.report);
}

void Report::finish(const Record& record) {
  flags_.print(record);
  if (!file_) return;
  file_->write(html(record));
  file_->commit();
}

namespace {
void write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail("standard output: writing failed");
}
}  // namespace

void print_text(std::string_view text) { write_out(printable(text)); }
void print_json(std::string_view json) { write_out(printable_json(json)); }

namespace {
std::vector<std::string> the_words;  // the program first
std::set<std::string> the_reads;

std::string absolute(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::absolute(path, unknown).lexically_normal();
  return unknown ? path : whole.string();
}

// A path that is read, alone or behind "--data=" or the name of an input, leads there from every folder.
std::string from_everywhere(const std::string& word) {
  if (the_reads.contains(word)) return absolute(word);
  const size_t equals = word.find('=');
  if (equals == word.npos || !the_reads.contains(word.substr(equals + 1))) return word;
  return word.substr(0, equals + 1) + absolute(word.substr(equals + 1));
}
}  // namespace

std::string this_command() {
  std::vector<std::string> words;
  for (const std::string& word : the_words) words.push_back(from_everywhere(word));
  return shell_line(words);
}

void set_this_command(const std::string& program, int argc, char** argv) {
  const std::string called = argc > 0 ? argv[0] : program;
  the_words = {called.find('/') == called.npos ? program : absolute(called)};
  the_words.insert(the_words.end(), argv + std::min(argc, 1), argv + argc);
}

void reads_in_this_command(const std::string& path) { the_reads.insert(path); }

}  // namespace hone
