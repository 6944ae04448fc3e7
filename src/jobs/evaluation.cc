#include "jobs/evaluation.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ir/row_keys.h"
#include "jobs/score_command.h"
#include "jobs/scratch_folder.h"
#include "jobs/text_inputs.h"
#include "measure/claim.h"

namespace hone {
namespace {

constexpr std::string_view kCommand = "cmd:";

// What the data could be judged by, the most natural first. `scores_pairs`: the model reads a pair as one text.
std::vector<Judged> ways_of(const Dataset& dataset, bool scores_pairs) {
  const bool pairs = !dataset.second_texts.empty(), texts = !dataset.texts.empty();
  if (std::holds_alternative<ClassLabels>(dataset.labels)) return {Judged::rows, Judged::groups};
  if (std::holds_alternative<Targets>(dataset.labels))
    return pairs && !scores_pairs ? std::vector{Judged::similarity, Judged::partners} : std::vector{Judged::rows};
  if (std::holds_alternative<MultiLabels>(dataset.labels)) return {Judged::rows};
  if (std::holds_alternative<TokenLabels>(dataset.labels)) return {Judged::words};
  if (pairs) return {Judged::partners};
  return texts ? std::vector{Judged::next_tokens} : std::vector<Judged>{};
}

TargetKind kind_of(Judged judged, const Dataset& dataset) {
  switch (judged) {
    case Judged::next_tokens:
    case Judged::words:
      return TargetKind::classes;
    case Judged::partners:
      return TargetKind::partners;
    case Judged::groups:
      return TargetKind::groups;
    case Judged::similarity:
      return TargetKind::numbers;
    case Judged::rows:
      break;
  }
  if (std::holds_alternative<MultiLabels>(dataset.labels)) return TargetKind::labels;
  return std::holds_alternative<Targets>(dataset.labels) ? TargetKind::numbers : TargetKind::classes;
}

const char* default_metrics(Judged judged, TargetKind kind) {
  if (judged == Judged::next_tokens) return "perplexity";
  if (judged == Judged::similarity) return "spearman,pearson";
  if (judged == Judged::words) return "accuracy,f1_macro";
  switch (kind) {
    case TargetKind::classes:
      return "accuracy";
    case TargetKind::labels:
      return "f1";
    case TargetKind::numbers:
      return "mse";
    case TargetKind::partners:
    case TargetKind::groups:
    case TargetKind::answers:
      break;
  }
  return "retrieval";
}

std::vector<std::string> expanded(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names)
    if (name == "retrieval") all.insert(all.end(), {"recall@1", "recall@10", "mrr"});
    else all.push_back(name);
  return all;
}

bool fits(const Metric& metric, Judged way, const Dataset& dataset) {
  return metric.fits(kind_of(way, dataset)) || (way == Judged::next_tokens && metric.fits(TargetKind::answers));
}

}  // namespace

RightAnswers next_tokens(const TokenBatch& batch) {
  const int64_t length = batch.ids.dim(1);
  const std::vector<int64_t> tokens = batch.ids.to_integers(), real = batch.attention_mask.to_integers();
  RightAnswers right{.classes = std::vector<int64_t>(tokens.size(), kIgnored)};
  for (size_t i = 0; i + 1 < tokens.size(); ++i)
    if ((static_cast<int64_t>(i) + 1) % length != 0 && real[i] != 0 && real[i + 1] != 0)
      right.classes[i] = tokens[i + 1];
  return right;
}

