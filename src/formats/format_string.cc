#include "formats/format_string.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hone {
namespace {

constexpr int kTooLarge = 1'000'000'000;  // what a number of more than nine digits is read as: outside every range

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// NAT of the grammar: no leading zero.
std::optional<int> read_nat(std::string_view digits) {
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
  if (digits.size() > 9) return kTooLarge;
  int value = 0;
  for (char c : digits) value = value * 10 + (c - '0');
  return value;
}

// INT of the grammar: no "-0".
std::optional<int> read_int(std::string_view text) {
  if (!text.starts_with('-')) return read_nat(text);
  const std::optional<int> magnitude = read_nat(text.substr(1));
  if (!magnitude || *magnitude == 0) return std::nullopt;
  return -*magnitude;
}

struct KeyName {
  OptionKey key;
  const char* name;   // as errors call it
  const char* shape;  // as it is written
};
constexpr std::array<KeyName, 14> kKeys{{{OptionKey::f, "f", "f<F>"},
                                         {OptionKey::bias, "bias", "bias<B>"},
                                         {OptionKey::tensor, "tensor", "tensor"},
                                         {OptionKey::channel, "channel", "channel"},
                                         {OptionKey::g, "g", "g<N>"},
                                         {OptionKey::tile, "g<R>x<C>", "g<R>x<C>"},
                                         {OptionKey::ax, "ax", "ax<A>"},
                                         {OptionKey::e, "e", "e<K>"},
                                         {OptionKey::s, "s", "s=fp16|bf16"},
                                         {OptionKey::m, "m", "m=fp16|u4|u6"},
                                         {OptionKey::asym, "asym", "asym"},
                                         {OptionKey::round, "round", "round=even|floor"},
                                         {OptionKey::rule, "rule", "rule=floor|rceil|even|mse"},
                                         {OptionKey::compat, "compat", "compat=mase|mase-cuda"}}};

constexpr std::pair<std::string_view, ScaleRule> kRules[] = {
    {"floor", ScaleRule::floor}, {"rceil", ScaleRule::rceil}, {"even", ScaleRule::even}, {"mse", ScaleRule::mse}};

constexpr std::pair<std::string_view, ScaleType> kScaleTypes[] = {
    {"fp32", ScaleType::f32}, {"fp16", ScaleType::fp16}, {"bf16", ScaleType::bf16}, {"u4", ScaleType::u4},
    {"u6", ScaleType::u6},    {"i6", ScaleType::i6},     {"i8", ScaleType::i8}};

template <class Value>
const Value* find_word(std::span<const std::pair<std::string_view, Value>> words, std::string_view word) {
  const auto found = std::ranges::find(words, word, &std::pair<std::string_view, Value>::first);
  return found == words.end() ? nullptr : &found->second;
}

template <class Value>
std::string_view word_of(std::span<const std::pair<std::string_view, Value>> words, Value value) {
  return std::ranges::find(words, value, &std::pair<std::string_view, Value>::second)->first;
}

const KeyName& entry(OptionKey key) { return *std::ranges::find(kKeys, key, &KeyName::key); }

struct ParsedOption {
  OptionKey key;
  int number = 0, columns = 0;
  std::string_view word;
};

// "g32" or "g8x16"; g1x32 is g32.
std::optional<ParsedOption> parse_group(std::string_view sizes) {
  const size_t cross = sizes.find('x');
  if (cross == std::string_view::npos) {
    const std::optional<int> n = read_nat(sizes);
    if (!n) return std::nullopt;
    return ParsedOption{OptionKey::g, 1, *n, {}};
  }
  const std::optional<int> rows = read_nat(sizes.substr(0, cross)), columns = read_nat(sizes.substr(cross + 1));
  if (!rows || !columns) return std::nullopt;
  if (*rows == 1 && *columns != 0) return ParsedOption{OptionKey::g, 1, *columns, {}};
  return ParsedOption{OptionKey::tile, *rows, *columns, {}};
}

std::optional<ParsedOption> parse_number(OptionKey key, std::optional<int> number) {
  if (!number) return std::nullopt;
  return ParsedOption{key, *number, 0, {}};
}

// What an option is by its spelling; none when the grammar has no such option.
std::optional<ParsedOption> parse_option(std::string_view text) {
  for (OptionKey word : {OptionKey::tensor, OptionKey::channel, OptionKey::asym})
    if (text == entry(word).name) return ParsedOption{word, 0, 0, {}};
  const size_t equals = text.find('=');
  for (OptionKey key : {OptionKey::s, OptionKey::m, OptionKey::round, OptionKey::rule, OptionKey::compat})
    if (equals != std::string_view::npos && text.substr(0, equals) == entry(key).name)
      return ParsedOption{key, 0, 0, text.substr(equals + 1)};
  if (text.starts_with("bias")) return parse_number(OptionKey::bias, read_int(text.substr(4)));
  if (text.starts_with("ax")) return parse_number(OptionKey::ax, read_int(text.substr(2)));
  if (text.starts_with("f")) return parse_number(OptionKey::f, read_int(text.substr(1)));
  if (text.starts_with("e")) return parse_number(OptionKey::e, read_nat(text.substr(1)));
  if (text.starts_with("g")) return parse_group(text.substr(1));
  return std::nullopt;
}

std::string list_of(std::initializer_list<OptionKey> keys) {
  std::string list;
  for (OptionKey key : keys)
    if (key != OptionKey::compat) list += (list.empty() ? "" : ", ") + std::string(entry(key).shape);
  return list.empty() ? "it takes no options" : "it takes: " + list;
}

[[noreturn]] void unknown_option(const FormatText& text, const FormatOption& option,
                                 std::initializer_list<OptionKey> allowed) {
  std::string advice = list_of(allowed);
  // ggml and others write block sizes as b32.
  if (option.text.starts_with('b') && read_nat(option.text.substr(1)))
    advice = fmt::format("write 'g{}' for the group size", option.text.substr(1));
  text.fail_at("E_OPT", option.position, fmt::format("unknown option '{}'; {}", option.text, advice));
}

class OptionReader {
 public:
  OptionReader(const FormatText& text, std::initializer_list<OptionKey> allowed) : text_(text), allowed_(allowed) {}

