// The example formats of every registered family, and small helpers to quantize with them.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/philox.h"
#include "base/text.h"
#include "formats/packed.h"
#include "formats/registry.h"
#include "formats/scale.h"

namespace hone {

inline std::vector<std::string> example_formats() {
  std::vector<std::string> examples;
  for (const FormatDef* family : formats::all())
    for (const std::string& example : split(family->examples, ' ')) examples.push_back(example);
  return examples;
}

// Those that have codes to store.
inline std::vector<std::string> packable_examples() {
  std::vector<std::string> examples = example_formats();
  std::erase_if(examples, [](const std::string& text) { return is_fake_only(parse_format(text)); });
  return examples;
}

inline bool has_scale(const Format& format) { return format.scale.bits > 0; }

using FormatShape = std::vector<int64_t>;

// A shape of `n` elements that share one group: n at most 8 in the examples' smallest tile.
inline FormatShape one_group_shape(const Format& format, int64_t n) {
  const bool first_axis = format.geometry.axis == 0 || format.geometry.axis == -2;
  if (format.geometry.kind == Geometry::Kind::group) return first_axis ? FormatShape{n, 1} : FormatShape{1, n};
  if (format.geometry.kind == Geometry::Kind::channel) return first_axis ? FormatShape{1, n} : FormatShape{n, 1};
  return {1, n};
}

inline std::vector<float> quantized(const Format& format, const FormatShape& shape, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  fake_quantize(format, shape, x, y);
  return y;
}

inline double signal_to_noise_db(const std::vector<float>& x, const std::vector<float>& y) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    signal += double{x[i]} * x[i];
    noise += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
  }
  return 10 * std::log10(signal / noise);
}

// Magnitudes spread over a few binades around `scale`, both signs.
inline std::vector<float> lognormal_values(Philox& random, size_t n, float scale = 1) {
  std::vector<float> values(n);
  for (float& v : values) v = scale * random.normal() * std::exp2(2 * random.normal());
  return values;
}

}  // namespace hone
