#include "jobs/score_command.h"

#include <sys/wait.h>

#include <charconv>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "jobs/child_process.h"

namespace hone {
namespace {

constexpr size_t kShown = 400;  // bytes of what a program wrote, in an error

// The elements of `values` as nested lists of the shape.
template <class T>
void append_nested(std::string& json, std::span<const T> values, std::span<const int64_t> shape) {
  if (shape.empty()) {
    json += std::isfinite(static_cast<double>(values[0])) ? fmt::format("{}", values[0]) : std::string("null");
    return;
  }
  const size_t step = shape[0] == 0 ? 0 : values.size() / static_cast<size_t>(shape[0]);
  json += '[';
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (i > 0) json += ", ";
    append_nested(json, values.subspan(static_cast<size_t>(i) * step, step), shape.subspan(1));
  }
  json += ']';
}

// Of a tensor whose first axis counts rows.
template <class T>
void append_row(std::string& json, const std::vector<T>& values, const std::vector<int64_t>& shape, int64_t at) {
  const size_t size = values.size() / static_cast<size_t>(shape[0]);
  append_nested(json, std::span<const T>(values).subspan(static_cast<size_t>(at) * size, size),
                std::span(shape).subspan(1));
}

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string last_line(const std::string& text) {
  std::string last;
  for (const std::string& line : split(text, '\n'))
    if (!trim(line).empty()) last = trim(line);
  return last;
}

std::string said(const ChildOutput& child) {
  const std::string line = last_line(child.errors);
  return line.empty() ? "" : fmt::format("; it said: {}", shortened(line, kShown));
}

}  // namespace

void AnswerFile::add(std::span<const AnswerRow> rows, std::span<const std::string> names,
                     std::span<const Tensor> outputs) {
  std::vector<std::string> lines;
  for (const AnswerRow& r : rows)
    lines.push_back(fmt::format("{{\"row\": {}, \"where\": {}, \"label\": {}, \"outputs\": {{", r.row,
                                json_string(r.where), r.label));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<int64_t>& shape = outputs[i].shape();
    if (shape.empty() || shape[0] != std::ssize(rows)) continue;  // not of rows
    const bool whole = is_integer(outputs[i].dtype());
    const std::vector<int64_t> integers = whole ? outputs[i].to_integers() : std::vector<int64_t>();
    const std::vector<float> floats = whole ? std::vector<float>() : outputs[i].to_floats();
    for (int64_t at = 0; at < shape[0]; ++at) {
      std::string& line = lines[static_cast<size_t>(at)];
      line += fmt::format("{}{}: ", line.ends_with('{') ? "" : ", ", json_string(names[i]));
      if (whole) append_row(line, integers, shape, at);
      else append_row(line, floats, shape, at);
    }
  }
  for (const std::string& line : lines) file_.write(line + "}}\n");
}

double run_score_command(const std::string& command, const std::string& answers, double most_seconds) {
  const ChildOutput child = run_child({"/bin/sh", "-c", command + " \"$1\"", "sh", answers}, most_seconds);
  const std::string metric = "cmd:" + command;
  if (child.timed_out) fail("metric {}: did not end within {:g} s (--cmd-seconds)", metric, most_seconds);
  if (WIFSIGNALED(child.status)) fail("metric {}: ended by signal {}{}", metric, WTERMSIG(child.status), said(child));
  if (const int code = WEXITSTATUS(child.status); code != 0)
    fail("metric {}: ended with code {}{}", metric, code, said(child));
  const std::string line = last_line(child.out);
  double value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (line.empty() || error != std::errc() || end != line.data() + line.size() || !std::isfinite(value))
    fail("metric {}: a number is expected on the last line of what it prints, found \"{}\"", metric,
         shortened(line, kShown));
  return value;
}

}  // namespace hone
