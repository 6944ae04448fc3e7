#include "report/html.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/html_style.h"
#include "report/markup.h"
#include "report/number_text.h"
#include "report/svg.h"

namespace hone {
namespace {

std::string title_markup(const std::string& title, const std::string& unit) {
  return escape_markup(title) +
         (unit.empty() ? "" : fmt::format(" <span class=\"unit\">{}</span>", escape_markup(unit)));
}

// The value, and its interval set back.
std::string cell_markup(const Cell& cell, const NumberStyle& style) {
  const Number* number = std::get_if<Number>(&cell);
  if (!number || !number->interval) return escape_markup(cell_text(cell, style));
  return fmt::format("{}<span class=\"interval\" title=\"95 % interval\">{}&ndash;{}</span>",
                     number_text(number->value, style), number_text(number->interval->low, style),
                     number_text(number->interval->high, style));
}

// A column with a number in it is set flush right.
bool is_numeric(const Table& table, size_t column) {
  for (const std::vector<Cell>& row : table.rows)
    if (std::holds_alternative<Number>(row[column])) return true;
  return false;
}

class BlockToHtml {
 public:
  explicit BlockToHtml(std::string& out) : out_(out) {}

  void operator()(const Text& block) {
    size_t begin = 0;
    while (begin < block.text.size()) {
      const size_t end = std::min(block.text.find("\n\n", begin), block.text.size());
      out_ += fmt::format("<p>{}</p>\n", escape_markup(trim(std::string_view(block.text).substr(begin, end - begin))));
      begin = end + 2;
    }
  }

  void operator()(const KeyValues& block) {
    heading(block.title);
    out_ += "<div class=\"scroll\"><table><tbody>\n";
    for (const KeyValue& item : block.items)
      out_ +=
          fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape_markup(item.title),
                      cell_markup(item.value, item.style) + (item.unit.empty() ? "" : " " + escape_markup(item.unit)));
    out_ += "</tbody></table></div>\n";
  }

  void operator()(const Table& table) {
    heading(table.title);
    out_ += "<div class=\"scroll\"><table>\n<thead><tr>";
    if (table.across) across(table);
    else down(table);
    out_ += "</tbody></table></div>\n";
    if (!table.note.empty()) out_ += fmt::format("<p class=\"note\">{}</p>\n", escape_markup(table.note));
  }

  void operator()(const ScatterPlot& plot) { figure(plot.title, svg(plot)); }
  void operator()(const LinePlot& plot) { figure(plot.title, svg(plot)); }
  void operator()(const BarChart& chart) { figure(chart.title, svg(chart)); }
  void operator()(const Drawing& drawing) {
    figure(drawing.title, fmt::format("<div class=\"drawing\" role=\"img\" tabindex=\"0\" aria-label=\"{}\">{}</div>\n",
                                      escape_markup(drawing.description), drawing.svg));
  }

 private:
  void down(const Table& table) {
    for (size_t c = 0; c < table.columns.size(); ++c)
      out_ += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(table, c),
                          title_markup(table.columns[c].title, table.columns[c].unit));
    out_ += "</tr></thead>\n<tbody>\n";
    for (const std::vector<Cell>& row : table.rows) {
      out_ += "<tr>";
      for (size_t c = 0; c < row.size(); ++c) {
        const char* tag = c == 0 ? "th" : "td";
        out_ += fmt::format("<{0}{1}{2}>{3}</{0}>", tag, c == 0 ? " scope=\"row\"" : "", class_of(table, c),
                            cell_markup(row[c], table.columns[c].style));
      }
      out_ += "</tr>\n";
    }
  }

  void across(const Table& table) {
    out_ += fmt::format("<th scope=\"col\">{}</th>", title_markup(table.columns[0].title, table.columns[0].unit));
    for (const std::vector<Cell>& row : table.rows)
      out_ += fmt::format("<th scope=\"col\" class=\"number\">{}</th>", cell_markup(row[0], table.columns[0].style));
    out_ += "</tr></thead>\n<tbody>\n";
    for (size_t c = 1; c < table.columns.size(); ++c) {
      const Column& column = table.columns[c];
      out_ += fmt::format("<tr><th scope=\"row\">{}</th>", title_markup(column.title, column.unit));
      for (const std::vector<Cell>& row : table.rows)
        out_ += fmt::format("<td class=\"number\">{}</td>", cell_markup(row[c], column.style));
      out_ += "</tr>\n";
    }
  }

  static const char* class_of(const Table& table, size_t column) {
    return is_numeric(table, column) ? " class=\"number\"" : "";
  }
  void heading(const std::string& title) {
    if (!title.empty()) out_ += fmt::format("<h3>{}</h3>\n", escape_markup(title));
  }
  void figure(const std::string& title, const std::string& content) {
    out_ += fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}</figure>\n", escape_markup(title), content);
  }

  std::string& out_;
};

std::string head(const Record& record) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n",
      escape_markup(record.title), kHtmlStyle);
}

std::string header(const Record& record) {
  std::string out = fmt::format("<header>\n<h1>{}</h1>\n", escape_markup(record.title));
  if (!record.command.empty()) out += fmt::format("<pre><code>{}</code></pre>\n", escape_markup(record.command));
  if (!record.findings.empty()) {
    out += "<ul class=\"findings\">\n";
    for (const std::string& finding : record.findings) out += fmt::format("<li>{}</li>\n", escape_markup(finding));
    out += "</ul>\n";
  }
  for (const NextCommand& next : record.next)
    out +=
        fmt::format("<p>{}:</p>\n<pre><code>{}</code></pre>\n", escape_markup(next.what), escape_markup(next.command));
  return out + "</header>\n";
}

std::string machine(const Record& record) {
  if (record.machine.empty()) return "";
  std::string out = "<section>\n<h2>Machine</h2>\n<div class=\"scroll\"><table><tbody>\n";
  for (const auto& [key, value] : record.machine)
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escape_markup(key), escape_markup(value));
  return out + "</tbody></table></div>\n</section>\n";
}

std::string manifest(const Record& record) {
  if (record.manifest.empty()) return "";
  std::string out =
      "<section>\n<h2>Files</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Role</th><th "
      "scope=\"col\">File</th>"
      "<th scope=\"col\" class=\"number\">Size</th><th scope=\"col\">SHA-256</th></tr></thead>\n<tbody>\n";
  for (const ManifestEntry& file : record.manifest)
    out += fmt::format(
        "<tr><td>{}</td><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"mono hash\">{}</td></tr>\n",
        escape_markup(file.role), escape_markup(file.path),
        number_text(static_cast<double>(file.bytes), {NumberFormat::bytes}), escape_markup(file.sha256));
  return out + "</tbody></table></div>\n</section>\n";
}

}  // namespace

std::string html(const Record& record) {
  check(record);
  std::string out = head(record) + "<body>\n" + header(record) + "<main>\n";
  for (const Section& section : record.sections) {
    out += fmt::format("<section>\n<h2>{}</h2>\n", escape_markup(section.title));
    for (const Block& block : section.blocks) std::visit(BlockToHtml{out}, block);
    out += "</section>\n";
  }
  out += machine(record) + manifest(record) + "</main>\n";
  return out +
         "<footer>Written by hone. Everything shown is inside this file; it loads "
         "nothing.</footer>\n</body>\n</html>\n";
}

}  // namespace hone
