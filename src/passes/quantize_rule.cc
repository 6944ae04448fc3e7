#include "passes/quantize_rule.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr std::string_view kKeep = "keep";

std::optional<Format> try_format(std::string_view text) {
  try {
    return parse_format(text);
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

// Where the '=' before the format is: formats contain '=' themselves (mxint8.rule=rceil), and so may expressions. The
// shortest tail that is a format counts. npos when there is none.
size_t format_separator(const std::string& text) {
  for (size_t at = text.rfind('='); at != std::string::npos;
       at = at == 0 ? std::string::npos : text.rfind('=', at - 1)) {
    const std::string_view tail = std::string_view(text).substr(at + 1);
    if (tail == kKeep || try_format(tail)) return at;
  }
  return std::string::npos;
}

bool starts_with_and_drop(std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.erase(0, prefix.size());
  return true;
}

}  // namespace

QuantizeRule QuantizeRule::parse(const std::string& text) {
  const size_t separator = format_separator(text);
  if (separator == std::string::npos) {
    const size_t first = text.rfind('=');
    if (first == std::string::npos)
      fail("rule \"{}\": expected pattern=format, e.g. op:linear=mxint8, name:pooler.dense.bias=fp16 or layer.0=keep",
           text);
    try {
      parse_format(std::string_view(text).substr(first + 1));
    } catch (const FormatError& error) {
      fail("rule \"{}\": {}", text, error.what());
    }
  }
  QuantizeRule rule;
  rule.text_ = text;
  const std::string format = text.substr(separator + 1);
  if (format != kKeep) rule.format_ = parse_format(format);
  rule.pattern_ = text.substr(0, separator);
  if (starts_with_and_drop(rule.pattern_, "op:")) rule.by_ = By::op;
  else if (starts_with_and_drop(rule.pattern_, "name:")) rule.by_ = By::name;
  else rule.set_regex(rule.pattern_);
  if (rule.pattern_.empty()) fail("rule \"{}\": nothing stands before the format; .* means every weight", text);
  return rule;
}

QuantizeRule QuantizeRule::keep_matching(const std::string& regex) {
  QuantizeRule rule;
  rule.text_ = "skip " + regex;
  rule.pattern_ = regex;
  rule.set_regex(regex);
  return rule;
}

void QuantizeRule::set_regex(const std::string& pattern) {
  constexpr size_t kMaxLength = 1000;  // std::regex recurses over its pattern
  if (pattern.size() > kMaxLength) fail("rule \"{}…\": longer than {} characters", text_.substr(0, 40), kMaxLength);
  try {
    regex_ = std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    fail("rule \"{}\": \"{}\" is not a regular expression: {}", text_, pattern, error.what());
  }
}

bool QuantizeRule::matches(const QuantizeCandidate& candidate) const {
  if (by_ == By::name) return candidate.name == pattern_;
  if (!candidate.eligible) return false;
  if (by_ == By::op) return std::find(candidate.ops.begin(), candidate.ops.end(), pattern_) != candidate.ops.end();
  return std::regex_search(candidate.name, regex_);
}

void QuantizeRule::fail_unmatched(const std::vector<QuantizeCandidate>& candidates) const {
  std::vector<std::string> names, ops;
  std::string kept;
  for (const QuantizeCandidate& candidate : candidates) {
    names.push_back(candidate.name);
    for (const std::string& op : candidate.ops)
      if (candidate.eligible && std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
    if (by_ == By::regex && !candidate.eligible && kept.empty() && std::regex_search(candidate.name, regex_))
      kept = candidate.name;
  }
  if (!kept.empty())
    fail("rule \"{}\" matches only tensors that are kept by default, such as {}; give its exact name: name:{}=format",
         text_, kept, kept);
  if (by_ == By::op) {
    std::string known;
    for (const std::string& op : ops) known += (known.empty() ? "" : ", ") + op;
    fail("rule \"{}\": no weight feeds an op {}; ops with weights: {}{}", text_, pattern_,
         known.empty() ? "none" : known, did_you_mean(pattern_, ops));
  }
  const std::vector<std::string> nearest = nearest_names(pattern_, names);
  if (!nearest.empty()) fail("rule \"{}\" matches no tensor{}", text_, did_you_mean(pattern_, names));
  fail("rule \"{}\" matches no tensor; there are {}, e.g. {}", text_, names.size(),
       names.empty() ? "none" : names.front());
}

}  // namespace hone