size_t choose_output(const std::string& model, const std::vector<std::string>& names,
                     const std::vector<Tensor>& outputs, const std::string& name, Judged judged, TargetKind kind) {
  std::vector<std::string> all;
  for (size_t i = 0; i < names.size(); ++i) all.push_back(fmt::format("{} {}", names[i], to_string(outputs[i].type())));
  if (!name.empty()) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
      fail("{}: has no output \"{}\"; it gives {}{}", model, name, fmt::join(all, ", "), did_you_mean(name, names));
    return static_cast<size_t>(found - names.begin());
  }
  const bool of_tokens = judged == Judged::next_tokens || judged == Judged::words;
  const size_t rank = of_tokens ? 3 : 2;
  std::vector<size_t> fitting;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t has = outputs[i].shape().size();
    if (is_float(outputs[i].dtype()) && (has == rank || (kind == TargetKind::numbers && has == 1)))
      fitting.push_back(i);
  }
  if (fitting.size() == 1) return fitting[0];
  const bool embedding = judged != Judged::rows && !of_tokens;
  const std::vector<std::string> usual = embedding
                                             ? std::vector<std::string>{"sentence_embedding", "embedding", "embeddings"}
                                             : std::vector<std::string>{"logits", "scores", "output"};
  for (const std::string& each : usual)
    for (size_t i : fitting)
      if (names[i] == each) return i;
  if (fitting.empty())
    fail("{}: gives {}; to judge {} an output of {} axes is needed", model, fmt::join(all, ", "),
         judged == Judged::next_tokens ? "texts by their next tokens" : to_string(kind), rank);
  fail("{}: gives {}; say with --score-output which of them is meant", model, fmt::join(all, ", "));
}

class Evaluation::Run {
 public:
  Run(const Evaluation& evaluation, Session& session, Session* reference)
      : e_(evaluation), session_(session), reference_(reference), judge_(e_.judged_, e_.metrics_) {
    if (const Metric* metric = e_.beside_another(); metric && !reference)
      fail("metric {} is of a model beside another, which there is not here", metric->name());
    if (e_.commands_.empty()) return;
    folder_.emplace();
    path_ = folder_->path() + "/answers.jsonl";
    file_.emplace(path_);
  }

  void add(int64_t batch) {
    const std::span<const int64_t> rows = e_.rows(batch);
    const NamedTensors inputs = e_.inputs(batch);
    const std::vector<Tensor> outputs = answers(inputs, std::ssize(rows));
    write(rows, outputs);
    if (!e_.metrics_.empty()) judge(batch, inputs, outputs);
  }

  Evaluated finish() {
    Evaluated result{.samples = std::ssize(e_.data_.rows)};
    std::vector<Evidence> evidence = judge_.finish();
    for (size_t i = 0; i < evidence.size(); ++i) {
      const Metric& metric = e_.metrics_[i];
      const Estimate value = estimate(metric, evidence[i], e_.options_.data.seed);
      result.figures.push_back({metric.name(), metric.title(), metric, std::move(evidence[i]), value});
    }
    if (file_) file_->commit();
    for (const std::string& command : e_.commands_) {
      const double value = run_score_command(command, path_, e_.options_.command_seconds);
      const Estimate estimate{.value = value, .samples = result.samples, .counted = result.samples};
      result.figures.push_back({std::string(kCommand) + command, command, std::nullopt, {}, estimate});
    }
    if (judge_.confusion().rows() > 0) result.confusion = judge_.confusion();
    return result;
  }

 private:
  std::vector<Tensor> answers(const NamedTensors& inputs, int64_t rows) {
    std::vector<Tensor> outputs = session_.run(inputs);
    for (Tensor& output : outputs) output = first_rows(output, rows);
    return outputs;
  }

  // Without those that fill a batch up.
  static Tensor first_rows(const Tensor& output, int64_t rows) {
    std::vector<int64_t> shape = output.shape();
    if (shape.empty() || shape[0] <= rows || output.is_packed() || output.dtype() == DType::string ||
        output.container() != Container::none)
      return output;
    const size_t bytes = output.data().size() / static_cast<size_t>(shape[0]) * static_cast<size_t>(rows);
    shape[0] = rows;
    return Tensor(output.dtype(), shape, Buffer::copy_of(output.data().bytes().first(bytes)));
  }

