#include "jobs/doctor.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "jobs/load_model.h"
#include "jobs/weight_facts.h"
#include "measure/environment.h"
#include "measure/memory.h"
#include "ops/calls/batch_norm_train.h"
#include "passes/pipelines.h"
#include "train/norm_statistics.h"

namespace hone {
namespace {

constexpr OptionField<DoctorFlags> kFormats[] = {
    flag("to", "Number format to check (repeatable; default: a choice from 16 bits to 4)", &DoctorFlags::to)};
constexpr OptionField<DoctorFlags> kOwn[] = {
    flag("disk", "Folder that results would be written to", &DoctorFlags::disk, {.value = "FOLDER"}),
    flag("train", "Also list what the model lacks to be trained", &DoctorFlags::train)};

constexpr const char* kUsualFormats[] = {"bf16", "int8", "mxint8", "mxfp6_e3m2", "int4.g32", "mxfp4"};

class Doctor {
 public:
  Doctor(const std::string& path, const DoctorOptions& options) : path_(path), options_(options) {}

  Diagnosis run() {
    const auto start = std::chrono::steady_clock::now();
    reset_peak();
    load();
    if (result_.unsupported.empty() && prepare()) {
      check_dimensions();
      check_execution();
      check_norms();
      if (options_.train) result_.training = examine_training(form_, bindings_, findings_);
    } else {
      findings_.leave_out("what is interpreted, memory and time of a run, since there is none");
      if (options_.train) findings_.leave_out("what it lacks to be trained");
    }
    check_weights();
    check_formats();
    check_memory();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    result_.path = path_, result_.seconds = elapsed.count();
    result_.findings = findings_.sorted();
    result_.weight_bytes = sizes(graph_).weight_bytes;
    return std::move(result_);
  }

 private:
  void load() {
    if (importer_of(path_, options_.format).name ==
        std::string_view("onnx")) {  // whose nodes are listed where they lack support
      OnnxImport import = import_onnx(path_);
      graph_ = std::move(import.graph);
      result_.unsupported = std::move(import.unsupported);
    } else {
      graph_ = load_model(path_, {}, options_.format).graph;
    }
    if (result_.unsupported.empty()) return;
    std::map<std::string, int> by_operator;
    for (const UnsupportedNode& node : result_.unsupported) ++by_operator[node.op_type];
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
      result_.run = examine_run(
          graph_, bindings_, {.device = options_.device, .no_fallback = options_.no_fallback, .peaks = options_.peaks},
          findings_);
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
      result_.formats.push_back(predict_size(graph_, format, weights_));
      const PredictedSize& result = result_.formats.back();
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
    result_.machine_bytes = environment().memory_bytes;
    std::error_code failed;
    const std::filesystem::space_info space = std::filesystem::space(options_.disk, failed);
    if (!failed) result_.disk_bytes = static_cast<int64_t>(space.available);
    if (result_.run.memory && result_.machine_bytes > 0 && result_.run.memory->total() > result_.machine_bytes)
      findings_.add(Severity::problem,
                    fmt::format("a run needs up to {} bytes of memory; the machine has {}", result_.run.memory->total(),
                                result_.machine_bytes),
                    "quantize on a larger machine first, or lower --batch and --seq");
    int64_t largest = 0;
    for (const PredictedSize& each : result_.formats) largest = std::max(largest, each.bytes);
    if (result_.disk_bytes && largest > *result_.disk_bytes)
      findings_.add(
          Severity::problem,
          fmt::format("a result of {} bytes does not fit on the disk, which has {} left", largest, *result_.disk_bytes),
          "write to another folder");
  }

  const std::string& path_;
  const DoctorOptions& options_;
  Graph graph_;
  TrainingForm form_;  // where training is asked about
  std::vector<WeightFacts> weights_;
  Findings findings_;
  Bindings bindings_;
  Diagnosis result_;
};

}  // namespace

std::span<const OptionField<DoctorFlags>> DoctorFlags::fields() {
  static const auto all = joined_fields<DoctorFlags>(ShapeFlags::fields(), kFormats, DeviceFlags::fields(), kOwn);
  return all;
}

DoctorOptions DoctorFlags::typed() const {
  return {.shapes = shapes(),
          .formats = to,
          .device = asked_device(),
          .no_fallback = no_fallback,
          .disk = disk,
          .train = train};
}

int64_t Diagnosis::count(Severity severity) const { return std::ranges::count(findings, severity, &Finding::severity); }

Diagnosis doctor(const std::string& path, const DoctorOptions& options) { return Doctor(path, options).run(); }

}  // namespace hone
