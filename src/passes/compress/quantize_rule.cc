#include "passes/compress/quantize_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest_part.h"
#include "base/text.h"
#include "ops/integer_activations.h"

namespace hone {
namespace {

using Part = QuantizeCandidate::Part;

constexpr std::string_view kKeep = "keep";
constexpr size_t kLongestFormat = 200;
const char* noun(Part part) { return part == Part::bias ? "bias" : part == Part::in ? "input" : "weight"; }

bool is_format(std::string_view text) {
  try {
    InputFormat::parse(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Where the '=' before the format is: formats contain '=' themselves (mxint8.rule=rceil, int4.g32.s=bf16), and so may
// expressions. The longest tail that is a format counts. npos when there is none.
size_t format_separator(const std::string& text) {
  for (size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
    const std::string_view tail = std::string_view(text).substr(at + 1);
    if (tail.size() > kLongestFormat) continue;
    if (tail == kKeep || is_format(tail)) return at;
  }
  return std::string::npos;
}

bool starts_with_and_drop(std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.erase(0, prefix.size());
  return true;
}

}  // namespace

// Scales of a power of two, of groups and the like follow from the data of each run; what data choose beforehand is one
// scale for the whole tensor.
InputFormat InputFormat::parse(std::string_view text) {
  const size_t at = text.find('@');
  InputFormat input{parse_format(text.substr(0, at)), ""};
  if (at == std::string_view::npos) return input;
  input.observer = text.substr(at + 1);
  const auto is_letter = [](char c) { return c == '-' || (c >= 'a' && c <= 'z'); };
  if (input.observer.empty() || !std::ranges::all_of(input.observer, is_letter))
    fail("\"{}\": expected the name of an observer after @, e.g. int8@min-max", text);
  if (const std::string why = no_integer_activations(input.format); !why.empty())
    fail("\"{}\": no static scale of {}: {}", text, to_string(input.format), why);
  if (input.format.geometry.kind != Geometry::Kind::tensor)
    fail("\"{}\": a static scale is that of the whole tensor; of each row it follows from the data", text);
  return input;
}

std::string to_string(const InputFormat& input) {
  return to_string(input.format) + (input.observer.empty() ? "" : "@" + input.observer);
}

std::string_view suffix_of(QuantizeCandidate::Part part) {
  CHECK(part != Part::other);
  return part == Part::weight ? ".weight" : part == Part::bias ? ".bias" : ".in";
}

QuantizeRule QuantizeRule::parse(const std::string& text) {
  const size_t separator = format_separator(text);
  if (separator == std::string::npos) {
    const size_t first = text.rfind('=');
    if (first == std::string::npos)
      fail("rule \"{}\": expected address=format, e.g. op:linear=mxint8, name:pooler.dense.in=int8 or layer.0=keep",
           text);
    try {
      const std::string_view format = std::string_view(text).substr(first + 1);
      InputFormat::parse(format.substr(0, kLongestFormat));
    } catch (const Error& error) {
      fail("rule \"{}\": {}", text, error.what());
    }
  }
  QuantizeRule rule;
  rule.text_ = text;
  const std::string format = text.substr(separator + 1);
  if (format != kKeep) {
    InputFormat given = InputFormat::parse(format);
    rule.format_ = given.format, rule.observer_ = std::move(given.observer);
  }
  rule.set_address(text.substr(0, separator));
  if (!rule.observer_.empty() && rule.part_ != Part::in && !rule.gives_name())
    fail("rule \"{}\": @{} is for inputs of layers (LAYER.in); scales of {}s follow from themselves", text,
         rule.observer_, noun(rule.part_));
  return rule;
}

QuantizeRule QuantizeRule::keep_matching(const std::string& regex) {
  QuantizeRule rule;
  rule.text_ = "skip " + regex;
  rule.pattern_ = regex;
  rule.set_part();
  rule.set_regex(regex);
  return rule;
}

void QuantizeRule::set_address(const std::string& address) {
  pattern_ = address;
  if (starts_with_and_drop(pattern_, "op:")) by_ = By::op;
  else if (starts_with_and_drop(pattern_, "name:")) by_ = By::name;
  if (by_ != By::name) set_part();
  if (by_ == By::regex) set_regex(pattern_);
  if (pattern_.empty()) fail("rule \"{}\": nothing stands before the format; .* means every weight", text_);
}

// The part that the address ends in: "op:linear.in", "layer\\.0\\..*\\.bias". An op's name is left without it.
void QuantizeRule::set_part() {
  std::string_view head = pattern_;
  if (by_ == By::regex && head.ends_with('$')) head.remove_suffix(1);
  for (Part part : {Part::weight, Part::bias, Part::in})
    if (const std::string_view suffix = suffix_of(part); head.ends_with(suffix)) {
      part_ = part;
      if (by_ == By::op) pattern_.erase(pattern_.size() - suffix.size());
      return;
    }
}

void QuantizeRule::set_regex(const std::string& pattern) {
  constexpr size_t kMaxLength = 1000;
  if (pattern.size() > kMaxLength) fail("rule \"{}…\": longer than {} characters", text_.substr(0, 40), kMaxLength);
  try {
    regex_.emplace(pattern);
  } catch (const Error& error) {
    fail("rule \"{}\": {}", text_, error.what());
  }
}

bool QuantizeRule::matches(const QuantizeCandidate& candidate) const {
  if (by_ == By::name) return candidate.name == pattern_ || candidate.address == pattern_;
  if (candidate.part != part_) return false;
  if (by_ == By::op) return std::find(candidate.ops.begin(), candidate.ops.end(), pattern_) != candidate.ops.end();
  return regex_->search(candidate.name) || regex_->search(candidate.address);
}

std::string QuantizeRule::unmatched_op(const std::vector<QuantizeCandidate>& candidates) const {
  std::vector<std::string> ops;
  for (const QuantizeCandidate& candidate : candidates)
    for (const std::string& op : candidate.ops)
      if (candidate.part == part_ && std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  return fmt::format("rule \"{}\": no {} of an op {}; ops that have one: {}{}", text_, noun(part_), pattern_,
                     ops.empty() ? "none" : fmt::format("{}", fmt::join(ops, ", ")), did_you_mean(pattern_, ops));
}

std::string QuantizeRule::unmatched(const std::vector<QuantizeCandidate>& candidates) const {
  if (by_ == By::op) return unmatched_op(candidates);
  std::vector<std::string> names;  // that the rule could have meant
  for (const QuantizeCandidate& candidate : candidates) {
    if (by_ == By::regex && candidate.part == Part::other && regex_->search(candidate.name))
      return fmt::format(
          "rule \"{}\" matches only tensors that are kept by default, such as {}; give its exact name: name:{}=format",
          text_, candidate.name, candidate.name);
    if (by_ == By::name || candidate.part == part_) names.push_back(candidate.name);
  }
  std::string nearest = did_you_mean(pattern_, names);
  if (nearest.empty()) nearest = did_you_mean_part(pattern_, names);
  if (!nearest.empty()) return fmt::format("rule \"{}\" matches nothing{}", text_, nearest);
  return fmt::format("rule \"{}\" matches nothing; there are {} {}, e.g. {}", text_, names.size(),
                     by_ == By::name ? "names" : "such names", names.empty() ? "none" : names.front());
}

}  // namespace hone
