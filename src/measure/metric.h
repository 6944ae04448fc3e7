// What a model's answers are worth against what would have been right: accuracy, F1, perplexity, … Each family of
// metrics is a file in measure/metrics/ that defines one or a few MetricDef.
//
// A metric keeps a few numbers of each sample (Evidence), from which it gives its value for any weights of the samples.
// With ones it is the metric itself; with the counts of samples drawn anew it is a bootstrap (estimate.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hone {

constexpr int64_t kIgnored = -100;  // a class that says: this row does not count; as in PyTorch's losses

// What is known to be right.
enum class TargetKind : uint8_t {
  classes,   // the column of the largest score, for each row
  labels,    // the columns whose score is above 0, for each row; `values` are 0 or 1, NaN where it is not known
  numbers,   // the row itself; NaN in `values` where it is not known
  partners,  // the embedding, of all samples' partners, that the row is nearest to; `values` are those
  groups,    // the other rows with the same number in `classes` are the nearest ones
  answers,   // another model's scores, in `values`; `classes` say which rows count
};
const char* to_string(TargetKind kind);

// What a model gave for some samples, and what is right. Rows lie one after the other; each sample has equally many.
struct Answers {
  TargetKind kind = TargetKind::classes;
  int64_t samples = 0;
  int64_t width = 0;                 // of a row: classes, labels, numbers, or dimensions of an embedding
  std::span<const float> scores;     // [rows, width]; of classes and labels: logits
  std::span<const int64_t> classes;  // [rows]; kIgnored in rows that don't count
  std::span<const float> values;     // [rows, width]

  int64_t rows() const { return width == 0 ? 0 : static_cast<int64_t>(scores.size()) / width; }
  std::span<const float> row(int64_t r) const {
    return scores.subspan(static_cast<size_t>(r * width), static_cast<size_t>(width));
  }
  std::span<const float> value_row(int64_t r) const {
    return values.subspan(static_cast<size_t>(r * width), static_cast<size_t>(width));
  }
};

// What is right for some samples, kept. Beside classes, values are another model's scores: for metrics of those.
struct RightAnswers {
  TargetKind kind = TargetKind::classes;
  std::vector<int64_t> classes;
  std::vector<float> values;
};
inline Answers answers_of(const RightAnswers& right, int64_t samples, int64_t width, std::span<const float> scores) {
  return {right.kind, samples, width, scores, right.classes, right.values};
}

// Throws Error when sizes don't fit each other, a class is none of 0 … width-1 (nor kIgnored), or a label is neither 0
// nor 1 nor NaN.
void check(const Answers& answers);

// What a metric needs of each sample; what a, b and c are is the metric's own.
struct Evidence {
  struct Row {
    int64_t sample = 0;
    double a = 0, b = 0, c = 0;
  };
  TargetKind kind = TargetKind::classes;
  int64_t samples = 0, width = 0;
  std::vector<Row> rows;  // by sample
  int64_t counted = 0;    // rows that count; of numbers: those of all rows that are known
};

// The sum of a over the sum of b, 0 when that is 0: the value of all metrics that are means.
double mean_of(const Evidence& evidence, std::span<const double> weights);

using TargetKinds = uint8_t;
template <class... Kinds>
constexpr TargetKinds kinds(Kinds... kinds) {
  return static_cast<TargetKinds>((0 | ... | (1 << static_cast<int>(kinds))));
}

struct MetricDef {
  const char* name;
  const char* title;  // "F1"
  const char* doc;    // with what it is of samples that can't be judged
  TargetKinds targets;
  bool larger_is_better = true;
  bool is_share = false;  // a mean of zeros and ones over `counted`: shown in percent, with Wilson's interval
  int64_t default_k = 0;  // above 0: a number may follow the name, as in accuracy@5
  bool at_once = false;   // observe() is called once, with all samples
  void (*observe)(const Answers& answers, int64_t k, Evidence& evidence);  // adds rows, and to `counted`
  void (*prepare)(Evidence& evidence) = nullptr;                           // before the first value, if at all
  double (*value)(const Evidence& evidence, std::span<const double> weights);
};

struct Metric {
  const MetricDef* def = nullptr;
  int64_t k = 0;
  std::string name() const;   // "accuracy", "accuracy@5"
  std::string title() const;  // "accuracy", "accuracy at 5"
  bool fits(TargetKind kind) const { return def->targets >> static_cast<int>(kind) & 1; }
};

// "f1", "accuracy@5". Throws Error with the names that there are.
Metric parse_metric(const std::string& text);

// Gathers the evidence of one metric, batch by batch.
class MetricSamples {
 public:
  explicit MetricSamples(Metric metric) : metric_(metric) {}
  // Throws Error when the metric is of other targets, the width is not that of the batches before, or check() does.
  void add(const Answers& answers);
  Evidence finish();  // Error when nothing counts
  const Metric& metric() const { return metric_; }

 private:
  Metric metric_;
  Evidence evidence_;
  std::vector<float> scores_, values_;  // at_once: of all batches
  std::vector<int64_t> classes_;
};

}  // namespace hone
