#include "jobs/doctor.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "base/threads.h"
#include "io/onnx/import_model.h"
#include "jobs/load_model.h"
#include "jobs/predicted_memory.h"
#include "jobs/predicted_size.h"
#include "jobs/predicted_speed.h"
#include "jobs/weight_facts.h"
#include "measure/environment.h"
#include "measure/memory.h"
#include "ops/calls.h"
#include "passes/differentiate.h"
#include "runtime/arena.h"
#include "runtime/cut_graph.h"
#include "train/norm_statistics.h"
#include "train/parameters.h"
#include "train/sized_graph.h"
#include "train/training_form.h"

namespace hone {
namespace {

const NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3};
constexpr const char* kUsualFormats[] = {"bf16", "int8", "mxint8", "mxfp6_e3m2", "int4.g32", "mxfp4"};

enum class Severity : uint8_t { problem, unexamined, slow, note };
constexpr const char* kSeverityNames[] = {"problem", "not examined", "slow", "note"};

struct Finding {
  Severity severity;
  std::string what, advice;
};

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
      if (options_.train) check_training();
    } else {
      leave_out("what is interpreted, memory and time of a run, since there is none");
      if (options_.train) leave_out("what it lacks to be trained");
    }
    check_weights();
    check_formats();
    check_memory();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return diagnosis(elapsed.count());
  }

 private:
  void add(Severity severity, std::string what, std::string advice = "") {
    findings_.push_back({severity, std::move(what), std::move(advice)});
  }

  void load() {
    if (std::filesystem::path(path_).extension() == ".onnx" && std::filesystem::is_regular_file(path_)) {
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
      add(Severity::problem,
          fmt::format("{} ({} node{}) is not supported", name.empty() ? "an input" : name, count,
                      count == 1 ? "" : "s"),
          "the table lists the nodes; export the model without them, or with another opset");
  }

  void leave_out(std::string what, std::string advice = "") {
    add(Severity::unexamined, std::move(what), std::move(advice));
  }

  // The graph as quantize sees it. False: no run could prepare it either.
  bool prepare() {
    try {
      if (options_.train) form_ = training_form(with_running_statistics(graph_));
      graph_ = canonicalise(graph_);
      return true;
    } catch (const Error& error) {
      add(Severity::problem, fmt::format("the model can't be prepared for a run: {}", error.what()));
      return false;
    }
  }

  void check_weights() {
    std::vector<std::string> of_formulas;
    weights_ = scan_weights(graph_);
    for (const WeightFacts& facts : weights_) {
      if (facts.nan + facts.inf == 0) continue;
      const std::string found = fmt::format("{} holds {} NaN and {} infinite values", facts.name, facts.nan, facts.inf);
      if (facts.learned) add(Severity::problem, found, "quantizing it is refused; train or export it again");
      else if (facts.elements > 1 && facts.nan > 0)
        add(Severity::problem, found, "what reads it computes NaN; train or export it again");
      else if (facts.elements > 1) of_formulas.push_back(facts.name);
    }
    if (of_formulas.empty()) return;
    const std::string others = of_formulas.size() == 1 ? "" : fmt::format(" and {} more", of_formulas.size() - 1);
    add(Severity::note,
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
        add(Severity::slow,
            fmt::format("input \"{}\" is {}: all that depends on it is interpreted", graph_.value(v).label,
                        to_string(type)),
            "export the model with the input's shape");
      if (symbols.empty()) continue;
      std::string chosen;
      for (const std::string& symbol : symbols)
        chosen += fmt::format("{}{}={}", chosen.empty() ? "" : ", ", symbol, bindings_.at(symbol));
      add(Severity::note,
          fmt::format("input \"{}\" {} has sizes that each run chooses; examined with {}", graph_.value(v).label,
                      to_string(type), chosen),
          "set them with --batch, --seq or --dim NAME=SIZE; each new size is compiled once");
    }
  }

  void check_execution() {
    try {
      examine_execution();
    } catch (const Error& error) {
      refuse_sizes(error);
    }
  }

  // Sizes that were asked for and do not fit are a problem; guessed ones say nothing about the model.
  void refuse_sizes(const Error& error) {
    const std::string advice = "give sizes that fit with --batch, --seq or --dim NAME=SIZE";
    const bool guessed = !bindings_.empty() && options_.shapes.dims.empty() && !options_.shapes.sequence;
    if (!guessed)
      add(Severity::problem, fmt::format("the model could not be examined at these sizes: {}", error.what()), advice);
    std::string sizes;
    for (const auto& [symbol, size] : bindings_)
      sizes += fmt::format("{}{}={}", sizes.empty() ? "" : ", ", symbol, size);
    leave_out(fmt::format("what is interpreted, memory and time of a run{}",
                          guessed ? fmt::format(": the guessed {} do not fit: {}", sizes, error.what()) : ""),
              guessed ? advice : "");
  }

  void examine_execution() {
    const std::shared_ptr<Device> device = device_or_cpu(options_.device);
    Graph prepared = prepare_for_codegen(graph_, stored_compute(graph_), {}, device->pipeline());
    prepared.compact();
    const SpecialisedParts parts = specialised_parts(prepared, bindings_);
    const LoweredGraph lowered = lower(parts.head, {.device = device});
    const Arena arena = plan_arena(parts.head, lowered);
    run_memory_ = predict_memory(parts.head, lowered, arena, *device, hardware_threads(), memory_use().peak_bytes);
    if (!parts.turns.empty())
      leave_out("memory and time of the part whose sizes depend on data; the memory below is without it");
    else if (options_.peaks) speed_ = predict_speed(parts.head, lowered, *device, *options_.peaks);
    else
      add(Severity::note, "no time is predicted: what this machine reaches has not been measured since it started",
          "hone machine measures it, in a few seconds");
    note_interpreted(prepared, parts, lowered);
  }

  void note_interpreted(const Graph& whole, const SpecialisedParts& parts, const LoweredGraph& lowered) {
    for (const Step& step : lowered.steps) {
      const double flops = work_of(parts.head, step).flops;
      total_flops_ += flops;
      if (step.plan) continue;
      Interpreted& entry = interpreted_[{parts.head.node(step->group.nodes[0]).op->name, step->why_interpreted}];
      ++entry.nodes, entry.flops += flops;
    }
    for (NodeId n : parts.turns) ++interpreted_[{whole.node(n).op->name, "shapes depend on data"}].nodes;
    double flops = 0;
    int64_t nodes = 0;
    for (const auto& [key, entry] : interpreted_) flops += entry.flops, nodes += entry.nodes;
    if (nodes == 0) return;
    const double share = total_flops_ > 0 ? flops / total_flops_ : 0;
    add(share > 0.01 ? Severity::slow : Severity::note,
        fmt::format("{} node{} will be interpreted, with {:.1f} % of the arithmetic", nodes, nodes == 1 ? "" : "s",
                    100 * share),
        "the table says which, and why; interpretation is right but not compiled");
  }

  void check_norms() {
    if (const size_t norms = graph_.nodes(batch_norm_train_def).size(); norms > 0)
      add(Severity::note,
          fmt::format("{} batch norm{} by the batch that {} given: what the model says of a row depends on the others",
                      norms, norms == 1 ? " goes" : "s go", norms == 1 ? "it is" : "they are"),
          "hone train writes norms that go by their running statistics; an export in evaluation mode has such, too");
  }

  // What of the graph in training form can be trained, by names, and the graph whose nodes are the obstacles.
  struct TrainedGraph {
    Trainability found;
    Graph graph;
    std::set<std::string> reached;
  };

  static TrainedGraph trained_graph(Graph graph, const std::vector<ValueId>& weights) {
    Trainability found = trainability(graph, weights);
    std::set<std::string> reached;
    for (ValueId id : found.reached) reached.insert(graph.value(id).label);
    return {std::move(found), std::move(graph), std::move(reached)};
  }

  // Where open sizes do not tell what a gradient is, those of a run do, as in training.
  TrainedGraph trainability_of(const std::vector<ValueId>& weights) {
    TrainedGraph open = trained_graph(form_.graph, weights);
    if (open.found.obstacles.empty() || bindings_.empty()) return open;
    try {
      Graph sized = form_.graph;
      std::set<std::string> labels;
      for (ValueId weight : weights) {
        labels.insert(sized.value(weight).label);
        sized.make_parameter(weight);
      }
      sized = with_sizes(sized, bindings_);
      std::vector<ValueId> parameters;
      for (ValueId input : sized.inputs())
        if (labels.contains(sized.value(input).label) && sized.value(input).role == InputRole::parameter)
          parameters.push_back(input);
      TrainedGraph of_sizes = trained_graph(std::move(sized), parameters);
      if (of_sizes.found.obstacles.size() >= open.found.obstacles.size()) return open;
      add(Severity::note, "gradients need sizes that the model leaves open",
          "train makes a step for each of the data's sizes");
      return of_sizes;
    } catch (const Error&) {  // sizes that were made up need not fit
      return open;
    }
  }

  // The parameters, as a framework would list them, and ops on their way to the outputs that give no gradient.
  void check_training() {
    parameters_ = stored_tensors(form_.graph);
    std::vector<ValueId> weights;
    for (const StoredTensor& tensor : parameters_)
      if (tensor.why_not.empty()) weights.push_back(tensor.id);
    if (weights.empty())
      return add(Severity::problem, "it can't be trained: it has no parameters",
                 parameters_.empty() && form_.others.empty() ? "its constants are integers, or without names"
                                                             : "the table says why");
    const auto [found, graph, reached] = trainability_of(weights);
    for (const Trainability::Obstacle& obstacle : found.obstacles)
      ++untrainable_[{graph.node(obstacle.node).op->name, obstacle.why}];
    if (!found.obstacles.empty())
      add(Severity::problem,
          fmt::format("{} node{} between weights and outputs give{} no gradient", found.obstacles.size(),
                      found.obstacles.size() == 1 ? "" : "s", found.obstacles.size() == 1 ? "s" : ""),
          "the table says which, and why; freeze the weights before them, or take an output that is computed earlier");
    int64_t numbers = 0, all = 0;
    for (StoredTensor& tensor : parameters_) {
      if (!tensor.why_not.empty()) continue;
      all += element_count(tensor.shape);
      if (reached.contains(tensor.name)) numbers += element_count(tensor.shape);
      else tensor.why_not = "no output follows smoothly from it";
    }
    add(found.reached.empty() ? Severity::problem : Severity::note,
        fmt::format("{} numbers in {} of {} parameters can be trained", numbers, found.reached.size(), weights.size()),
        found.reached.size() == weights.size()
            ? ""
            : fmt::format("no output follows smoothly from the others, of {} numbers: the table names them",
                          all - numbers));
  }

  void check_formats() {
    std::vector<std::string> formats = options_.formats;
    if (formats.empty()) formats.assign(std::begin(kUsualFormats), std::end(kUsualFormats));
    for (const std::string& format : formats) {
      predicted_.push_back(predict_size(graph_, format, weights_));
      const PredictedSize& result = predicted_.back();
      const Severity severity = options_.formats.empty() ? Severity::note : Severity::problem;
      if (!result.fault.empty()) add(severity, fmt::format("{} does not fit: {}", format, result.fault));
      else if (result.tensors == 0)
        add(severity, fmt::format("{} would change nothing: no weight is one that quantize packs by default", format),
            "name weights with hone quantize --rule name:NAME=FORMAT");
      if (result.larger > 0)
        add(Severity::note,
            fmt::format(
                "{} keeps {} tensor{} as they are: windows with fewer weights per output than its blocks have, which "
                "padding would make larger",
                format, result.larger, result.larger == 1 ? "" : "s"),
            "choose a format with one scale per channel, such as int8.channel");
      if (result.saturated > 0)
        add(severity, fmt::format("{}: {} tensors hold values beyond its range", format, result.saturated),
            "choose a format with scales, such as mxint8");
    }
  }

  void check_memory() {
    memory_ = environment().memory_bytes;
    std::error_code failed;
    const std::filesystem::space_info space = std::filesystem::space(options_.disk, failed);
    if (!failed) disk_ = static_cast<int64_t>(space.available);
    if (run_memory_ && memory_ > 0 && run_memory_->total() > memory_)
      add(Severity::problem,
          fmt::format("a run needs up to {} bytes of memory; the machine has {}", run_memory_->total(), memory_),
          "quantize on a larger machine first, or lower --batch and --seq");
    int64_t largest = 0;
    for (const PredictedSize& each : predicted_) largest = std::max(largest, each.bytes);
    if (disk_ && largest > *disk_)
      add(Severity::problem,
          fmt::format("a result of {} bytes does not fit on the disk, which has {} left", largest, *disk_),
          "write to another folder");
  }

  // What is worst comes first.
  std::vector<std::string> finding_texts() const {
    std::vector<Finding> sorted = findings_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
    std::vector<std::string> texts;
    for (const Finding& each : sorted)
      texts.push_back(fmt::format("{}: {}.{}{}", kSeverityNames[static_cast<size_t>(each.severity)], each.what,
                                  each.advice.empty() ? "" : " Advice: ", each.advice));
    return texts;
  }

  Table unsupported_table() const {
    Table table{.key = "unsupported",
                .title = "Nodes that are not supported",
                .columns = {{"node", "node"}, {"operator", "operator"}, {"reason", "reason"}}};
    for (const UnsupportedNode& node : unsupported_) table.rows.push_back({node.node, node.op_type, node.reason});
    return table;
  }

  Table interpreted_table() const {
    Table table{.key = "interpreted",
                .title = "What will be interpreted",
                .columns = {{"op", "op"},
                            {"nodes", "nodes", "", kCount},
                            {"share", "share of FLOP", "", {NumberFormat::percent, 1}},
                            {"reason", "why"}}};
    for (const auto& [key, entry] : interpreted_)
      table.rows.push_back({key.first, number(static_cast<double>(entry.nodes)),
                            number(total_flops_ > 0 ? entry.flops / total_flops_ : 0), key.second});
    return table;
  }

  Table untrainable_table() const {
    Table table{.key = "untrainable",
                .title = "What gives no gradient",
                .columns = {{"op", "op"}, {"nodes", "nodes", "", kCount}, {"reason", "why"}}};
    for (const auto& [key, nodes] : untrainable_)
      table.rows.push_back({key.first, number(static_cast<double>(nodes)), key.second});
    return table;
  }

  // Names and shapes as the file has them.
  Table parameters_table() const {
    Table table{.key = "parameters",
                .title = "Parameters",
                .columns = {{"name", "name"},
                            {"shape", "shape"},
                            {"numbers", "numbers", "", kCount},
                            {"role", "read as"},
                            {"trained", "trained"}}};
    const auto add = [&](const StoredTensor& tensor) {
      const std::vector<int64_t> shape = stored_shape(form_.relaid, tensor.name, tensor.shape);
      table.rows.push_back({tensor.name, fmt::format("[{}]", fmt::join(shape, ",")),
                            number(static_cast<double>(element_count(shape))),
                            tensor.role == ParameterRole::none ? Cell() : Cell(std::string(to_string(tensor.role))),
                            tensor.why_not.empty() ? std::string("yes") : "no: " + tensor.why_not});
    };
    for (const StoredTensor& tensor : parameters_) add(tensor);
    for (const StoredTensor& tensor : form_.others) add(tensor);
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
    if (run_memory_) {
      const PredictedMemory& run = *run_memory_;
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
            .items = {{"low_ms", "at least", number(speed_->low_ms), "ms", style},
                      {"high_ms", "at most", number(speed_->high_ms), "ms", style}}};
  }

  std::string headline(int problems, double seconds) const {
    const bool whole =
        std::ranges::none_of(findings_, [](const Finding& each) { return each.severity == Severity::unexamined; });
    const std::string found =
        problems == 0 ? "No problem" : fmt::format("{} problem{}", problems, problems == 1 ? "" : "s");
    return fmt::format("{} found{}. Examined in {:.2f} s.", found,
                       whole ? "" : " in what was examined, which is not all", seconds);
  }

  Diagnosis diagnosis(double seconds) const {
    Diagnosis result;
    for (const Finding& each : findings_) result.problems += each.severity == Severity::problem;
    Section section{"Diagnosis", {}};
    if (!unsupported_.empty()) section.blocks.emplace_back(unsupported_table());
    if (!interpreted_.empty()) section.blocks.emplace_back(interpreted_table());
    if (!parameters_.empty() || !form_.others.empty()) section.blocks.emplace_back(parameters_table());
    if (!untrainable_.empty()) section.blocks.emplace_back(untrainable_table());
    section.blocks.emplace_back(formats_table());
    if (speed_) section.blocks.emplace_back(speed_block());
    section.blocks.emplace_back(memory_block());
    result.record.title = path_;
    result.record.findings = {headline(result.problems, seconds)};
    for (std::string& text : finding_texts()) result.record.findings.push_back(std::move(text));
    result.record.sections.push_back(std::move(section));
    return result;
  }

  struct Interpreted {
    int64_t nodes = 0;
    double flops = 0;
  };

  const std::string& path_;
  const DoctorOptions& options_;
  Graph graph_;
  TrainingForm form_;                     // where training is asked about
  std::vector<StoredTensor> parameters_;  // of it, and what is none
  std::vector<UnsupportedNode> unsupported_;
  std::vector<WeightFacts> weights_;
  std::vector<Finding> findings_;
  Bindings bindings_;
  std::map<std::pair<std::string, std::string>, Interpreted> interpreted_;  // by op and reason
  std::map<std::pair<std::string, std::string>, int64_t> untrainable_;      // nodes, likewise
  double total_flops_ = 0;
  std::optional<PredictedMemory> run_memory_;
  std::optional<PredictedSpeed> speed_;
  std::vector<PredictedSize> predicted_;
  int64_t memory_ = 0;
  std::optional<int64_t> disk_;
};

}  // namespace

Diagnosis doctor(const std::string& path, const DoctorOptions& options) { return Doctor(path, options).run(); }

}  // namespace hone
