// Boxes that a detector found, and how many of those of one model another finds too.
#pragma once

#include <cstdint>
#include <span>

namespace hone {

struct Box {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // opposite corners, x1 <= x2 and y1 <= y2
  float score = 0;
  int64_t label = 0;
};

// Area of what both cover over that of what either does: 0 for boxes that are empty, the wrong way round or not finite.
double intersection_over_union(const Box& a, const Box& b);

struct BoxMatches {
  int64_t reference = 0, candidate = 0;  // boxes of each
  int64_t matched = 0;                   // pairs
  double iou = 0;                        // sum over them
};

// Pairs boxes of one image and label greedily, as COCO's evaluation does: the candidate's by falling score (the first
// of equals), each with the free one of the reference that it overlaps most, by at least `least_iou`.
BoxMatches match_boxes(std::span<const Box> reference, std::span<const Box> candidate, double least_iou);

}  // namespace hone
