#include "jobs/sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "calibrate/collect.h"
#include "jobs/format_list.h"
#include "jobs/format_study.h"
#include "jobs/scratch_folder.h"
#include "measure/claim.h"
#include "measure/environment.h"
#include "passes/compress/quantize.h"
#include "report/svg.h"

namespace hone {
namespace {

struct Swept {
  std::string format;
  bool trained = false;  // in that format; else quantized
  OutputDistance selecting, held_out;
  double average_bits = 0;
  int64_t bytes = 0;
  bool is_finite() const { return std::isfinite(selecting.error) && std::isfinite(held_out.error); }
};

constexpr std::string_view kByDefault = "kept by default";  // what no rule and no default format is about

class Sweeper {
 public:
  explicit Sweeper(const SweepOptions& options)
      : options_(options),
        study_({.model = options.model,
                .inputs = options.inputs,
                .data = options.data,
                .judged = options.judged,
                .calibration = options.calibration,
                .quantize = options.quantize,
                .session = options.session,
                .memory = options.folder + "/measurements.txt",
                .settings = settings(options)}) {
    if (options.formats.empty()) fail("no formats to sweep; give --formats, e.g. 'int{{4..16}}.f{{2,4,8}}'");
  }

  Record run() {
    size_t number = 0;
    for (const std::string& format : options_.formats) {
      tell(options_.progress, fmt::format("{} ({} of {})", format, ++number, options_.formats.size()));
      swept_.push_back(measured(format));
      if (options_.training) swept_.push_back(measured_trained(format));
    }
    if (options_.training) exact_ = measured_trained("");
    measured_ = study_.known.measured(), recalled_ = study_.known.recalled();  // of formats
    write_files();
    return record();
  }

 private:
  Swept measured(const std::string& format) {
    const auto [selecting, held_out, figures] = study_.measured(format, [&]() -> FormatStudy::Changed {
      QuantizeOptions options = options_.quantize;
      options.to = format;
      if (options_.activations) options.activations = format;
      const StatisticsSource statistics = [&](const Graph& g, bool moments) {
        return collect_statistics(g, study_.data.for_methods().batches,
                                  {.moments = moments, .session = study_.session});
      };
      const Graph graph = quantize(study_.graph, options, statistics, {.packer = study_.packer.get()});
      const Sizes all = sizes(graph);
      return {graph, {static_cast<double>(all.weight_bytes), static_cast<double>(all.parameters)}};
    });
    const auto [bytes, parameters] = figures;
    return {format,
            false,
            selecting,
            held_out,
            8 * bytes / std::max(parameters, 1.0),
            static_cast<int64_t>(std::clamp(bytes, 0.0, 0x1p62))};
  }

  // What measurements depend on besides the model, the data and how it is quantized.
  static std::string settings(const SweepOptions& options) {
    std::string text = options.activations ? "activations " : "";
    if (!options.training) return text;
    const TrainModelOptions& t = *options.training;
    const std::string how = decisive_options(t.training, t.reading) + t.data;
    return text + "trained as quantized " + sha256_hex(how).substr(0, 16) + " ";
  }

  // Trained in the format from the model as it is; with no format, trained alike in f32.
  Swept measured_trained(const std::string& format) {
    const std::string name = format.empty() ? "the original" : format;
    const auto [selecting, held_out, figures] = study_.measured(name + " trained", [&]() -> FormatStudy::Changed {
      TrainModelOptions training = *options_.training;
      const Model original = load_model(options_.model, options_.inputs);
      const ScratchFolder scratch;
      if (training.training.max_length == 0) training.training.max_length = options_.judged.max_length;
      const std::string file = scratch.path() + "/trained.safetensors";
      training.training.qat = format.empty() ? std::vector<std::string>() : rules_of(format);
      if (format.empty()) training.training.learn_scales = false;
      const TaskContext context{
          .progress = [&](const std::string& line) { tell(options_.progress, name + ": " + line); }};
      save_trained(file, train_model(original, training, context), original);
      const Graph graph = canonicalise(load_model(file).graph);
      return {graph, size_as_quantized(graph, format)};
    });
    const auto [bytes, parameters] = figures;
    return {name,
            true,
            selecting,
            held_out,
            8 * bytes / std::max(parameters, 1.0),
            static_cast<int64_t>(std::clamp(bytes, 0.0, 0x1p62))};
  }

  // The rules by which training rounds what quantizing to the format rounds.
  std::vector<std::string> rules_of(const std::string& format) const {
    QuantizeOptions options = options_.quantize;
    options.to = format;
    std::vector<std::string> rules{".*=" + format};
    for (const QuantizeChoice& choice : plan_quantization(study_.graph, options).constants) {
      const std::string name = "name:" + stored_label(choice.name);
      const bool is_weight = study_.graph.type(choice.value).rank() >= 2;
      if (choice.format && (choice.after != format || !is_weight)) rules.push_back(name + "=" + choice.after);
      else if (!choice.format && is_weight && choice.decided_by != kByDefault) rules.push_back(name + "=keep");
    }
    if (options_.activations) rules.push_back(".*\\.in=" + format);
    return rules;
  }