  FormatOptions read() {
    for (const FormatOption& option : text_.options) {
      const std::optional<ParsedOption> parsed = parse_option(option.text);
      if (!parsed) unknown_option(text_, option, allowed_);
      at_ = option.position;
      if (!allows(parsed->key))
        refuse("E_OPT",
               fmt::format("'{}' does not apply to {}; {}", entry(parsed->key).name, text_.head, list_of(allowed_)));
      if (std::ranges::find(seen_, parsed->key) != seen_.end())
        refuse("E_DUP", fmt::format("option '{}' is given twice; keep one", entry(parsed->key).name));
      seen_.push_back(parsed->key);
      take(*parsed);
    }
    return options_;
  }

 private:
  bool allows(OptionKey key) const { return std::ranges::find(allowed_, key) != allowed_.end(); }

  [[noreturn]] void refuse(const char* code, const std::string& message) { text_.fail_at(code, at_, message); }

  int within(const char* what, int value, int low, int high) {
    if (value < low || value > high) refuse("E_VALUE", fmt::format("{} must be in {}..{}", what, low, high));
    return value;
  }

  void set_geometry(Geometry geometry) {
    if (options_.geometry) refuse("E_CONFLICT", "the geometry is given twice; keep one of tensor, channel, g<N>");
    options_.geometry = geometry;
  }

  void take(const ParsedOption& option) {
    switch (option.key) {
      case OptionKey::f:
        options_.f = within("fraction bits", option.number, -64, 64);
        break;
      case OptionKey::bias:
        options_.bias = within("the bias", option.number, -1024, 1024);
        break;
      case OptionKey::ax:
        options_.ax = within("the axis", option.number, -8, 7);
        break;
      case OptionKey::e:
        options_.e = within("shared exponent width", option.number, 2, 8);
        break;
      case OptionKey::asym:
        options_.asym = true;
        break;
      case OptionKey::tensor:
        set_geometry(tensor_geometry());
        break;
      case OptionKey::channel:
        set_geometry({.kind = Geometry::Kind::channel, .axis = 0});
        break;
      case OptionKey::g:
        set_geometry(group_geometry(within("group size", option.columns, 1, 65536)));
        break;
      case OptionKey::tile:
        take_tile(option);
        break;
      case OptionKey::round:
        take_round(option.word);
        break;
      case OptionKey::rule:
        if (const ScaleRule* rule = find_word<ScaleRule>(kRules, option.word)) options_.rule = *rule;
        else refuse("E_VALUE", "rule must be floor, rceil, even or mse");
        break;
      case OptionKey::s:
        if (const ScaleType* type = find_word<ScaleType>(kScaleTypes, option.word)) options_.scale_type = *type;
        else
          refuse("E_VALUE",
                 fmt::format("s, the type of stored scales, must be fp32, fp16{}",
                             allows(OptionKey::m) ? ", bf16, or of two levels i6, i8, u4 or u6" : " or bf16"));
        if (is_two_level(options_.scale_type) && !allows(OptionKey::m))
          refuse("E_VALUE", fmt::format("{} has no scales of two levels; s must be fp32, fp16 or bf16", text_.head));
        break;
      case OptionKey::m:
        if (const ScaleType* type = find_word<ScaleType>(kScaleTypes, option.word)) options_.minimum_type = *type;
        else refuse("E_VALUE", "m, the type of stored minimums, must be fp16, u4 or u6");
        break;
      case OptionKey::compat:
        break;  // judged by the family
    }
  }

