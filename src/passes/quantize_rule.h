// One rule of quantize.h, read and matched.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "formats/format.h"

namespace hone {

// A named constant as rules see it.
struct QuantizeCandidate {
  std::string name;
  bool eligible = false;
  std::vector<std::string> ops;  // that it weighs
};

class QuantizeRule {
 public:
  static QuantizeRule parse(const std::string& text);           // throws Error
  static QuantizeRule keep_matching(const std::string& regex);  // an entry of `skip`

  bool matches(const QuantizeCandidate& candidate) const;
  const std::optional<Format>& format() const { return format_; }  // none: keep
  const std::string& text() const { return text_; }

  // The error for a rule that matched none of the candidates: what there is instead.
  [[noreturn]] void fail_unmatched(const std::vector<QuantizeCandidate>& candidates) const;

 private:
  enum class By { op, name, regex };
  void set_regex(const std::string& pattern);

  By by_ = By::regex;
  std::string text_, pattern_;
  std::regex regex_;
  std::optional<Format> format_;
};

}  // namespace hone
