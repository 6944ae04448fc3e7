#include "jobs/quantize_model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/hash.h"
#include "io/artefact.h"
#include "io/onnx/export_model.h"
#include "io/toml.h"
#include "measure/environment.h"
#include "measure/quality.h"
#include "passes/weight_matrix.h"

namespace hone {
namespace {

void refuse_values_that_are_not_finite(const Graph& graph, const std::vector<QuantizeChoice>& choices) {
  std::string found;
  for (const QuantizeChoice& choice : choices) {
    if (choice.before == choice.after) continue;
    int64_t bad = 0;
    for (float v : graph.constant(choice.value)->to_floats()) bad += !std::isfinite(v);
    if (bad > 0) found += fmt::format("\n  {}: {} of {}", choice.name, bad, graph.constant(choice.value)->elements());
  }
  if (!found.empty())
    fail("NaN or infinite values can't be quantised:{}\nKeep these tensors with --skip, or repair the model", found);
}

}  // namespace

QuantizedModel quantize_model(const LoadedModel& model, const QuantizeOptions& options,
                              std::optional<Compute> compute) {
  QuantizedModel result;
  Graph graph = canonicalise(model.graph);
  const std::vector<QuantizeChoice> choices = plan_quantisation(graph, options);
  refuse_values_that_are_not_finite(graph, choices);
  Graph packed = run_pass(graph, "quantize", {options});
  packed = run_pass(std::move(packed), "fold_fake_quant", {});
  for (const QuantizeChoice& choice : choices) {
    Tensor before = *graph.constant(choice.value);
    const ValueId found = packed.find_constant(choice.name);
    CHECK(found != kNone, "constant {} is gone after quantisation", choice.name);
    const Tensor& after = *packed.constant(found);
    QuantizedTensor tensor{.choice = choice,
                           .elements = before.elements(),
                           .bytes_before = before.bytes(),
                           .bytes_after = after.bytes(),
                           .sqnr_db = std::nullopt};
    if (before.shape() != after.shape()) before = weight_matrix(before).value();
    if (choice.before != choice.after) tensor.sqnr_db = compare(before.to_floats(), after.to_floats()).sqnr_db;
    result.tensors.push_back(std::move(tensor));
  }
  if (compute) packed.metadata["compute"] = to_string(*compute);
  packed.compact();
  result.graph = std::move(packed);
  return result;
}

void refuse_source_as_output(const std::string& path, const LoadedModel& source) {
  for (const std::string& file : source.weight_files) {
    std::error_code none;
    if (std::filesystem::equivalent(path, file, none))
      fail("{}: is read as the original; choose another name for the output", path);
  }
}

int64_t save_model(const std::string& path, const Graph& graph, const LoadedModel& source) {
  if (path.ends_with(".onnx")) {
    refuse_source_as_output(path, source);
    return export_onnx(graph, path).bytes;
  }
  if (!path.ends_with(".safetensors")) fail("{}: the output's name must end in .safetensors or .onnx", path);
  if (std::filesystem::is_directory(source.path)) refuse_source_as_output(path, source);
  save_artefact(path, graph, source.files);
  return static_cast<int64_t>(std::filesystem::file_size(path));
}

void read_quantize_config(const std::string& path, QuantizeOptions& options) {
  for (const auto& [key, values] : read_toml_options(path)) {
    const std::string name = key.starts_with("quantize.") ? key.substr(9) : key;
    try {
      set_option(quantize_fields(), options, name, values);
    } catch (const Error& e) {
      fail("{}: {}", path, e.what());
    }
  }
}

std::vector<Block> describe(const QuantizedModel& quantized, Listed listed) {
  const NumberStyle count{NumberFormat::integer, 0}, bytes{NumberFormat::bytes, 3};
  Table table{.key = "tensors",
              .title = "Tensors",
              .columns = {{"name", "tensor"},
                          {"shape", "shape"},
                          {"before", "before"},
                          {"after", "after"},
                          {"sqnr_db", "SQNR", "dB", {NumberFormat::fixed, 1}},
                          {"bytes_before", "before", "", bytes},
                          {"bytes_after", "after", "", bytes},
                          {"rule", "decided by"}},
              .rows = {}};
  int64_t elements = 0, before = 0, after = 0, kept = 0, kept_bytes = 0;
  std::string overridden;
  for (const QuantizedTensor& t : quantized.tensors) {
    elements += t.elements, before += t.bytes_before, after += t.bytes_after;
    if (listed == Listed::changed && t.choice.before == t.choice.after) {
      ++kept, kept_bytes += t.bytes_after;
      continue;
    }
    const Cell sqnr = !t.sqnr_db ? Cell() : std::isfinite(*t.sqnr_db) ? number(*t.sqnr_db) : Cell("exact");
    table.rows.push_back({t.choice.name, fmt::format("[{}]", fmt::join(t.choice.shape, ",")), t.choice.before,
                          t.choice.after, sqnr, number(static_cast<double>(t.bytes_before)),
                          number(static_cast<double>(t.bytes_after)), t.choice.decided_by});
    if (!t.choice.overridden.empty())
      overridden += fmt::format("{}{}: {} overrides {}", overridden.empty() ? "" : "\n", t.choice.name,
                                t.choice.decided_by, fmt::join(t.choice.overridden, ", "));
  }
  if (kept > 0)
    table.note =
        fmt::format("{} more tensors ({} bytes) stay as they are; `hone quantize` lists them.", kept, kept_bytes);
  KeyValues totals{.key = "totals",
                   .title = "Totals",
                   .items = {{"elements", "elements", number(static_cast<double>(elements)), "", count},
                             {"bytes_before", "bytes before", number(static_cast<double>(before)), "", count},
                             {"bytes_after", "bytes after", number(static_cast<double>(after)), "", count},
                             {"ratio",
                              "after / before",
                              number(before ? static_cast<double>(after) / static_cast<double>(before) : 1),
                              "",
                              {NumberFormat::percent, 2}},
                             {"average_bits",
                              "average bits per element",
                              number(elements ? 8.0 * static_cast<double>(after) / static_cast<double>(elements) : 0),
                              "",
                              {NumberFormat::fixed, 3}}}};
  std::vector<Block> blocks{table, totals};
  if (!overridden.empty()) blocks.push_back(Text{"Matched by several rules, the last one decides:\n" + overridden});
  return blocks;
}

Record quantize_to_file(const LoadedModel& model, const QuantizeOptions& options, std::optional<Compute> compute,
                        const std::string& output, const std::string& command) {
  const QuantizedModel quantized = quantize_model(model, options, compute);
  const int64_t bytes = save_model(output, quantized.graph, model);
  Record record{.title = fmt::format("{} quantised", model.name),
                .command = command,
                .findings = {},
                .sections = {{"Tensors", describe(quantized)}},
                .machine = describe(environment()),
                .manifest = {}};
  record.findings.push_back(fmt::format("{}: {:.1f} % of the size of {}'s weights", output,
                                        100.0 * static_cast<double>(bytes) / static_cast<double>(model.file_bytes),
                                        model.name));
  record.manifest.push_back({"input", model.path, model.sha256(), model.file_bytes});
  record.manifest.push_back({"output", output, sha256_of_file(output), bytes});
  return record;
}

}  // namespace hone