  void take_tile(const ParsedOption& option) {
    within("tile rows", option.number, 0, 65536);
    within("tile columns", option.columns, 0, 65536);
    set_geometry({.kind = Geometry::Kind::tile, .rows = option.number, .columns = option.columns});
  }

  void take_round(std::string_view word) {
    if (word != "even" && word != "floor") refuse("E_VALUE", "round must be even or floor");
    options_.round_floor = word == "floor";
  }

  const FormatText& text_;
  std::initializer_list<OptionKey> allowed_;
  std::vector<OptionKey> seen_;
  FormatOptions options_;
  size_t at_ = 0;
};

std::string error_text(const std::string& code, std::string_view text, size_t position, const std::string& message) {
  return fmt::format("{}: format '{}': {}\n  {}\n  {}^", code, text, message, text, std::string(position, ' '));
}

}  // namespace

FormatError::FormatError(std::string code, std::string_view text, size_t position, const std::string& message)
    : Error(error_text(code, text, position, message)), code(std::move(code)), position(position) {}

FormatText::FormatText(std::string_view text) : text(text) {
  if (text.empty()) fail_at("E_SYNTAX", 0, "empty; expected a head and options, such as mxint8 or int4.g128");
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (upper(c)) {
      std::string lower(text);
      std::ranges::transform(lower, lower.begin(), [&](char u) { return upper(u) ? char(u - 'A' + 'a') : u; });
      fail_at("E_SYNTAX", i, fmt::format("formats are written in lower case: {}", lower));
    }
    if (!(c >= 'a' && c <= 'z') && !is_digit(c) && c != '.' && c != '_' && c != '=' && c != '-')
      fail_at("E_SYNTAX", i, "expected lower-case letters, digits and dots: head{.option}");
  }
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    if (end == begin)
      fail_at("E_SYNTAX", std::min(begin, text.size() - 1),
              "an empty part; expected head{.option} with one dot between");
    if (begin == 0) head = text.substr(0, end);
    else options.push_back({text.substr(begin, end - begin), begin});
    begin = end + 1;
  }
}

size_t FormatText::position_of(OptionKey key) const {
  for (const FormatOption& option : options) {
    const std::optional<ParsedOption> parsed = parse_option(option.text);
    if (parsed && parsed->key == key) return option.position;
  }
  return std::string_view::npos;
}

bool FormatText::asks_for(std::string_view option) const {
  return std::ranges::find(options, option, &FormatOption::text) != options.end();
}

std::string FormatText::without(OptionKey key) const {
  std::string rest(head);
  for (const FormatOption& option : options) {
    const std::optional<ParsedOption> parsed = parse_option(option.text);
    if (!parsed || parsed->key != key) rest += fmt::format(".{}", option.text);
  }
  return rest;
}

int FormatText::head_number(std::string_view digits) const {
  const std::optional<int> number = read_nat(digits);
  if (!number)
    fail_at("E_SYNTAX", static_cast<size_t>(digits.data() - text.data()), "a leading zero in a width; leave it out");
  return *number;
}

std::optional<int> FormatText::width_after(std::string_view prefix) const {
  const std::string_view name = sound_head();
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = name.substr(prefix.size());
  if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  return head_number(digits);
}

std::optional<std::pair<int, int>> FormatText::exponent_mantissa_after(std::string_view prefix) const {
  const std::string_view name = sound_head();
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string_view rest = name.substr(prefix.size());
  const size_t m = rest.find('m');
  if (m == std::string_view::npos) return std::nullopt;
  const std::string_view e_digits = rest.substr(0, m), m_digits = rest.substr(m + 1);
  for (std::string_view digits : {e_digits, m_digits})
    if (digits.empty() || !std::ranges::all_of(digits, is_digit)) return std::nullopt;
  return std::pair(head_number(e_digits), head_number(m_digits));
}

