#include "report/record.h"

#include <cmath>
#include <set>

#include "base/error.h"

namespace hone {
namespace {

// The names that json.cc uses itself.
const std::set<std::string> kReservedKeys{"title", "command", "findings", "next", "machine", "manifest", "schema"};

void check_positive(const Axis& axis, double value) {
  CHECK(!axis.logarithmic || value > 0, "\"{}\" is logarithmic and has a value of {}", axis.title, value);
}

struct BlockCheck {
  std::set<std::string>& keys;

  void take(const std::string& key) {
    CHECK(!key.empty() && !kReservedKeys.contains(key), "a block can't have the key \"{}\"", key);
    CHECK(keys.insert(key).second, "two blocks have the key \"{}\"", key);
  }
  void operator()(const Text&) {}
  void operator()(const KeyValues& b) { take(b.key); }
  void operator()(const BarChart& b) { take(b.key); }
  void operator()(const Drawing& b) { take(b.key); }
  void operator()(const Table& t) {
    take(t.key);
    CHECK(!t.columns.empty(), "table {} has no columns", t.key);
    for (const auto& row : t.rows)
      CHECK(row.size() == t.columns.size(), "table {}: a row of {} cells, {} columns", t.key, row.size(),
            t.columns.size());
  }
  void operator()(const ScatterPlot& p) {
    take(p.key);
    for (const Point& point : p.points) check_positive(p.x, point.x), check_positive(p.y, point.y);
  }
  void operator()(const LinePlot& p) {
    take(p.key);
    for (const Line& line : p.lines)
      for (const auto& [x, y] : line.points) check_positive(p.x, x), check_positive(p.y, y);
  }
};

}  // namespace

void check(const Record& record) {
  std::set<std::string> keys;
  for (const Section& section : record.sections)
    for (const Block& block : section.blocks) std::visit(BlockCheck{keys}, block);
}

}  // namespace hone
