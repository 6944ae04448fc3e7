// Reading and printing format strings, head{.option} (docs/FORMATS.md, section 1): one tokenizer that every family
// shares.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/format.h"

namespace hone {

enum class OptionKey : uint8_t { f, bias, tensor, channel, g, tile, ax, e, s, m, asym, round, rule, compat };

struct FormatOption {
  std::string_view text;  // without the dot
  size_t position = 0;    // of its first character
};

// A string cut at its dots. The text outlives it.
struct FormatText {
  explicit FormatText(std::string_view text);  // throws E_SYNTAX

  bool has(OptionKey key) const { return position_of(key) != std::string_view::npos; }
  size_t position_of(OptionKey key) const;  // of the first well-formed option of that key, else npos

  // Whether `option` is one of the options, spelled so.
  bool asks_for(std::string_view option) const;
  std::string without(OptionKey key) const;  // the text without the options of that key

  // The head of a sound format: empty when the string asks for a compat variant, which is another family's to read.
  std::string_view sound_head() const { return has(OptionKey::compat) ? std::string_view() : head; }

  // W of "int8" for prefix "int": absent when the head is no such thing; E_SYNTAX for a leading zero.
  std::optional<int> width_after(std::string_view prefix) const;
  // (E, M) of "minifloat_e4m3" for prefix "minifloat_e".
  std::optional<std::pair<int, int>> exponent_mantissa_after(std::string_view prefix) const;
  // E_WIDTH unless low <= value <= high.
  void check_width(const char* what, int value, int low, int high) const;
  [[noreturn]] void fail_at(const char* code, size_t position, const std::string& message) const;

  std::string_view text, head;
  std::vector<FormatOption> options;

 private:
  int head_number(std::string_view digits) const;
};

// Options of one string, each given at most once and within its range.
struct FormatOptions {
  std::optional<int> f, bias, ax, e;
  std::optional<Geometry> geometry;
  std::optional<bool> round_floor;
  std::optional<ScaleRule> rule;
  ScaleType scale_type = ScaleType::f32;
  std::optional<ScaleType> minimum_type;
  bool asym = false;
};

// Throws E_OPT for an option outside `allowed` (and lists those), E_DUP, E_VALUE, and E_CONFLICT for two geometries.
FormatOptions read_options(const FormatText& text, std::initializer_list<OptionKey> allowed);

// The geometry that options ask for on top of a family's default; E_CONFLICT for an axis without a use.
Geometry resolve_geometry(const FormatText& text, const FormatOptions& options, const Geometry& otherwise);

Geometry tensor_geometry();
Geometry group_geometry(int64_t columns);

// ".g64.ax0", or "" when `geometry` is the default.
std::string geometry_suffix(const Geometry& geometry, const Geometry& otherwise);
std::string rule_suffix(ScaleRule rule);
std::string scale_type_suffix(ScaleType type);  // ".s=bf16"
std::string_view scale_type_name(ScaleType type);

// E_CONFLICT where scales of two levels are asked for, or a minimum, and groups or codes don't allow it.
void check_scale_types(const FormatText& text, const FormatOptions& options, const Format& format);

}  // namespace hone
