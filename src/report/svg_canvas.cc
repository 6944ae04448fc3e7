#include "report/svg_canvas.h"

#include <fmt/format.h>

#include "report/markup.h"
#include "report/number_text.h"

namespace hone {
namespace {

constexpr const char* kFont = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

std::string title_element(std::string_view tooltip) {
  return tooltip.empty() ? "" : fmt::format("<title>{}</title>", escape_markup(tooltip));
}

}  // namespace

SvgCanvas::SvgCanvas(double width, double height, std::string_view title, std::string_view description)
    : out_(fmt::format(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
          "height=\"{1:g}\" font-family=\"{2}\" fill=\"currentColor\">\n<title>{3}</title>\n<desc>{4}</desc>\n",
          width, height, kFont, escape_markup(title), escape_markup(description))) {}

void SvgCanvas::line(double x1, double y1, double x2, double y2, std::string_view stroke, double width,
                     double opacity) {
  out_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{:g}\" "
      "opacity=\"{:g}\"/>\n",
      x1, y1, x2, y2, stroke, width, opacity);
}

void SvgCanvas::rect(const Box& box, std::string_view fill, std::string_view tooltip) {
  out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\">{}</rect>\n",
                      box.x, box.y, box.width, box.height, fill, title_element(tooltip));
}

void SvgCanvas::circle(double x, double y, double radius, std::string_view fill, std::string_view tooltip) {
  out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:g}\" fill=\"{}\">{}</circle>\n", x, y, radius, fill,
                      title_element(tooltip));
}

void SvgCanvas::path(const std::string& commands, std::string_view stroke, bool dashed) {
  out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{}/>\n",
                      commands, stroke, dashed ? " stroke-dasharray=\"5 4\"" : "");
}

void SvgCanvas::area(const std::string& commands, std::string_view fill, double opacity) {
  out_ += fmt::format("<path d=\"{}Z\" fill=\"{}\" opacity=\"{:g}\"/>\n", commands, fill, opacity);
}

void SvgCanvas::text(double x, double y, std::string_view text, std::string_view anchor, double size, bool muted) {
  out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{:g}\"{}>{}</text>\n", x, y,
                      anchor, size, muted ? " opacity=\"0.72\"" : "", escape_markup(text));
}

void SvgCanvas::vertical_text(double x, double y, std::string_view text) {
  out_ += fmt::format(
      "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\" font-size=\"12\" "
      "opacity=\"0.72\">{}</text>\n",
      x, y, escape_markup(text));
}

void SvgCanvas::vertical_axis(const Box& area, const Axis& axis, const AxisScale& scale) {
  for (double tick : scale.ticks()) {
    const double y = scale.place(tick);
    line(area.x, y, area.x + area.width, y, "currentColor", 1, 0.13);
    text(area.x - 8, y + 4, scale.tick_text(tick), "end", 11, true);
  }
  vertical_text(14, area.y + area.height / 2, title_with_unit(axis.title, axis.unit));
}

void SvgCanvas::axes(const Box& area, const Axis& x_axis, const AxisScale& x, const Axis& y_axis, const AxisScale& y) {
  vertical_axis(area, y_axis, y);
  const double bottom = area.y + area.height;
  for (double tick : x.ticks()) {
    line(x.place(tick), bottom, x.place(tick), bottom + 5, "currentColor", 1, 0.5);
    text(x.place(tick), bottom + 19, x.tick_text(tick), "middle", 11, true);
  }
  line(area.x, bottom, area.x + area.width, bottom, "currentColor", 1, 0.5);
  text(area.x + area.width / 2, bottom + 38, title_with_unit(x_axis.title, x_axis.unit), "middle", 12, true);
}

std::string SvgCanvas::finish() { return std::move(out_) + "</svg>\n"; }

}  // namespace hone
