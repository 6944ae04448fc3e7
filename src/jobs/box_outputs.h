// Which outputs of a detector are its boxes. Two layouts are known, by the outputs' names:
//   boxes [N,4] or [B,N,4], scores and labels [N] or [B,N]     corners x1, y1, x2, y2, as torchvision's detectors give
//   pred_boxes [B,Q,4], logits [B,Q,C+1]                       centre and size, the last class is "nothing"; DETR
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "measure/boxes.h"

namespace hone {

struct BoxOutputs {
  size_t boxes = 0, scores = 0;
  std::optional<size_t> labels;  // none: of one class; or `scores` are of all classes
  bool by_query = false;         // the second layout
  bool has(size_t output) const { return output == boxes || output == scores || output == labels; }
};

// By words in the names: "box", "score", "label" or "class"; "logits". None where there are no boxes and scores.
std::optional<BoxOutputs> find_boxes(const std::vector<std::string>& outputs);

// Of each image those of at least that score. Throws Error when the shapes are of neither layout.
std::vector<std::vector<Box>> boxes_of(const BoxOutputs& where, const std::vector<Tensor>& outputs, double least_score);

}  // namespace hone
