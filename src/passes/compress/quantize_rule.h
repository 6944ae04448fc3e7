// One rule of quantize.h, read and matched.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"
#include "formats/format.h"

namespace hone {

// A named constant or the inputs of a layer, as rules see them.
struct QuantizeCandidate {
  enum class Part : uint8_t { weight, bias, in, other };  // other: reached by its exact name alone
  std::string name, address;                              // address: "" where it belongs to no layer
  Part part = Part::other;
  std::vector<std::string> ops;  // of the layers that it is part of
};

std::string_view suffix_of(QuantizeCandidate::Part part);  // of addresses: ".weight", ".bias", ".in"

class QuantizeRule {
 public:
  static QuantizeRule parse(const std::string& text);           // throws Error
  static QuantizeRule keep_matching(const std::string& regex);  // an entry of `skip`

  bool matches(const QuantizeCandidate& candidate) const;
  const std::optional<Format>& format() const { return format_; }  // none: keep
  const std::string& observer() const { return observer_; }        // "": scales follow from the data of each run
  const std::string& text() const { return text_; }
  bool gives_name() const { return by_ == By::name; }

  // What is wrong with a rule that matched none of the candidates, and what there is instead.
  std::string unmatched(const std::vector<QuantizeCandidate>& candidates) const;

 private:
  using Part = QuantizeCandidate::Part;
  enum class By { op, name, regex };
  void set_address(const std::string& address);
  void set_part();
  void set_regex(const std::string& pattern);
  std::string unmatched_op(const std::vector<QuantizeCandidate>& candidates) const;

  By by_ = By::regex;
  Part part_ = Part::weight;  // that the rule is about, unless it gives a name
  std::string text_, pattern_;
  std::optional<Regex> regex_;  // of By::regex
  std::optional<Format> format_;
  std::string observer_;
};

// FORMAT or FORMAT@OBSERVER, of inputs of layers.
struct InputFormat {
  Format format;
  std::string observer;
  static InputFormat parse(std::string_view text);  // throws Error
};
std::string to_string(const InputFormat& input);

}  // namespace hone
