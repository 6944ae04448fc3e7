// non_max_suppression: of boxes that overlap, the one with the highest score.
#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"center_point_box", AttributeKind::integer, false,
     "1: boxes are centre x, centre y, width, height; default 0: y, x of one corner, then of the opposite one"},
};
constexpr size_t kMost = 2, kOverlap = 3, kScore = 4;

std::vector<TensorType> infer_non_max_suppression(const InferArgs& a) {
  expect_float(a[0], "boxes");
  expect_rank(a[0], 3, 3, "boxes [B,N,4]");
  expect_dim(a[0].shape[2], 4, "the last dimension of boxes");
  expect_float(a[1], "scores");
  expect_rank(a[1], 3, 3, "scores [B,classes,N]");
  expect_dim(a[1].shape[0], a[0].shape[0], "the batch of scores, that of boxes,");
  expect_dim(a[1].shape[2], a[0].shape[1], "the last dimension of scores, one per box,");
  if (a.has(kMost)) expect_index(a[kMost], "max_output_boxes_per_class");
  if (a.has(kOverlap)) expect_float(a[kOverlap], "iou_threshold");
  if (a.has(kScore)) expect_float(a[kScore], "score_threshold");
  return {plain_type(DType::i64, {Dim::unknown(), 3})};
}

struct Box {
  double top, left, bottom, right;
  double area() const { return std::max(bottom - top, 0.0) * std::max(right - left, 0.0); }
};

Box box_of(const double* v, bool centred) {
  if (centred) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

// Boxes of which none overlaps another by more than `most`, as intersection over union.
class Apart {
 public:
  explicit Apart(double most) : most_(most) {}
  size_t size() const { return areas_.size(); }
  void add(const Box& box) {
    for (auto [edges, edge] : {std::pair{&tops_, box.top},
                               {&lefts_, box.left},
                               {&bottoms_, box.bottom},
                               {&rights_, box.right},
                               {&areas_, box.area()}})
      edges->push_back(edge);
  }

  // Most pairs are far from the limit: a block of them is looked at together and without divisions, and exactly where
  // one may be beyond.
  bool overlap(const Box& box) const {
    constexpr size_t kBlock = 8;
    const double area = box.area(), nearly = most_ * (1 - 1e-12);
    const bool is_limit = most_ > 0;
    for (size_t begin = 0; begin < size(); begin += kBlock) {
      const size_t end = std::min(begin + kBlock, size());
      double margin = is_limit ? -1 : 0;  // of the nearest; NaN leaves it as it is, and makes no overlap either
      for (size_t i = begin; i < end; ++i) {
        const double both = area_of_both(box, i);
        margin = std::max(margin, both - nearly * (area + areas_[i] - both));
      }
      for (size_t i = begin; margin >= 0 && i < end; ++i)
        if (is_beyond(box, area, i)) return true;
    }
    return false;
  }

 private:
  double area_of_both(const Box& a, size_t i) const {
    return Box{std::max(a.top, tops_[i]), std::max(a.left, lefts_[i]), std::min(a.bottom, bottoms_[i]),
               std::min(a.right, rights_[i])}
        .area();
  }
  bool is_beyond(const Box& box, double area, size_t i) const {
    const double both = area_of_both(box, i);
    return (both > 0 ? both / (area + areas_[i] - both) : 0) > most_;
  }

  double most_;
  std::vector<double> tops_, lefts_, bottoms_, rights_, areas_;
};

// The single value of an operand, or `fallback` where it is absent.
double value_or(const EvalArgs& a, size_t operand, double fallback) {
  if (!a.has(operand)) return fallback;
  if (a[operand].elements() != 1)
    fail("operand {} of non_max_suppression is {}; accepted: one element", operand, to_string(a[operand].type()));
  return a[operand].to_doubles()[0];
}

int64_t count_of(const Tensor& most) {
  if (most.elements() != 1) fail("max_output_boxes_per_class is {}; accepted: one element", to_string(most.type()));
  return most.to_integers()[0];
}

std::vector<Tensor> eval_non_max_suppression(const EvalArgs& a) {
  const std::vector<double> corners = a[0].to_doubles(), scores = a[1].to_doubles();
  const bool centred = a.attributes.get_or<int64_t>("center_point_box", 0) != 0;
  const int64_t most = a.has(kMost) ? count_of(a[kMost]) : 0;
  const double most_overlap = value_or(a, kOverlap, 0);
  const double least = value_or(a, kScore, 0);
  const int64_t classes = a[1].dim(1), count = a[0].dim(1), rows = a[1].dim(0) * classes;
  std::vector<Box> boxes;
  for (size_t i = 0; i < corners.size(); i += 4) boxes.push_back(box_of(corners.data() + i, centred));
  std::vector<std::vector<int64_t>> kept(static_cast<size_t>(rows));  // of an image and class
  parallel_for(rows, [&](int64_t row) {
    const double* score = scores.data() + row * count;
    const Box* box = boxes.data() + row / classes * count;
    std::vector<int64_t> order;
    Apart chosen(most_overlap);
    for (int64_t i = 0; i < count; ++i)
      if (a.has(kScore) ? score[i] > least : !std::isnan(score[i])) order.push_back(i);
    // From the highest score down, of equal ones the first: a heap, since few of them are looked at.
    const auto comes_later = [&](int64_t i, int64_t j) { return score[i] != score[j] ? score[i] < score[j] : i > j; };
    std::ranges::make_heap(order, comes_later);
    while (!order.empty() && static_cast<int64_t>(chosen.size()) < most) {
      check_stop();
      std::ranges::pop_heap(order, comes_later);
      const int64_t i = order.back();
      order.pop_back();
      if (chosen.overlap(box[i])) continue;
      chosen.add(box[i]);
      kept[static_cast<size_t>(row)].push_back(i);
    }
  });
  std::vector<int64_t> found;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i : kept[static_cast<size_t>(row)]) found.insert(found.end(), {row / classes, row % classes, i});
  return {Tensor::of<int64_t>({static_cast<int64_t>(found.size()) / 3, 3}, found)};
}

}  // namespace

extern constinit const OpDef non_max_suppression_def{
    .name = "non_max_suppression",
    .doc =
        "Per image and class of boxes[B,N,4] and scores[B,classes,N], from the highest score down, the boxes that "
        "overlap "
        "none chosen before by more than iou_threshold (default 0): i64[chosen,3] of image, class, box. Operands "
        "boxes, "
        "scores, max_output_boxes_per_class (default 0), iou_threshold, score_threshold (scores at or below do not "
        "count).",
    .operands = {"boxes", "scores", optional("max_output_boxes_per_class"), optional("iou_threshold"),
                 optional("score_threshold")},
    .attributes = kAttributes,
    .infer = infer_non_max_suppression,
    .eval = eval_non_max_suppression,
    .no_gradient = "which boxes are kept changes in jumps only"};

}  // namespace hone
