#include "jobs/doctor.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "io/onnx/import_model.h"
#include "jobs/examined_run.h"
#include "jobs/examined_training.h"
#include "jobs/findings.h"
#include "jobs/load_model.h"
#include "jobs/predicted_size.h"
#include "jobs/weight_facts.h"
#include "measure/environment.h"
#include "measure/memory.h"
#include "ops/calls/batch_norm_train.h"
#include "passes/pipelines.h"
#include "train/norm_statistics.h"

namespace hone {
namespace {

const NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3};
constexpr const char* kUsualFormats[] = {"bf16", "int8", "mxint8", "mxfp6_e3m2", "int4.g32", "mxfp4"};

class Doctor {
 public:
  Doctor(const std::string& path, const DoctorOptions& options) : path_(path), options_(options) {}

  Diagnosis run() {
    const auto start = std::chrono::steady_clock::now();
    reset_peak();
    load();
    if (unsupported_.empty() && prepare()) {
      check_dimensions();
      check_execution();
      check_norms();
      if (options_.train) training_ = examine_training(form_, bindings_, findings_);
    } else {
      findings_.leave_out("what is interpreted, memory and time of a run, since there is none");
      if (options_.train) findings_.leave_out("what it lacks to be trained");
    }
    check_weights();
    check_formats();
    check_memory();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return diagnosis(elapsed.count());
  }

 private:
  void load() {
    if (importer_of(path_).name == std::string_view("onnx")) {  // whose nodes are listed where they lack support
      OnnxImport import = import_onnx(path_);
      graph_ = std::move(import.graph);
      unsupported_ = std::move(import.unsupported);
    } else {
      graph_ = load_model(path_).graph;
    }
    if (unsupported_.empty()) return;
    std::map<std::string, int> by_operator;
    for (const UnsupportedNode& node : unsupported_) ++by_operator[node.op_type];
    for (const auto& [name, count] : by_operator)
      findings_.add(Severity::problem,
                    fmt::format("{} ({} node{}) is not supported", name.empty() ? "an input" : name, count,
                                count == 1 ? "" : "s"),
                    "the table lists the nodes; export the model without them, or with another opset");
  }

  // The graph as quantize sees it. False: no run could prepare it either.
  bool prepare() {
    try {
      if (options_.train) form_ = training_form(with_running_statistics(graph_));
      graph_ = canonicalise(graph_);
      return true;
    } catch (const Error& error) {
      findings_.add(Severity::problem, fmt::format("the model can't be prepared for a run: {}", error.what()));
      return false;
    }
  }

  void check_weights() {
    std::vector<std::string> of_formulas;
    weights_ = scan_weights(graph_);
    for (const WeightFacts& facts : weights_) {
      if (facts.nan + facts.inf == 0) continue;
      const std::string found = fmt::format("{} holds {} NaN and {} infinite values", facts.name, facts.nan, facts.inf);
      if (facts.learned) findings_.add(Severity::problem, found, "quantizing it is refused; train or export it again");
      else if (facts.elements > 1 && facts.nan > 0)
        findings_.add(Severity::problem, found, "what reads it computes NaN; train or export it again");
      else if (facts.elements > 1) of_formulas.push_back(facts.name);
    }
    if (of_formulas.empty()) return;
    const std::string others = of_formulas.size() == 1 ? "" : fmt::format(" and {} more", of_formulas.size() - 1);
    findings_.add(
        Severity::note,
        fmt::format("infinities in what no layer has for a weight, as masks have them: {}{}", of_formulas[0], others),
        "they stay as they are");
  }

  void check_dimensions() {
    bindings_ = bind_symbols(graph_, options_.shapes);
    for (ValueId v : graph_.arguments()) {
      const TensorType& type = graph_.type(v);
      std::vector<std::string> symbols;
      for (const Dim& dim : type.shape) dim.collect_symbols(symbols);
      if (!type.ranked || type.container != Container::none)
        findings_.add(Severity::slow,
                      fmt::format("input \"{}\" is {}: all that depends on it is interpreted", graph_.value(v).label,
                                  to_string(type)),
                      "export the model with the input's shape");
      if (symbols.empty()) continue;
      std::string chosen;
      for (const std::string& symbol : symbols)
        chosen += fmt::format("{}{}={}", chosen.empty() ? "" : ", ", symbol, bindings_.at(symbol));
      findings_.add(Severity::note,
                    fmt::format("input \"{}\" {} has sizes that each run chooses; examined with {}",
                                graph_.value(v).label, to_string(type), chosen),
                    "set them with --batch, --seq or --dim NAME=SIZE; each new size is compiled once");
    }
  }

