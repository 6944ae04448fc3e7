// What a task found out, as typed data: a title, sections of blocks, the machine, the inputs. Jobs fill a Record; the
// renderers (text.h, json.h, html.h) show it and know nothing of how it came about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "measure/statistics.h"

namespace hone {

// How a number is written. The unit stands in the column's title, not in the cell.
enum class NumberFormat : uint8_t {
  significant,  // `digits` significant digits: 35.5, 0.00123
  fixed,        // `digits` decimals
  integer,      // grouped: 22,713,216
  bytes,        // 90.9 MB
  percent,      // of a share: 0.264 is 26.4 %, with `digits` decimals
};

struct NumberStyle {
  NumberFormat format = NumberFormat::significant;
  int digits = 3;
};

// A figure, with the 95 % interval of what was measured where it was measured.
struct Number {
  double value = 0;
  std::optional<Interval> interval = std::nullopt;
};

// Nothing (shown as "-"), a number, or text.
using Cell = std::variant<std::monostate, Number, std::string>;
inline Cell number(double value) { return Number{value}; }
inline Cell number(double value, Interval interval) { return Number{value, interval}; }

// Keys are for machines and stay the same from version to version (snake_case); titles are for people.
struct Column {
  std::string key = {}, title = {};
  std::string unit = {};  // "ms": shown beside the title
  NumberStyle style = {};
  std::string interval_key = {};  // JSON member for the interval; "" for key + "_ci95"
  bool prose = false;             // sentences: broken into lines, never cut
};

struct Table {
  std::string key = {}, title = {};
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};  // as many cells as columns; the first column names the row
  std::string note = {};                     // what one must know to read it
  bool across = false;  // rows are shown side by side, each of their figures on a line: for few rows of many figures
};

struct KeyValue {
  std::string key = {}, title = {};
  Cell value = {};
  std::string unit = {};
  NumberStyle style = {};
};
struct KeyValues {
  std::string key = {}, title = {};
  std::vector<KeyValue> items = {};
};

struct Axis {
  std::string title = {}, unit = {};
  bool logarithmic = false;  // then all values are above 0
};

struct Point {
  std::string label = {};  // empty: a point among many
  double x = 0, y = 0;
  std::optional<Interval> y_interval = std::nullopt;
  std::string group = {};  // those of one have a colour, which a legend names
};

// Size against accuracy and the like. With `pareto`, points that no other beats in both (smaller x, larger y) are
// joined.
struct ScatterPlot {
  std::string key = {}, title = {};
  Axis x = {}, y = {};
  std::vector<Point> points = {};
  bool pareto = true;
};

struct Line {
  std::string label = {};
  std::vector<std::pair<double, double>> points = {};
};
struct LinePlot {
  std::string key = {}, title = {};
  Axis x = {}, y = {};
  std::vector<Line> lines = {};
};

// One bar per item (a hundred are fine), e.g. SQNR per tensor. Bars of one `group` share a colour.
struct Bar {
  std::string label = {};
  double value = 0;
  std::string group = {};
};
struct BarChart {
  std::string key = {}, title = {};
  Axis value = {};
  std::vector<Bar> bars = {};
};

// A picture made elsewhere (dot_svg.h): a whole <svg> element, and what it shows in words.
struct Drawing {
  std::string key = {}, title = {}, svg = {}, description = {};
};

struct Text {
  std::string text = {};  // paragraphs separated by empty lines
};

using Block = std::variant<Text, KeyValues, Table, ScatterPlot, LinePlot, BarChart, Drawing>;

struct Section {
  std::string title = {};
  std::vector<Block> blocks = {};
};

// A file that went in or came out.
struct ManifestEntry {
  std::string role = {}, path = {}, sha256 = {};  // role: "input", "output"
  int64_t bytes = 0;
};

// What else may be typed: "made again", "hone search …".
struct NextCommand {
  std::string what = {}, command = {};
};

struct Record {
  std::string title = {};
  std::string command = {};                // what to type to get this again
  std::vector<std::string> findings = {};  // the result in a sentence each, losses beside gains
  std::vector<NextCommand> next = {};      // each on a line of its own, to be copied
  std::vector<Section> sections = {};
  std::vector<std::pair<std::string, std::string>> machine = {};  // measure/environment.h: describe()
  std::vector<ManifestEntry> manifest = {};
};

// Throws Bug when a row has another number of cells than its table has columns, or two blocks have one key.
void check(const Record& record);

// The block of that key and type, for code that reads results; nullptr when there is none.
template <class T>
const T* find_block(const Record& record, const std::string& key) {
  for (const Section& section : record.sections)
    for (const Block& block : section.blocks)
      if (const T* found = std::get_if<T>(&block))
        if (found->key == key) return found;
  return nullptr;
}

}  // namespace hone
