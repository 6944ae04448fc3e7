#include "jobs/doctor.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>

#include "formats/packed.h"
#include "io/onnx/import_model.h"
#include "ir/bodies.h"
#include "ir/flops.h"
#include "jobs/load_model.h"
#include "jobs/predicted_speed.h"
#include "measure/environment.h"
#include "passes/quantize.h"
#include "runtime/arena.h"
#include "runtime/split_graph.h"

namespace hone {
namespace {

const NumberStyle kCount{NumberFormat::integer, 0}, kBytes{NumberFormat::bytes, 3};
constexpr const char* kUsualFormats[] = {"bf16", "int8", "mxint8", "mxfp6_e3m2", "int4.g32", "mxfp4"};

enum class Severity : uint8_t { problem, slow, note };
constexpr const char* kSeverityNames[] = {"problem", "slow", "note"};

struct Finding {
  Severity severity;
  std::string what, advice;
};

// --- weights ---------------------------------------------------------------------------------------------------------

struct WeightFacts {
  std::string name;
  int64_t nan = 0, inf = 0;
  double largest = 0;  // of the finite magnitudes
};

template <class T, class Decode>
void scan(std::span<const T> values, Decode decode, WeightFacts& facts) {
  for (const T& each : values) {
    const auto magnitude = std::fabs(static_cast<double>(decode(each)));
    if (magnitude <= std::numeric_limits<double>::max()) facts.largest = std::max(facts.largest, magnitude);
    else ++(std::isnan(magnitude) ? facts.nan : facts.inf);
  }
}

WeightFacts facts_of(const std::string& name, const Tensor& tensor) {
  WeightFacts facts{.name = name};
  const auto same = [](auto x) { return x; };
  switch (tensor.dtype()) {
    case DType::f32:
      if (!tensor.is_packed()) scan(tensor.as<float>(), same, facts);
      break;
    case DType::f64:
      scan(tensor.as<double>(), same, facts);
      break;
    default: {
      const std::vector<float> values = tensor.to_floats();
      scan(std::span<const float>(values), same, facts);
    }
  }
  return facts;
}

std::vector<WeightFacts> scan_weights(const Graph& graph) {
  std::vector<WeightFacts> facts;
  for_each_graph(graph, [&](const Graph& each) {
    for (ValueId v : each.constants())
      if (is_float(each.type(v).dtype))
        facts.push_back(
            facts_of(each.value(v).label.empty() ? each.value(v).name : each.value(v).label, *each.constant(v)));
  });
  return facts;
}

// --- the whole -------------------------------------------------------------------------------------------------------

class Doctor {
 public:
  Doctor(const std::string& path, const DoctorOptions& options) : path_(path), options_(options) {}