  void check_execution() {
    try {
      run_ = examine_run(graph_, bindings_, options_, findings_);
    } catch (const Error& error) {
      refuse_sizes(error);
    }
  }

  // Sizes that were asked for and do not fit are a problem; guessed ones say nothing about the model.
  void refuse_sizes(const Error& error) {
    const std::string advice = "give sizes that fit with --batch, --seq or --dim NAME=SIZE";
    const bool guessed = !bindings_.empty() && options_.shapes.dims.empty() && !options_.shapes.sequence;
    if (!guessed)
      findings_.add(Severity::problem, fmt::format("the model could not be examined at these sizes: {}", error.what()),
                    advice);
    std::string sizes;
    for (const auto& [symbol, size] : bindings_)
      sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ", ", symbol, size);
    findings_.leave_out(fmt::format("what is interpreted, memory and time of a run{}",
                                    guessed ? fmt::format(": the guessed {} do not fit: {}", sizes, error.what()) : ""),
                        guessed ? advice : "");
  }

  void check_norms() {
    if (const size_t norms = graph_.nodes(batch_norm_train_def).size(); norms > 0)
      findings_.add(
          Severity::note,
          fmt::format("{} batch norm{} by the batch that {} given: what the model says of a row depends on the others",
                      norms, norms == 1 ? " goes" : "s go", norms == 1 ? "it is" : "they are"),
          "hone train writes norms that go by their running statistics; an export in evaluation mode has such, too");
  }

  void check_formats() {
    std::vector<std::string> formats = options_.formats;
    if (formats.empty()) formats.assign(std::begin(kUsualFormats), std::end(kUsualFormats));
    for (const std::string& format : formats) {
      predicted_.push_back(predict_size(graph_, format, weights_));
      const PredictedSize& result = predicted_.back();
      const Severity severity = options_.formats.empty() ? Severity::note : Severity::problem;
      if (!result.fault.empty()) findings_.add(severity, fmt::format("{} does not fit: {}", format, result.fault));
      else if (result.tensors == 0)
        findings_.add(severity,
                      fmt::format("{} would change nothing: no weight is one that quantize packs by default", format),
                      "name weights with hone quantize --rule name:NAME=FORMAT");
      if (result.larger > 0)
        findings_.add(
            Severity::note,
            fmt::format(
                "{} keeps {} tensor{} as they are: windows with fewer weights per output than its blocks have, which "
                "padding would make larger",
                format, result.larger, result.larger == 1 ? "" : "s"),
            "choose a format with one scale per channel, such as int8.channel");
      if (result.saturated > 0)
        findings_.add(severity, fmt::format("{}: {} tensors hold values beyond its range", format, result.saturated),
                      "choose a format with scales, such as mxint8");
    }
  }

  void check_memory() {
    memory_ = environment().memory_bytes;
    std::error_code failed;
    const std::filesystem::space_info space = std::filesystem::space(options_.disk, failed);
    if (!failed) disk_ = static_cast<int64_t>(space.available);
    if (run_.memory && memory_ > 0 && run_.memory->total() > memory_)
      findings_.add(
          Severity::problem,
          fmt::format("a run needs up to {} bytes of memory; the machine has {}", run_.memory->total(), memory_),
          "quantize on a larger machine first, or lower --batch and --seq");
    int64_t largest = 0;
    for (const PredictedSize& each : predicted_) largest = std::max(largest, each.bytes);
    if (disk_ && largest > *disk_)
      findings_.add(Severity::problem,
                    fmt::format("a result of {} bytes does not fit on the disk, which has {} left", largest, *disk_),
                    "write to another folder");
  }

  Table unsupported_table() const {
    Table table{.key = "unsupported",
                .title = "Nodes that are not supported",
                .columns = {{"node", "node"}, {"operator", "operator"}, {"reason", "reason"}}};
    for (const UnsupportedNode& node : unsupported_) table.rows.push_back({node.node, node.op_type, node.reason});
    return table;
  }

