// Writes SVG elements. Coordinates are pixels from the top left corner.
#pragma once

#include <string>
#include <string_view>

#include "report/axis_scale.h"
#include "report/labels.h"

namespace hone {

// Middle tones, told apart by most colour-blind readers, with contrast above 3 on white and on near-black.
constexpr const char* kPalette[] = {"#3b7dd8", "#d07a1e", "#2a9461", "#b05fc8", "#cc4b5b", "#76808f"};
inline const char* palette(size_t i) { return kPalette[i % std::size(kPalette)]; }

class SvgCanvas {
 public:
  SvgCanvas(double width, double height, std::string_view title, std::string_view description);

  void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width = 1, double opacity = 1);
  void rect(const Box& box, std::string_view fill, std::string_view tooltip = "");
  void circle(double x, double y, double radius, std::string_view fill, std::string_view tooltip = "");
  void path(const std::string& commands, std::string_view stroke, bool dashed = false);
  void area(const std::string& commands, std::string_view fill, double opacity);
  // anchor: start, middle or end; the text's baseline begins at (x, y). Weight and size in CSS terms.
  void text(double x, double y, std::string_view text, std::string_view anchor = "start", double size = 12,
            bool muted = false);
  void vertical_text(double x, double y, std::string_view text);  // reads upwards, centred on (x, y)

  // Grid, ticks and titles around `area`.
  void axes(const Box& area, const Axis& x_axis, const AxisScale& x, const Axis& y_axis, const AxisScale& y);
  void vertical_axis(const Box& area, const Axis& axis, const AxisScale& scale);

  std::string finish();  // the whole element

 private:
  std::string out_;
};

}  // namespace hone
