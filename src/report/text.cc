#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "report/number_text.h"

namespace hone {
namespace {

constexpr size_t kGap = 2;             // blanks between columns
constexpr size_t kNarrowestText = 16;  // of a text column that is cut to fit
constexpr size_t kNarrowestProse = 40;
constexpr size_t kLongestCell = 300;   // bytes, also of names that stay whole otherwise
constexpr size_t kLongestText = 4000;  // of a title, a finding, a value

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Characters, not bytes, of UTF-8.
size_t display_width(const std::string& s) {
  return static_cast<size_t>(std::count_if(s.begin(), s.end(), [](char c) { return !continues_character(c); }));
}

// The first `count` characters, or the last.
std::string first_characters(const std::string& s, size_t count) {
  size_t end = 0;
  for (; end < s.size(); ++end)
    if (!continues_character(s[end]) && count-- == 0) break;
  return s.substr(0, end);
}
std::string last_characters(const std::string& s, size_t count) {
  return s.substr(first_characters(s, display_width(s) - count).size());
}

// Names of tensors differ at both ends, so the middle goes.
std::string cut(const std::string& s, size_t width) {
  if (display_width(s) <= width) return s;
  const size_t head = (width - 2) / 2;
  return first_characters(s, head) + ".." + last_characters(s, width - 2 - head);
}

std::string padded(const std::string& s, size_t width, bool right) {
  const std::string blanks(width - std::min(width, display_width(s)), ' ');
  return right ? blanks + s : s + blanks;
}

// Breaks paragraphs at blanks.
std::string wrapped(const std::string& paragraphs, size_t width) {
  std::string out;
  size_t column = 0;
  for (size_t at = 0; at < paragraphs.size();) {
    if (paragraphs[at] == '\n') {
      out += '\n', column = 0, ++at;
      continue;
    }
    const size_t end = std::min(paragraphs.find_first_of(" \n", at), paragraphs.size());
    const std::string word = paragraphs.substr(at, end - at);
    if (column > 0 && column + 1 + display_width(word) > width) out += '\n', column = 0;
    if (column > 0) out += ' ', ++column;
    out += word, column += display_width(word);
    at = end + (end < paragraphs.size() && paragraphs[end] == ' ');
  }
  return out + "\n";
}

class TableText {
 public:
  TableText(const Table& table, const TextOptions& options) : table_(table), options_(options) {
    std::vector<std::string> titles;
    for (const Column& c : table.columns) titles.push_back(title_with_unit(c.title, c.unit));
    if (table.across) add_across(titles);
    else add_down(titles);
    measure();
    fit();
  }

  std::string lines() const {
    std::string out;
    size_t total = kGap * (widths_.size() - 1);
    for (size_t w : widths_) total += w;
    out += line(header_) + std::string(total, '-') + "\n";
    for (const auto& row : cells_) out += lines_of(row);
    return out;
  }

 private:
  std::string shown(size_t row, size_t column) const {
    const Column& style = table_.columns[column];
    std::string text = cell_text(table_.rows[row][column], style.style);
    if (style.prose) return shortened(text, kLongestText);
    std::replace(text.begin(), text.end(), '\n', ' ');  // of a name: a row is a line
    return shortened(text, kLongestCell);
  }

  void add_down(const std::vector<std::string>& titles) {
    header_ = titles;
    right_.resize(titles.size());
    for (size_t c = 0; c < titles.size(); ++c) prose_.push_back(table_.columns[c].prose);
    for (size_t r = 0; r < table_.rows.size(); ++r) {
      cells_.emplace_back();
      for (size_t c = 0; c < titles.size(); ++c) {
        cells_.back().push_back(shown(r, c));
        if (std::holds_alternative<Number>(table_.rows[r][c])) right_[c] = true;
      }
    }
  }

  void add_across(const std::vector<std::string>& titles) {
    header_ = {titles[0]};
    for (size_t r = 0; r < table_.rows.size(); ++r) header_.push_back(shown(r, 0));
    right_.assign(header_.size(), true);
    right_[0] = false;
    prose_.assign(header_.size(), false);
    for (size_t c = 1; c < titles.size(); ++c) {
      cells_.push_back({titles[c]});
      for (size_t r = 0; r < table_.rows.size(); ++r) cells_.back().push_back(shown(r, c));
    }
  }

  void measure() {
    for (const std::string& title : header_) widths_.push_back(display_width(title));
    for (const auto& row : cells_)
      for (size_t c = 0; c < row.size(); ++c) widths_[c] = std::max(widths_[c], display_width(row[c]));
  }

