#include "report/json.h"

#include <cmath>

namespace hone {
namespace {

Json value_of(double value) {
  if (!std::isfinite(value)) return nullptr;
  constexpr double kExact = 9007199254740992;  // 2^53: whole numbers below are written without a fraction
  if (value == std::floor(value) && std::abs(value) < kExact) return static_cast<int64_t>(value);
  return value;
}

Json interval_of(const Interval& interval) { return Json::array({value_of(interval.low), value_of(interval.high)}); }

void put(Json& object, const std::string& key, const std::string& interval_key, const Cell& cell) {
  object[key] = nullptr;
  if (const std::string* text = std::get_if<std::string>(&cell)) object[key] = *text;
  const Number* number = std::get_if<Number>(&cell);
  if (!number) return;
  object[key] = value_of(number->value);
  if (number->interval) object[interval_key.empty() ? key + "_ci95" : interval_key] = interval_of(*number->interval);
}

struct BlockToJson {
  Json& root;

  void operator()(const Text&) {}
  void operator()(const Drawing&) {}  // a picture of what other commands print as data

  void operator()(const KeyValues& block) {
    Json object = Json::object();
    for (const KeyValue& item : block.items) put(object, item.key, "", item.value);
    root[block.key] = std::move(object);
  }

  void operator()(const Table& table) {
    Json rows = Json::array();
    for (const std::vector<Cell>& row : table.rows) {
      Json object = Json::object();
      for (size_t c = 0; c < row.size(); ++c) put(object, table.columns[c].key, table.columns[c].interval_key, row[c]);
      rows.push_back(std::move(object));
    }
    root[table.key] = std::move(rows);
  }

  void operator()(const ScatterPlot& plot) {
    Json points = Json::array();
    for (const Point& p : plot.points) {
      Json point{{"label", p.label}, {"x", value_of(p.x)}, {"y", value_of(p.y)}};
      if (p.y_interval) point["y_ci95"] = interval_of(*p.y_interval);
      if (!p.group.empty()) point["group"] = p.group;
      points.push_back(std::move(point));
    }
    root[plot.key] = std::move(points);
  }

  void operator()(const LinePlot& plot) {
    Json lines = Json::array();
    for (const Line& line : plot.lines) {
      Json points = Json::array();
      for (const auto& [x, y] : line.points) points.push_back(Json::array({value_of(x), value_of(y)}));
      lines.push_back({{"label", line.label}, {"points", std::move(points)}});
    }
    root[plot.key] = std::move(lines);
  }

  void operator()(const BarChart& chart) {
    Json bars = Json::array();
    for (const Bar& bar : chart.bars) {
      Json item{{"label", bar.label}, {"value", value_of(bar.value)}};
      if (!bar.group.empty()) item["group"] = bar.group;
      bars.push_back(std::move(item));
    }
    root[chart.key] = std::move(bars);
  }
};

}  // namespace

Json to_json(const Record& record) {
  check(record);
  Json root{
      {"schema", "hone-record-1"}, {"title", record.title}, {"command", record.command}, {"findings", record.findings}};
  for (const NextCommand& next : record.next) root["next"].push_back({{"what", next.what}, {"command", next.command}});
  for (const Section& section : record.sections)
    for (const Block& block : section.blocks) std::visit(BlockToJson{root}, block);
  root["machine"] = Json::object();
  for (const auto& [key, value] : record.machine) root["machine"][key] = value;
  root["manifest"] = Json::array();
  for (const ManifestEntry& file : record.manifest)
    root["manifest"].push_back(
        {{"role", file.role}, {"path", file.path}, {"sha256", file.sha256}, {"bytes", file.bytes}});
  return root;
}

// Names of files and labels of foreign models need not be UTF-8: what is not is replaced rather than refused.
std::string json_text(const Record& record) {
  return to_json(record).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hone