  Table formats_table() const {
    const auto now = static_cast<double>(sizes(graph_).weight_bytes);
    Table table{.key = "formats",
                .title = "Predicted size of the weights",
                .columns = {{"format", "format"},
                            {"tensors", "packed tensors", "", kCount},
                            {"bytes", "bytes", "", kBytes},
                            {"share", "of now", "", {NumberFormat::percent, 1}}}};
    table.rows.push_back({std::string("now"), Cell(), number(now), number(1)});
    for (const PredictedSize& each : predicted_)
      if (each.fault.empty())
        table.rows.push_back({each.format, number(static_cast<double>(each.tensors)),
                              number(static_cast<double>(each.bytes)),
                              number(now > 0 ? static_cast<double>(each.bytes) / now : 0)});
    return table;
  }

  KeyValues memory_block() const {
    const auto bytes = [](const char* key, const char* title, int64_t value) {
      return KeyValue{key, title, number(static_cast<double>(value)), "", kBytes};
    };
    KeyValues block{.key = "memory",
                    .title = "Memory and disk",
                    .items = {bytes("weights_bytes", "weights", sizes(graph_).weight_bytes)}};
    if (run_.memory) {
      const PredictedMemory& run = *run_.memory;
      block.items.insert(block.items.end(), {bytes("opened_bytes", "hone with the model opened", run.opened),
                                             bytes("panel_bytes", "weights laid out for kernels", run.panels),
                                             bytes("weight_page_bytes", "pages of weights as stored", run.weight_pages),
                                             bytes("arena_bytes", "activations (arena)", run.arena),
                                             bytes("scratch_bytes", "scratch of kernels", run.scratch),
                                             bytes("value_bytes", "inputs, outputs, interpreted values", run.values),
                                             bytes("code_bytes", "making machine code", run.code),
                                             bytes("needed_bytes", "a run needs at most", run.total())});
    }
    block.items.push_back(bytes("machine_bytes", "the machine has", memory_));
    if (disk_) block.items.push_back(bytes("disk_bytes", "free on disk", *disk_));
    return block;
  }

  KeyValues speed_block() const {
    const NumberStyle style{NumberFormat::significant, 3};
    return {.key = "speed",
            .title = "Predicted time of one run, on one thread of this machine when it is idle",
            .items = {{"low_ms", "at least", number(run_.speed->low_ms), "ms", style},
                      {"high_ms", "at most", number(run_.speed->high_ms), "ms", style}}};
  }

  std::string headline(int problems, double seconds) const {
    const bool whole = findings_.count(Severity::unexamined) == 0;
    const std::string found =
        problems == 0 ? "No problem" : fmt::format("{} problem{}", problems, problems == 1 ? "" : "s");
    return fmt::format("{} found{}. Examined in {:.2f} s.", found,
                       whole ? "" : " in what was examined, which is not all", seconds);
  }

  Diagnosis diagnosis(double seconds) const {
    Diagnosis result;
    result.problems = static_cast<int>(findings_.count(Severity::problem));
    Section section{"Diagnosis", {}};
    if (!unsupported_.empty()) section.blocks.emplace_back(unsupported_table());
    for (const std::vector<Table>* tables : {&run_.tables, &training_})
      section.blocks.insert(section.blocks.end(), tables->begin(), tables->end());
    section.blocks.emplace_back(formats_table());
    if (run_.speed) section.blocks.emplace_back(speed_block());
    section.blocks.emplace_back(memory_block());
    result.record.title = path_;
    result.record.findings = {headline(result.problems, seconds)};
    for (std::string& text : findings_.texts()) result.record.findings.push_back(std::move(text));
    result.record.sections.push_back(std::move(section));
    return result;
  }

  const std::string& path_;
  const DoctorOptions& options_;
  Graph graph_;
  TrainingForm form_;  // where training is asked about
  std::vector<UnsupportedNode> unsupported_;
  std::vector<WeightFacts> weights_;
  Findings findings_;
  Bindings bindings_;
  ExaminedRun run_;
  std::vector<Table> training_;
  std::vector<PredictedSize> predicted_;
  int64_t memory_ = 0;
  std::optional<int64_t> disk_;
};

}  // namespace

Diagnosis doctor(const std::string& path, const DoctorOptions& options) { return Doctor(path, options).run(); }

}  // namespace hone