  void write(std::span<const int64_t> rows, const std::vector<Tensor>& outputs) {
    if (!file_) return;
    std::vector<AnswerRow> answers;
    for (int64_t row : rows) answers.push_back({row, e_.data_.dataset.where(row), label_json(e_.data_.dataset, row)});
    file_->add(answers, session_.output_names(), outputs);
  }

  void judge(int64_t batch, const NamedTensors& inputs, const std::vector<Tensor>& outputs) {
    if (!output_)
      output_ = choose_output(e_.model_, session_.output_names(), outputs, e_.options_.output, e_.judged_, e_.kind());
    const Tensor& output = outputs[*output_];
    const int64_t samples = std::ssize(e_.rows(batch));
    require_fit(output, samples, inputs);
    std::vector<float> second;
    if (is_of_pairs(e_.judged_)) second = answers(e_.inputs(batch, true), samples)[*output_].to_floats();
    const int64_t width = output.shape().size() == 1 ? 1 : output.shape().back();
    RightAnswers right = e_.right(batch);
    if (e_.beside_another()) right.values = reference_scores(inputs, output);
    judge_.add(right, samples, width, output.to_floats(), second);
  }

  std::vector<float> reference_scores(const NamedTensors& inputs, const Tensor& output) {
    if (reference_ == &session_) return output.to_floats();
    const std::string& name = session_.output_names()[*output_];
    const std::vector<std::string> names = reference_->output_names();
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) fail("{}: the model beside it has no output \"{}\"", e_.model_, name);
    const Tensor other = first_rows(reference_->run(inputs)[static_cast<size_t>(found - names.begin())], output.dim(0));
    if (other.shape() != output.shape())
      fail("{}: output \"{}\" is {}, and {} of the model beside it: they are not of one vocabulary", e_.model_, name,
           to_string(output.type()), to_string(other.type()));
    return other.to_floats();
  }

  void require_fit(const Tensor& output, int64_t samples, const NamedTensors& inputs) const {
    const std::string what =
        fmt::format("{}: output \"{}\" is {}", e_.model_, session_.output_names()[*output_], to_string(output.type()));
    const std::vector<int64_t>& shape = output.shape();
    if (shape.empty() || shape[0] != samples) fail("{} for {} rows; its first axis must count them", what, samples);
    if (shape.back() == 0) fail("{}: it is empty", what);
    if (e_.judged_ == Judged::next_tokens || e_.judged_ == Judged::words) {
      const int64_t length = places(inputs, samples);
      if (shape.size() != 3 || shape[1] != length)
        fail("{}; scores of each token are f32[{},{},{}]", what, samples, length,
             e_.judged_ == Judged::words ? "classes" : "tokens");
    }
    if (e_.judged_ == Judged::rows || e_.judged_ == Judged::words)
      require_width(what, shape.size() == 1 ? 1 : shape.back());
  }

  // Of each sample that has a score for each: its tokens, or what the labels of arrays are of.
  int64_t places(const NamedTensors& inputs, int64_t samples) const {
    if (e_.judged_ == Judged::words && e_.data_.dataset.words.empty())
      return std::ssize(std::get<TokenLabels>(e_.data_.dataset.labels).ids.at(0));
    const auto ids = inputs.find("input_ids");
    return ids == inputs.end() || samples == 0 ? 0 : ids->second.dim(1);
  }

  void require_width(const std::string& what, int64_t width) const {
    const Dataset& dataset = e_.data_.dataset;
    if (const auto* targets = std::get_if<Targets>(&dataset.labels)) {
      if (width != targets->width) fail("{}, but {} has {} numbers a row", what, dataset.path, targets->width);
      return;
    }
    const bool several = std::holds_alternative<MultiLabels>(dataset.labels);
    const std::span<const std::string> names = class_names(dataset.labels);
    if (width == std::ssize(e_.classes_.names) || (width > std::ssize(names) && are_numbers(names) && !several)) return;
    fail("{}, for {} classes, but {} has {}: {}. Where the model knows more, --classes names all of them in its order",
         what, width, dataset.path, names.size(), fmt::join(names, ", "));
  }

  // 0, 1, …: a model of more classes numbers these alike.
  static bool are_numbers(std::span<const std::string> names) {
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] != std::to_string(i)) return false;
    return true;
  }

  const Evaluation& e_;
  Session& session_;
  Session* reference_;
  Judge judge_;
  std::optional<size_t> output_;
  std::optional<ScratchFolder> folder_;
  std::string path_;
  std::optional<AnswerFile> file_;
};