  // What a norm was folded into has its own name again where none is.
  static std::string stored_label(const std::string& label) { return label.substr(0, label.find(".folded")); }

  // What quantizing to the format stores, rounded to the nearest; the model as it is where there is no format.
  Graph stored_by_quantizing(const std::string& format) const {
    if (format.empty()) return study_.graph;
    QuantizeOptions options = options_.quantize;
    options.to = format, options.method = "nearest";
    options.bias_correction = options.smooth_quant = options.awq_scaling = false;
    return quantize(study_.graph, options, {}, {.packer = study_.packer.get()});
  }

  // Bytes and elements of the tensors that quantizing stores, each as the trained graph stores it: the norms that are
  // still apart there are counted as what they become once they are folded.
  std::array<double, 2> size_as_quantized(const Graph& trained, const std::string& format) const {
    std::map<std::string, const Tensor*> stored;
    for (ValueId id : trained.constants())
      if (!trained.value(id).label.empty()) stored.emplace(trained.value(id).label, trained.constant(id));
    const Graph quantized = stored_by_quantizing(format);
    const Sizes all = sizes(quantized);
    int64_t bytes = all.weight_bytes;
    for (ValueId id : quantized.constants()) {
      const Tensor& same = *quantized.constant(id);
      const auto found = stored.find(stored_label(quantized.value(id).label));
      if (found != stored.end() && found->second->elements() == same.elements())
        bytes += found->second->bytes() - same.bytes();
    }
    return {static_cast<double>(bytes), static_cast<double>(all.parameters)};
  }

  // Of a line: its formats, and whether the model was trained in them.
  static std::string family_of(const Swept& s) { return format_family(s.format) + (s.trained ? ", trained" : ""); }

  // By what selects. Where two are equal, the smaller model is.
  bool is_better(const Swept& a, const Swept& b) const {
    if (study_.is_better(a.selecting, b.selecting)) return true;
    return !study_.is_better(b.selecting, a.selecting) && a.bytes < b.bytes;
  }

  // The model as it is, in the arithmetic of the others. It is what they differ from: it has no difference.
  Swept original() {
    const Sizes all = sizes(study_.graph);
    const auto distance = [&](const char* name, const OutputMeasure& measure) {
      return distance_of(
          study_.known.get<std::tuple_size_v<DistanceValues>>(name, [&] { return values_of(measure(study_.graph)); }));
    };
    OutputDistance held_out = distance("the original, held out", study_.judge());
    held_out.difference.reset();
    return {"the original",
            false,
            distance("the original, selecting", study_.selection()),
            held_out,
            8.0 * static_cast<double>(all.weight_bytes) / static_cast<double>(std::max<int64_t>(all.parameters, 1)),
            all.weight_bytes};
  }

  LinePlot curves() const {
    std::map<std::string, Line> lines;
    for (const Swept& s : swept_) {
      if (!s.is_finite()) continue;
      Line& line = lines[family_of(s)];
      line.label = family_of(s);
      line.points.emplace_back(s.average_bits, study_.quality(s.held_out));
    }
    LinePlot plot{.key = "curves",
                  .title = "Quality against size, by family",
                  .x = {.title = "average bits"},
                  .y = study_.quality()};
    for (auto& [family, line] : lines) {
      std::ranges::sort(line.points);
      plot.lines.push_back(std::move(line));
    }
    return plot;
  }

  // Of each family and of all, by the number of formats measured: the best so far, where choices are compared. What is
  // held out takes no part, so that no line falls.
  LinePlot best_so_far() const {
    struct Best {
      Line line;
      const Swept* swept = nullptr;
    };
    std::map<std::string, Best> families;
    Best all;
    const auto extend = [&](Best& best, const std::string& label, const Swept& s) {
      best.line.label = label;
      if (!best.swept || is_better(s, *best.swept)) best.swept = &s;
      best.line.points.emplace_back(static_cast<double>(best.line.points.size() + 1),
                                    study_.quality(best.swept->selecting));
    };
    for (const Swept& s : swept_) {
      if (!s.is_finite() || std::isnan(study_.quality(s.selecting))) continue;
      extend(families[family_of(s)], family_of(s), s);
      extend(all, "all", s);
    }
    LinePlot plot{.key = "best_so_far",
                  .title = "Best so far, where choices are compared",
                  .x = {.title = "formats measured"},
                  .y = study_.quality()};
    for (auto& [family, best] : families) plot.lines.push_back(std::move(best.line));
    if (plot.lines.size() > 1) plot.lines.push_back(std::move(all.line));
    return plot;
  }

  static const char* how(const Swept& s, const std::string& family) {
    return s.trained ? "trained" : family.empty() ? "" : "quantized";
  }

