#include "jobs/box_outputs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/error.h"

namespace hone {
namespace {

std::optional<size_t> with_word(const std::vector<std::string>& outputs, const std::string& word,
                                std::optional<size_t> other_than = std::nullopt) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string lower = outputs[i];
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    if (i != other_than && lower.find(word) != std::string::npos) return i;
  }
  return std::nullopt;
}

// Boxes of the images, [images, boxes, 4].
struct Layout {
  int64_t images = 1, boxes = 0;
};

Layout layout_of(const Tensor& boxes) {
  const std::vector<int64_t>& shape = boxes.shape();
  if ((shape.size() != 2 && shape.size() != 3) || shape.back() != 4)
    fail("the output of boxes is {}; f32[boxes,4] or f32[images,boxes,4] is expected", to_string(boxes.type()));
  return shape.size() == 2 ? Layout{1, shape[0]} : Layout{shape[0], shape[1]};
}

void require_elements(const Tensor& tensor, const Layout& layout, const char* what) {
  if (tensor.elements() != layout.images * layout.boxes)
    fail("the output of {} is {}, for {} boxes", what, to_string(tensor.type()), layout.images * layout.boxes);
}

// The likeliest class but the last, which is "nothing", and its probability.
Box classified(std::span<const float> logits) {
  const double most = *std::ranges::max_element(logits);
  double all = 0;
  for (float x : logits) all += std::exp(x - most);
  const auto classes = logits.first(logits.size() - 1);
  const auto best = std::ranges::max_element(classes);
  return {.score = static_cast<float>(std::exp(*best - most) / all), .label = best - classes.begin()};
}

std::vector<std::vector<Box>> by_query(const BoxOutputs& where, const std::vector<Tensor>& outputs, double least) {
  const Layout layout = layout_of(outputs[where.boxes]);
  const Tensor& scores = outputs[where.scores];
  const int64_t classes = scores.shape().empty() ? 0 : scores.shape().back();
  if (classes < 2 || scores.elements() != layout.images * layout.boxes * classes)
    fail("the output of class scores is {}, for {} boxes", to_string(scores.type()), layout.images * layout.boxes);
  const std::vector<float> corners = outputs[where.boxes].to_floats(), logits = scores.to_floats();
  std::vector<std::vector<Box>> images(static_cast<size_t>(layout.images));
  for (int64_t i = 0; i < layout.images * layout.boxes; ++i) {
    const float* c = corners.data() + 4 * i;
    Box box = classified(std::span(logits).subspan(static_cast<size_t>(i * classes), static_cast<size_t>(classes)));
    if (!(box.score >= least)) continue;
    box.x1 = c[0] - c[2] / 2, box.y1 = c[1] - c[3] / 2, box.x2 = c[0] + c[2] / 2, box.y2 = c[1] + c[3] / 2;
    images[static_cast<size_t>(i / layout.boxes)].push_back(box);
  }
  return images;
}

}  // namespace

std::optional<BoxOutputs> find_boxes(const std::vector<std::string>& outputs) {
  const auto boxes = with_word(outputs, "box"), scores = with_word(outputs, "score", boxes),
             logits = with_word(outputs, "logits", boxes);
  if (!boxes || (!scores && !logits)) return std::nullopt;
  if (!scores) return BoxOutputs{*boxes, *logits, std::nullopt, true};
  auto labels = with_word(outputs, "label", boxes);
  if (!labels) labels = with_word(outputs, "class", boxes);
  return BoxOutputs{*boxes, *scores, labels == scores ? std::nullopt : labels, false};
}

std::vector<std::vector<Box>> boxes_of(const BoxOutputs& where, const std::vector<Tensor>& outputs, double least) {
  if (where.by_query) return by_query(where, outputs, least);
  const Layout layout = layout_of(outputs[where.boxes]);
  require_elements(outputs[where.scores], layout, "scores");
  if (where.labels) require_elements(outputs[*where.labels], layout, "labels");
  const std::vector<float> corners = outputs[where.boxes].to_floats(), scores = outputs[where.scores].to_floats();
  const std::vector<float> labels = where.labels ? outputs[*where.labels].to_floats() : std::vector<float>();
  std::vector<std::vector<Box>> images(static_cast<size_t>(layout.images));
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!(scores[i] >= least)) continue;
    const float* c = corners.data() + 4 * i;
    images[i / static_cast<size_t>(layout.boxes)].push_back(
        {c[0], c[1], c[2], c[3], scores[i], labels.empty() || !std::isfinite(labels[i]) ? 0 : std::llround(labels[i])});
  }
  return images;
}

}  // namespace hone