  Diagnosis run() {
    const auto start = std::chrono::steady_clock::now();
    load();
    if (unsupported_.empty()) graph_ = canonicalise(std::move(graph_));  // as quantize sees it
    weights_ = scan_weights(graph_);
    check_weights();
    if (unsupported_.empty()) {
      check_dimensions();
      check_execution();
    }
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

  void check_weights() {
    for (const WeightFacts& facts : weights_)
      if (facts.nan + facts.inf > 0)
        add(Severity::problem, fmt::format("{} holds {} NaN and {} infinite values", facts.name, facts.nan, facts.inf),
            "quantising it is refused; train or export it again");
  }

  void check_dimensions() {
    bindings_ = bind_symbols(graph_, options_.shapes);
    for (ValueId v : graph_.inputs()) {
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
    IsaLevel isa = options_.isa ? *options_.isa : best_isa_level();
    SplitGraph parts;
    try {
      Graph prepared = prepare_for_codegen(graph_, stored_compute(graph_));
      prepared.compact();
      parts = split_graph(prepared, bindings_);
    } catch (const Error& error) {
      // Sizes that nobody chose were guessed.
      add(bindings_.empty() || !options_.shapes.dims.empty() ? Severity::problem : Severity::note,
          fmt::format("the model could not be examined at these sizes: {}", error.what()),
          "give sizes that fit with --batch, --seq or --dim NAME=SIZE");
      return;
    }
    const LoweredGraph lowered = lower(parts.fixed, {.isa = isa});
    arena_ = plan_arena(parts.fixed, lowered);
    if (options_.peaks && !parts.open) speed_ = predict_speed(parts.fixed, lowered, *options_.peaks);
    for (const Step& step : lowered.steps) {
      total_flops_ += step.flops;
      if (step.plan) continue;
      Interpreted& entry = interpreted_[{parts.fixed.node(step.group.nodes[0]).op->name, step.why_interpreted}];
      ++entry.nodes, entry.flops += step.flops;
    }
    if (parts.open)
      for (NodeId n : parts.open->nodes())
        ++interpreted_[{parts.open->node(n).op->name, "shapes depend on data"}].nodes;
    double flops = 0;
    int64_t nodes = 0;
    for (const auto& [key, entry] : interpreted_) flops += entry.flops, nodes += entry.nodes;
    if (nodes == 0) return;
    const double share = total_flops_ > 0 ? flops / total_flops_ : 0;
    add(share > 0.01 ? Severity::slow : Severity::note,
        fmt::format("{} node{} will be interpreted, with {:.1f} % of the arithmetic", nodes, nodes == 1 ? "" : "s",
                    100 * share),
        "the table says which, and why; interpretation is right but hundreds of times slower");
  }

  struct Predicted {
    std::string format, fault;
    int64_t bytes = 0, tensors = 0, saturated = 0, larger = 0;
  };

  // Size of the model's constants with `format` for all that `hone quantize --to` would pack.
  Predicted predict(const std::string& format) const {
    Predicted result{.format = format};
    QuantisationPlan plan;
    try {
      plan = plan_quantisation(graph_, {.to = format});
    } catch (const Error& error) {
      result.fault = error.what();
      return result;
    }
    result.bytes = sizes(graph_).weight_bytes;
    predict(graph_, plan, result);
    return result;
  }

  void predict(const Graph& graph, const QuantisationPlan& plan, Predicted& result) const {
    for (const QuantizeChoice& choice : plan.constants) {
      if (choice.decided_by.starts_with("kept: larger")) ++result.larger;
      if (!choice.format) continue;
      ++result.tensors;
      result.bytes += packed_bytes(*choice.format, choice.shape) - graph.constant(choice.value)->bytes();
      if (beyond_range(*choice.format, choice.name)) ++result.saturated;
    }
    for (const BodyPlan& inner : plan.bodies) predict(graph.node(inner.node).subgraphs[inner.body], inner.plan, result);
  }

  static int64_t packed_bytes(const Format& format, const std::vector<int64_t>& shape) {
    if (const std::optional<DType> plain = dtype_of_plain_format(format))
      return element_count(shape) * size_bytes(*plain);
    return plane_bytes(format, shape).total();
  }

  // Formats with scales adapt to any range; others end at their largest code.
  bool beyond_range(const Format& format, const std::string& name) const {
    if (format.scale.bits > 0) return false;
    const double largest = format.codec->max(format.element);
    return std::any_of(weights_.begin(), weights_.end(),
                       [&](const WeightFacts& facts) { return facts.name == name && facts.largest > largest; });
  }

  void check_formats() {
    std::vector<std::string> formats = options_.formats;
    if (formats.empty()) formats.assign(std::begin(kUsualFormats), std::end(kUsualFormats));
    for (const std::string& format : formats) {
      predicted_.push_back(predict(format));
      const Predicted& result = predicted_.back();
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
    const int64_t weights = sizes(graph_).weight_bytes;
    // Weights are laid out once more for kernels; pages of the source are dropped after that, where they are mapped.
    needed_ = 2 * weights + arena_.bytes;
    memory_ = environment().memory_bytes;
    std::error_code failed;
    const std::filesystem::space_info space = std::filesystem::space(options_.disk, failed);
    if (!failed) disk_ = static_cast<int64_t>(space.available);
    if (memory_ > 0 && needed_ > memory_)
      add(Severity::problem, fmt::format("a run needs up to {} bytes of memory; the machine has {}", needed_, memory_),
          "quantise on a larger machine first, or lower --batch and --seq");
    int64_t largest = 0;
    for (const Predicted& each : predicted_) largest = std::max(largest, each.bytes);
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

  Table formats_table() const {
    const auto now = static_cast<double>(sizes(graph_).weight_bytes);
    Table table{.key = "formats",
                .title = "Predicted size of the weights",
                .columns = {{"format", "format"},
                            {"tensors", "packed tensors", "", kCount},
                            {"bytes", "bytes", "", kBytes},
                            {"share", "of now", "", {NumberFormat::percent, 1}}}};
    table.rows.push_back({std::string("now"), Cell(), number(now), number(1)});
    for (const Predicted& each : predicted_)
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
                    .items = {bytes("weights_bytes", "weights", sizes(graph_).weight_bytes),
                              bytes("arena_bytes", "activations (arena)", arena_.bytes),
                              bytes("needed_bytes", "a run needs at most", needed_),
                              bytes("machine_bytes", "the machine has", memory_)}};
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

  Diagnosis diagnosis(double seconds) const {
    Diagnosis result;
    for (const Finding& each : findings_) result.problems += each.severity == Severity::problem;
    Section section{"Diagnosis", {}};
    if (!unsupported_.empty()) section.blocks.emplace_back(unsupported_table());
    if (!interpreted_.empty()) section.blocks.emplace_back(interpreted_table());
    section.blocks.emplace_back(formats_table());
    if (speed_) section.blocks.emplace_back(speed_block());
    section.blocks.emplace_back(memory_block());
    result.record.title = path_;
    result.record.findings = {result.problems == 0
                                  ? fmt::format("No problem found. Examined in {:.2f} s.", seconds)
                                  : fmt::format("{} problem{} found. Examined in {:.2f} s.", result.problems,
                                                result.problems == 1 ? "" : "s", seconds)};
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
  std::vector<UnsupportedNode> unsupported_;
  std::vector<WeightFacts> weights_;
  std::vector<Finding> findings_;
  Bindings bindings_;
  std::map<std::pair<std::string, std::string>, Interpreted> interpreted_;  // by op and reason
  double total_flops_ = 0;
  Arena arena_;
  std::optional<PredictedSpeed> speed_;
  std::vector<Predicted> predicted_;
  int64_t needed_ = 0, memory_ = 0;
  std::optional<int64_t> disk_;
};

}  // namespace

Diagnosis doctor(const std::string& path, const DoctorOptions& options) { return Doctor(path, options).run(); }

}  // namespace hone