  // What training in each format gained beside quantizing, and how much of it training alone gives.
  std::string gain_text() {
    Tally tally;
    for (size_t i = 0; i + 1 < swept_.size(); i += 2)
      tally.add(study_.shown(swept_[i + 1].held_out, swept_[i].held_out), study_.larger_is_better());
    return fmt::format(
        "trained in the format beside quantized after training, by what is held out, where intervals lie apart: {}; "
        "trained as long without rounding, the original: {}",
        verdict(tally), study_.text_of(exact_->held_out));
  }

  std::vector<Column> first_columns() const {
    std::vector<Column> columns{{"format", "format"}, {"family", "family"}};
    if (options_.training) columns.push_back({"how", "how"});
    return columns;
  }

  Table table() {
    Table table{
        .key = "sweep",
        .title = study_.data.title,
        .columns = study_.distance_columns(first_columns()),
        .note = fmt::format(
            "{} in that format. Output error: sum of squared differences to the original's "
            "outputs in f32 over the sum of their squares. Average bits count everything "
            "stored, with norms folded. Intervals: 95 %, Student's t over samples, of a share Wilson's, of other "
            "metrics the bootstrap.",
            options_.activations ? "Weights and inputs of products" : "Weights")};
    const auto add = [&](const Swept& s, const std::string& family) {
      std::vector<Cell> row{s.format, family};
      if (options_.training) row.emplace_back(how(s, family));
      row.push_back(number(s.average_bits));
      row.push_back(number(static_cast<double>(s.bytes)));
      table.rows.push_back(std::move(row));
      for (Cell& cell : study_.distance_cells(s.held_out, s.selecting)) table.rows.back().push_back(std::move(cell));
    };
    for (const Swept& s : swept_) add(s, format_family(s.format));
    add(original(), "");
    if (exact_) add(*exact_, "");
    return table;
  }

  std::string csv() {
    std::string text = fmt::format(
        "format,family,{1}average_bits,bytes,output_error,output_error_low,output_error_high,{0},selection_error,"
        "selection_{0}\n",
        study_.metric_key(), options_.training ? "how," : "");
    const auto share = [](const std::optional<Estimate>& figure) {
      return figure ? fmt::format("{}", figure->value) : std::string();
    };
    const auto add = [&](const Swept& s, const std::string& family) {
      text += fmt::format("{},{},{}{:.6f},{},{},{},{},{},{},{}\n", s.format, family,
                          options_.training ? std::string(how(s, family)) + "," : "", s.average_bits, s.bytes,
                          s.held_out.error, s.held_out.error_ci95.low, s.held_out.error_ci95.high,
                          share(s.held_out.figure), s.selecting.error, share(s.selecting.figure));
    };
    for (const Swept& s : swept_) add(s, format_family(s.format));
    add(original(), "");
    if (exact_) add(*exact_, "");
    return text;
  }

  void write_files() {
    write_file(options_.folder + "/sweep.csv", csv());
    write_file(options_.folder + "/curves.svg", svg(curves()));
    write_file(options_.folder + "/best_so_far.svg", svg(best_so_far()));
  }

  std::string best_text() {
    const Swept& best =
        *std::ranges::min_element(swept_, [&](const Swept& a, const Swept& b) { return is_better(a, b); });
    const std::string name = best.format + (best.trained ? ", trained" : "");
    std::string text = fmt::format("Chosen: {}, {:.3f} bits; on {} samples held out: {}", name, best.average_bits,
                                   study_.data.held_out().samples, study_.text_of(best.held_out));
    if (!study_.data.judging)
      text = fmt::format("Chosen: {}, {:.3f} bits, {}; chosen on the same {} samples, so this flatters", name,
                         best.average_bits, study_.text_of(best.held_out), study_.data.selecting.samples);
    if (study_.metric()) text += fmt::format("; the original: {}", study_.text_of(original().held_out));
    return text;
  }

  Record record() {
    Record record{.title = fmt::format("{} in {} formats", study_.model.name, options_.formats.size()),
                  .command = options_.command,
                  .findings = {best_text(), fmt::format("{} measured, {} remembered; tables and plots in {}", measured_,
                                                        recalled_, options_.folder)},
                  .sections = {{"Formats", {curves(), best_so_far(), table()}}},
                  .machine = describe(environment()),
                  .manifest = {{"input", study_.model.path, study_.model.sha256(), study_.model.file_bytes}}};
    if (options_.training) record.findings.insert(record.findings.begin() + 1, gain_text());
    return record;
  }

  const SweepOptions& options_;
  FormatStudy study_;
  std::vector<Swept> swept_;
  std::optional<Swept> exact_;  // trained in f32
  int64_t measured_ = 0, recalled_ = 0;
};

}  // namespace

Record sweep(const SweepOptions& options) { return Sweeper(options).run(); }

}  // namespace hone
