// Finds places for the labels of points so that they cover neither each other nor a point.
#pragma once

#include <string>
#include <vector>

namespace hone {

struct Box {
  double x = 0, y = 0, width = 0, height = 0;  // top left corner
  bool overlaps(const Box& other) const {
    return x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height;
  }
};

struct LabelRequest {
  double x = 0, y = 0;  // of the point
  std::string text;
};

struct PlacedLabel {
  Box box;
  bool far = false;  // away from its point: a thin line should join them
};

constexpr double kLabelHeight = 15, kPointRadius = 5;

// Width of a text of 12 pixels, estimated: browsers differ, and a box slightly too wide harms nobody.
double label_width(const std::string& text);

// One place per request, clear of the points and of `obstacles`. Places near the point come first, then rings further
// out; where nothing is free, the place with the least overlap.
std::vector<PlacedLabel> place_labels(const std::vector<LabelRequest>& requests, const Box& area,
                                      const std::vector<Box>& obstacles = {});

}  // namespace hone