  // The widest text column gives way until the line fits or all are at their narrowest. The first one stays whole: it
  // names the row, and names get copied.
  void fit() {
    size_t total = kGap * (widths_.size() - 1);
    for (size_t w : widths_) total += w;
    while (total > options_.width) {
      size_t widest = widths_.size();
      for (size_t c = 1; c < widths_.size(); ++c)
        if (!right_[c] &&
            widths_[c] > std::max(prose_[c] ? kNarrowestProse : kNarrowestText, display_width(header_[c])) &&
            (widest == widths_.size() || widths_[c] > widths_[widest]))
          widest = c;
      if (widest == widths_.size()) return;
      --widths_[widest], --total;
    }
  }

  // One line, and those that prose goes on in.
  std::string lines_of(std::vector<std::string> cells) const {
    std::string out;
    for (bool more = true; more;) {
      more = false;
      std::vector<std::string> rest(cells.size());
      for (size_t c = 0; c < cells.size(); ++c) {
        if (!prose_[c]) continue;
        const std::string broken = wrapped(cells[c], widths_[c]);
        const size_t end = broken.find('\n');
        rest[c] = trim(std::string_view(broken).substr(end));
        cells[c] = broken.substr(0, end);
        more = more || !rest[c].empty();
      }
      out += line(cells);
      cells = std::move(rest);
    }
    return out;
  }

  std::string line(const std::vector<std::string>& cells) const {
    std::string out;
    for (size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) out += std::string(kGap, ' ');
      out += padded(cut(cells[c], widths_[c]), widths_[c], right_[c]);
    }
    return out.erase(out.find_last_not_of(' ') + 1) + "\n";
  }

  const Table& table_;
  const TextOptions& options_;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> cells_;
  std::vector<size_t> widths_;
  std::vector<bool> right_, prose_;
};

class RecordText {
 public:
  explicit RecordText(const TextOptions& options) : options_(options) {}

  std::string render(const Record& record) {
    heading(shortened(record.title, kLongestText));
    if (!record.command.empty()) out_ += "$ " + record.command + "\n";
    for (const std::string& finding : record.findings)
      out_ += wrapped("* " + shortened(finding, kLongestText), options_.width);
    for (const NextCommand& next : record.next)
      out_ += wrapped("* " + next.what + ":", options_.width) + "$ " + next.command + "\n";
    for (const Section& section : record.sections) {
      out_ += "\n";
      heading(section.title);
      for (const Block& block : section.blocks) {
        const size_t before = out_.size();
        std::visit(*this, block);
        if (out_.size() > before && &block != &section.blocks.back()) out_ += "\n";
      }
    }
    if (options_.machine) appendix(record);
    return std::move(out_);
  }

  void operator()(const Text& block) { out_ += wrapped(block.text, options_.width); }
  void operator()(const KeyValues& block) {
    subtitle(block.title);
    pairs(block.items);
  }
  void operator()(const Table& block) {
    subtitle(block.title);
    out_ += TableText(block, options_).lines();
    if (!block.note.empty()) out_ += wrapped(block.note, options_.width);
  }
  void operator()(const ScatterPlot&) {}
  void operator()(const LinePlot&) {}
  void operator()(const BarChart&) {}
  void operator()(const Drawing& block) { out_ += fmt::format("[{}: {}]\n", block.title, block.description); }

 private:
  void heading(const std::string& title) {
    if (title.empty()) return;
    out_ += options_.styled ? fmt::format("\x1b[1m{}\x1b[0m\n", title) : title + "\n";
  }
  void subtitle(const std::string& title) {
    if (!title.empty()) out_ += title + ":\n";
  }

  void pairs(const std::vector<KeyValue>& items) {
    size_t width = 0;
    for (const KeyValue& item : items) width = std::max(width, display_width(item.title));
    for (const KeyValue& item : items)
      out_ += fmt::format("  {}  {}{}{}\n", padded(item.title, width, false),
                          shortened(cell_text(item.value, item.style), kLongestText), item.unit.empty() ? "" : " ",
                          item.unit);
  }

  void appendix(const Record& record) {
    if (!record.machine.empty()) {
      out_ += "\n";
      heading("Machine");
      std::vector<KeyValue> items;
      for (const auto& [key, value] : record.machine) items.push_back({key, key, value});
      pairs(items);
    }
    if (!record.manifest.empty()) {
      out_ += "\n";
      heading("Files");
      for (const ManifestEntry& file : record.manifest)
        out_ += fmt::format("  {:<6}  {}  {}  {}\n", file.role, file.sha256, file.path,
                            number_text(static_cast<double>(file.bytes), {NumberFormat::bytes}));
    }
  }

  const TextOptions& options_;
  std::string out_;
};

}  // namespace

std::string text(const Record& record, const TextOptions& options) {
  check(record);
  return RecordText(options).render(record);
}

std::string text(const Table& table, const TextOptions& options) { return TableText(table, options).lines(); }

}  // namespace hone