Evaluation::Evaluation(const Model& model, const EvaluationData& data, const EvaluationOptions& options)
    : options_(options),
      data_(data),
      model_(model.name),
      classes_(class_numbers(model, data.dataset)),
      scores_pairs_(std::ranges::any_of(model.graph.outputs(), [](const auto& o) { return o.label == "logits"; })) {
  if (options.data.batch < 1) fail("a batch of {} rows; at least 1 is needed", options.data.batch);
  choose_metrics();
  const auto head = model.graph.metadata.find(kTextHead);
  if (head != model.graph.metadata.end() && head->second == kMaskedWords && judged_ == Judged::next_tokens &&
      !metrics_.empty() && std::holds_alternative<std::monostate>(data.dataset.labels) && !data.dataset.texts.empty())
    masked_.emplace(tokenizer_of(model), options.data.seed, model.name);
  inputs_.emplace(model, data.dataset, is_of_pairs(judged_));
  batch_ = inputs_->batch(options.data.batch);
}

// The first way in which the data can be judged that all metrics fit.
void Evaluation::choose_metrics() {
  for (const std::string& name : expanded(options_.metrics)) {
    if (name.starts_with(kCommand)) commands_.push_back(name.substr(kCommand.size()));
    else if (name == "agreement") asks_agreement_ = true;
    else metrics_.push_back(parse_metric(name));
    if (name == kCommand) fail("metric cmd: needs a program, as in cmd:./score.sh");
  }
  const std::vector<Judged> ways = ways_of(data_.dataset, scores_pairs_);
  if (metrics_.empty() && (asks_agreement_ || !commands_.empty())) return;
  if (ways.empty())
    fail("{}: has no labels to judge by; without them there are --metric agreement with another model, and cmd:PROGRAM",
         data_.dataset.path);
  if (metrics_.empty()) {
    judged_ = ways[0];
    for (const std::string& name : expanded(split(default_metrics(judged_, kind_of(judged_, data_.dataset)), ',')))
      metrics_.push_back(parse_metric(name));
    return;
  }
  for (Judged way : ways)
    if (std::ranges::all_of(metrics_, [&](const Metric& m) { return fits(m, way, data_.dataset); })) {
      judged_ = way;
      return;
    }
  for (const Metric& metric : metrics_)
    if (std::ranges::none_of(ways, [&](Judged way) { return fits(metric, way, data_.dataset); }))
      fail("{}: metric {} ({}) does not fit the data, which is judged by {}: {} would", data_.dataset.path,
           metric.name(), metric.def->doc, to_string(kind_of(ways[0], data_.dataset)),
           default_metrics(ways[0], kind_of(ways[0], data_.dataset)));
  fail("{}: no one way to judge the data fits all of {}; give them one after the other", data_.dataset.path,
       fmt::join(options_.metrics, ", "));
}

int64_t Evaluation::batches() const { return (std::ssize(data_.rows) + batch_ - 1) / batch_; }

std::span<const int64_t> Evaluation::rows(int64_t batch) const {
  const int64_t first = batch * batch_;
  return std::span(data_.rows)
      .subspan(static_cast<size_t>(first), static_cast<size_t>(std::min(batch_, std::ssize(data_.rows) - first)));
}

TargetKind Evaluation::kind() const { return kind_of(judged_, data_.dataset); }

NamedTensors Evaluation::inputs(int64_t batch, bool second) const {
  NamedTensors inputs = inputs_->of(rows(batch), second);
  if (!masked_ || judged_ != Judged::next_tokens) return inputs;
  Tensor& ids = inputs.at("input_ids");
  ids = masked_->hidden(ids, rows(batch));
  return inputs;
}