void FormatText::check_width(const char* what, int value, int low, int high) const {
  if (value >= low && value <= high) return;
  const auto first = std::ranges::find_if(head, is_digit);
  fail_at("E_WIDTH", static_cast<size_t>(first - head.begin()), fmt::format("{} must be in {}..{}", what, low, high));
}

void FormatText::fail_at(const char* code, size_t position, const std::string& message) const {
  throw FormatError(code, text, position, message);
}

FormatOptions read_options(const FormatText& text, std::initializer_list<OptionKey> allowed) {
  return OptionReader(text, allowed).read();
}

Geometry tensor_geometry() { return {.kind = Geometry::Kind::tensor}; }
Geometry group_geometry(int64_t columns) { return {.kind = Geometry::Kind::group, .columns = columns}; }

Geometry resolve_geometry(const FormatText& text, const FormatOptions& options, const Geometry& otherwise) {
  Geometry geometry = options.geometry.value_or(otherwise);
  if (!options.ax) return geometry;
  const size_t at = text.position_of(OptionKey::ax);
  if (geometry.kind == Geometry::Kind::tile)
    text.fail_at("E_CONFLICT", at, "tiles lie on the last two axes; drop 'ax'");
  if (geometry.kind != Geometry::Kind::channel && geometry.kind != Geometry::Kind::group)
    text.fail_at("E_CONFLICT", at, "'ax' needs a channel or group geometry; add 'channel' or 'g<N>', or drop it");
  geometry.axis = *options.ax;
  return geometry;
}

std::string geometry_suffix(const Geometry& geometry, const Geometry& otherwise) {
  using Kind = Geometry::Kind;
  const bool same =
      geometry.kind == otherwise.kind && geometry.rows == otherwise.rows && geometry.columns == otherwise.columns;
  std::string text;
  if (!same) switch (geometry.kind) {
      case Kind::none:
        break;
      case Kind::tensor:
        text = ".tensor";
        break;
      case Kind::channel:
        text = ".channel";
        break;
      case Kind::group:
      case Kind::flattened:
        text = fmt::format(".g{}", geometry.columns);
        break;
      case Kind::tile:
        text = fmt::format(".g{}x{}", geometry.rows, geometry.columns);
        break;
    }
  if ((geometry.kind == Kind::channel && geometry.axis != 0) || (geometry.kind == Kind::group && geometry.axis != -1))
    text += fmt::format(".ax{}", geometry.axis);
  return text;
}

std::string rule_suffix(ScaleRule rule) {
  if (rule == ScaleRule::floor) return "";
  return fmt::format(".rule={}", word_of<ScaleRule>(kRules, rule));
}

std::string scale_type_suffix(ScaleType type) {
  if (type == ScaleType::f32) return "";
  return fmt::format(".s={}", scale_type_name(type));
}

std::string_view scale_type_name(ScaleType type) { return word_of<ScaleType>(kScaleTypes, type); }

// What keeps a value of two levels, or with a minimum, exact but for one addition: fp16 (11 bits) times an integer of
// up to 7 bits times a code fits the 24 bits of f32.
void check_scale_types(const FormatText& text, const FormatOptions& options, const Format& format) {
  const ScaleType s = options.scale_type;
  const bool unsigned_steps = s == ScaleType::u4 || s == ScaleType::u6;
  const auto conflict = [&](OptionKey key, const std::string& message) {
    text.fail_at("E_CONFLICT", text.position_of(key), message);
  };
  if (options.minimum_type) {
    if (*options.minimum_type != s || (s != ScaleType::fp16 && !unsigned_steps))
      conflict(OptionKey::m, "scales and minimums have one type: s=fp16.m=fp16, s=u4.m=u4 or s=u6.m=u6");
    if (format.geometry.kind != Geometry::Kind::group) conflict(OptionKey::m, "'m' needs groups; add 'g<N>'");
    if (format.element.bits > 8) conflict(OptionKey::m, "'m' needs codes of at most 8 bits");
  } else if (unsigned_steps) {
    conflict(OptionKey::s,
             fmt::format("scales of {} go with a minimum; add 'm={}'", scale_type_name(s), scale_type_name(s)));
  }
  if (!is_two_level(s)) return;
  if (format.geometry.kind != Geometry::Kind::group || kSuperBlock % format.geometry.columns != 0)
    conflict(OptionKey::s,
             fmt::format("scales of {} need groups that divide {}, such as g32", scale_type_name(s), kSuperBlock));
  if (format.element.bits > 6 && !format.element.table)
    conflict(OptionKey::s, fmt::format("scales of {} need codes of at most 6 bits", scale_type_name(s)));
}

}  // namespace hone