RightAnswers Evaluation::right(int64_t batch) const {
  if (judged_ == Judged::partners) return {.kind = TargetKind::partners};
  if (judged_ == Judged::words) {
    RightAnswers right{.classes = inputs_->word_labels(rows(batch))};
    for (int64_t& id : right.classes) id = id == kIgnoredLabel ? kIgnored : classes_.of[static_cast<size_t>(id)];
    return right;
  }
  if (judged_ != Judged::next_tokens) return right_answers(data_.dataset, rows(batch), classes_);
  const TokenBatch tokens = inputs_->tokens_of(rows(batch));
  return masked_ ? RightAnswers{.classes = masked_->right(tokens.ids, rows(batch))} : next_tokens(tokens);
}

const Metric* Evaluation::beside_another() const {
  const auto found = std::ranges::find_if(metrics_, [](const Metric& m) { return m.fits(TargetKind::answers); });
  return found == metrics_.end() ? nullptr : &*found;
}

Evaluated Evaluation::run(Session& session, const Progress& progress, Session* reference) const {
  Run run(*this, session, reference);
  for (int64_t batch = 0; batch < batches(); ++batch) {
    tell(progress, fmt::format("{}: rows {} of {}", model_, batch * batch_ + 1, data_.rows.size()));
    run.add(batch);
  }
  return run.finish();
}

CalibrationData evaluation_samples(const Model& model, const EvaluationOptions& options) {
  const EvaluationData data = read_evaluation_data(options.data);
  EvaluationOptions judged = options;
  const bool labelled = !std::holds_alternative<std::monostate>(data.dataset.labels);
  if (options.metrics.empty() && !labelled) judged.metrics = {"agreement"};  // with the original, as ever
  const Evaluation evaluation(model, data, judged);
  if (evaluation.takes_programs() || (evaluation.asks_agreement() && !options.metrics.empty()))
    fail("choices are judged by one of hone's metrics; {} is none", fmt::join(options.metrics, ", "));
  if (!options.metrics.empty() && evaluation.metrics().size() != 1)
    fail("choices are judged by one metric; {} are given: say recall@1 or another", evaluation.metrics().size());
  CalibrationData samples{.judged = evaluation.judged(), .output = options.output};
  samples.samples = std::ssize(data.rows), samples.sha256 = data.sha256;
  if (!evaluation.metrics().empty()) samples.metric = evaluation.metrics()[0];
  for (int64_t b = 0; b < evaluation.batches(); ++b) {
    samples.batches.push_back(evaluation.inputs(b));
    if (!samples.metric) continue;
    samples.right.push_back(evaluation.right(b));
    if (is_of_pairs(samples.judged)) samples.batches.push_back(evaluation.inputs(b, true));
  }
  return samples;
}

Difference difference_of(const Figure& base, const Figure& other, uint64_t seed) {
  if (!base.metric) return {.value = other.estimate.value - base.estimate.value};
  return difference(*base.metric, base.evidence, other.evidence, seed);
}

std::string difference_text(const std::optional<Metric>& metric, const Difference& d) {
  return verdict(
      d, {.is_share = metric && metric->def->is_share, .larger_is_better = !metric || metric->def->larger_is_better});
}

std::string figure_text(double value, const std::optional<Interval>& ci95, bool is_share) {
  const auto text = [&](double x) { return is_share ? fmt::format("{:.2f}", 100 * x) : fmt::format("{:.4g}", x); };
  return text(value) + (is_share ? " %" : "") +
         (ci95 ? fmt::format(" ({}-{})", text(ci95->low), text(ci95->high)) : "");
}

std::string text_of(const Figure& figure) {
  return fmt::format("{} {}", figure.title,
                     figure_text(figure.estimate.value, figure.estimate.ci95, figure.is_share()));
}

}  // namespace hone
