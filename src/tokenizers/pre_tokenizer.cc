#include "tokenizers/pre_tokenizer.h"

#include <algorithm>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/json_parts.h"
#include "tokenizers/runs.h"
#include "tokenizers/split_patterns.h"
#include "tokenizers/text_steps.h"
#include "tokenizers/unicode.h"

namespace hone {
namespace {

void take_part(const Piece& piece, size_t begin, size_t end, const TakePiece& take) {
  if (begin < end) take(piece.part(begin, end));
}

AlignedText copy_of(const Piece& piece) {
  AlignedText text{.text = std::string(piece.text), .origins = {}, .followed = piece.origins != nullptr};
  if (text.followed) text.origins.assign(piece.origins, piece.origins + piece.text.size());
  return text;
}
Piece piece_of(const AlignedText& text, bool is_first) {
  return {text.text, text.followed ? text.origins.data() : nullptr, is_first};
}

// What becomes of what a pattern matches: hidden from the model, a piece of its own, or part of a neighbour.
enum class Behaviour { removed, isolated, with_previous, with_next, contiguous };

// `find(text, from)` gives the first match that begins at byte `from` or later.
template <class Find>
class Split final : public PreTokenizer {
 public:
  Split(Find find, Behaviour behaviour, bool invert) : find_(std::move(find)), behaviour_(behaviour), invert_(invert) {}

  void split(const Piece& piece, const TakePiece& take) const override {
    size_t begin = 0;  // of the part that is open
    bool was_match = false, is_open = false;
    const auto add = [&](size_t from, size_t to, bool is_match) {
      if (from == to) return;
      if (behaviour_ == Behaviour::removed || behaviour_ == Behaviour::isolated) {
        if (behaviour_ == Behaviour::isolated || !is_match) take_part(piece, from, to, take);
        return;
      }
      const bool joins = is_open && (behaviour_ == Behaviour::with_previous ? is_match && !was_match
                                     : behaviour_ == Behaviour::with_next   ? was_match && !is_match
                                                                            : is_match == was_match);
      if (!joins) {
        if (is_open) take_part(piece, begin, from, take);
        begin = from;
      }
      is_open = true, was_match = is_match;
    };
    size_t at = 0;
    for (Span match = find_(piece.text, at); match.begin < match.end; match = find_(piece.text, at)) {
      add(at, match.begin, invert_);
      add(match.begin, match.end, !invert_);
      at = match.end;
    }
    add(at, piece.text.size(), invert_);
    if (is_open) take_part(piece, begin, piece.text.size(), take);
  }

 private:
  Find find_;
  Behaviour behaviour_;
  bool invert_;
};
template <class Find>
std::shared_ptr<const PreTokenizer> make_split(Find find, Behaviour behaviour, bool invert = false) {
  return std::make_shared<Split<Find>>(std::move(find), behaviour, invert);
}

Span next_match(Matcher match, std::string_view text, size_t from) {
  for (size_t at = from; at < text.size(); at += utf8_length(text[at]))
    if (const size_t end = match(text, at); end > at) return {at, end};
  return {};
}

Behaviour behaviour_of(const Json& json, const char* fallback, const std::string& source) {
  constexpr std::pair<const char*, Behaviour> kNames[] = {{"Removed", Behaviour::removed},
                                                          {"Isolated", Behaviour::isolated},
                                                          {"MergedWithPrevious", Behaviour::with_previous},
                                                          {"MergedWithNext", Behaviour::with_next},
                                                          {"Contiguous", Behaviour::contiguous}};
  const auto name = get_or<std::string>(json, "behavior", fallback, source);
  for (const auto& [known, behaviour] : kNames)
    if (name == known) return behaviour;
  fail(
      "{}: behavior \"{}\" is not supported; supported: Removed, Isolated, MergedWithPrevious, MergedWithNext, "
      "Contiguous",
      source, name);
}

using Splitter = std::shared_ptr<const PreTokenizer>;

Splitter read_split(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"pattern"}, {"behavior"}, {"invert"}}, source);
  const Behaviour behaviour = behaviour_of(json, "", source);
  const bool invert = get_or(json, "invert", false, source);
  const auto pattern = json_get<Json>(json, "pattern", source);
  if (!member(pattern, "String").is_null()) {
    const auto text = json_get<std::string>(pattern, "String", source);
    if (text.empty()) fail("{}: the pattern is empty", source);
    return make_split(
        [text](std::string_view in, size_t from) {
          const size_t at = in.find(text, from);
          return at == std::string_view::npos ? Span{} : Span{at, at + text.size()};
        },
        behaviour, invert);
  }
  const auto regex = json_get<std::string>(pattern, "Regex", source);
  if (const SplitPattern* known = find_split_pattern(regex))
    return make_split([match = known->match](std::string_view in, size_t from) { return next_match(match, in, from); },
                      behaviour, invert);
  if (const RunPattern* known = find_run_pattern(regex))
    return make_split([known](std::string_view in, size_t from) { return next_run(*known, in, from); }, behaviour,
                      invert);
  fail("{}: the pattern \"{}\" is not supported; supported: {}", source, regex, kSplitPatternNames);
}

// A class of characters: one at a time, or in runs.
Splitter characters(bool (*contains)(char32_t), bool one_by_one, Behaviour behaviour) {
  const RunPattern run{"", contains, 1, one_by_one ? 1 : static_cast<size_t>(-1)};
  return make_split([run](std::string_view in, size_t from) { return next_run(run, in, from); }, behaviour);
}

Splitter read_whitespace_split(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}}, source);
  return characters(is_whitespace, false, Behaviour::removed);
}

Splitter read_digits(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"individual_digits"}}, source);
  return characters(is_numeric, get_or(json, "individual_digits", false, source), Behaviour::isolated);
}

Splitter read_punctuation(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"behavior"}}, source);
  return characters(is_punctuation, true, behaviour_of(json, "Isolated", source));
}

// Words end at white space, which is dropped; each punctuation character is a word.
class BertSplit final : public PreTokenizer {
 public:
  void split(const Piece& piece, const TakePiece& take) const override {
    size_t start = 0;
    for (size_t at = 0; at < piece.text.size();) {
      const size_t begin = at;
      const char32_t c = next_code_point(piece.text, at);
      const bool space = is_whitespace(c);
      if (!space && !is_punctuation(c)) continue;
      take_part(piece, start, begin, take);
      if (!space) take_part(piece, begin, at, take);
      start = at;
    }
    take_part(piece, start, piece.text.size(), take);
  }
};

Splitter read_bert(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}}, source);
  return std::make_shared<BertSplit>();
}

// Blanks become `replacement`, which stands in front of the words.
class Metaspace final : public PreTokenizer {
 public:
  enum class Prepend { always, first, never };
  Metaspace(std::string replacement, Prepend prepend, bool splits)
      : replacement_(std::move(replacement)), prepend_(prepend), splits_(splits) {}

  bool needs_origins() const override { return prepend_ == Prepend::first; }

  void split(const Piece& piece, const TakePiece& take) const override {
    AlignedText text = copy_of(piece);
    if (text.text.find(' ') != std::string::npos) replace_blanks(text);
    const bool begins_original = piece.origins ? piece.origins[0].begin == 0 : piece.is_first;
    const bool prepends = prepend_ == Prepend::always || (prepend_ == Prepend::first && begins_original);
    if (prepends && !text.text.starts_with(replacement_)) prepend(text, replacement_);
    const Piece whole = piece_of(text, piece.is_first);
    if (!splits_) return take(whole);
    size_t begin = 0;
    for (size_t at = 0; (at = whole.text.find(replacement_, at)) != std::string_view::npos; at += replacement_.size()) {
      take_part(whole, begin, at, take);
      begin = at;
    }
    take_part(whole, begin, whole.text.size(), take);
  }

 private:
  void replace_blanks(AlignedText& text) const {
    const std::string_view source = text.text;
    Rewriter out(text);
    for (size_t at = 0; (at = source.find(' ', at)) != std::string_view::npos; ++at) {
      out.copy(at - out.at());
      out.skip(1);
      out.insert(replacement_);
    }
    out.copy(source.size() - out.at());
    out.finish();
  }

  std::string replacement_;
  Prepend prepend_;
  bool splits_;
};

Splitter read_metaspace(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"replacement"}, {"prepend_scheme"}, {"add_prefix_space"}, {"split"}, {"str_rep"}},
             source);
  const auto replacement = get_or<std::string>(json, "replacement", "▁", source);
  if (replacement.empty() || utf8_length(replacement[0]) != replacement.size())
    fail("{}: replacement \"{}\" is not one character", source, replacement);
  if (get_or(json, "str_rep", replacement, source) != replacement)
    fail("{}: str_rep is not the replacement \"{}\"; leave it out", source, replacement);
  // Files of before 2024 have add_prefix_space alone.
  const bool prefix = get_or(json, "add_prefix_space", true, source);
  const auto scheme = get_or<std::string>(json, "prepend_scheme", prefix ? "always" : "never", source);
  if (!prefix && scheme != "never")
    fail("{}: add_prefix_space is false, and prepend_scheme \"{}\"; make them agree", source, scheme);
  using Prepend = Metaspace::Prepend;
  const bool known = scheme == "always" || scheme == "first" || scheme == "never";
  if (!known) fail("{}: prepend_scheme \"{}\"; expected always, first or never", source, scheme);
  return std::make_shared<Metaspace>(replacement,
                                     scheme == "always"  ? Prepend::always
                                     : scheme == "first" ? Prepend::first
                                                         : Prepend::never,
                                     get_or(json, "split", true, source));
}

// Words by GPT-2's pattern; that they are read as bytes is the model's matter.
class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool adds_space, bool splits) : adds_space_(adds_space), splits_(splits) {}

  void split(const Piece& piece, const TakePiece& take) const override {
    if (!adds_space_ || piece.text.starts_with(' ')) return words(piece, take);
    AlignedText text = copy_of(piece);
    prepend(text, " ");
    words(piece_of(text, piece.is_first), take);
  }

 private:
  void words(const Piece& piece, const TakePiece& take) const {
    if (!splits_) return take(piece);
    for (size_t at = 0; at < piece.text.size();) {  // the pattern matches everywhere
      const size_t end = match_gpt2(piece.text, at);
      take_part(piece, at, end, take);
      at = end;
    }
  }
  bool adds_space_, splits_;
};

Splitter read_byte_level(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"add_prefix_space"}, {"trim_offsets"}, {"use_regex"}}, source);
  return std::make_shared<ByteLevel>(get_or(json, "add_prefix_space", true, source),
                                     get_or(json, "use_regex", true, source));
}

// Each step splits what the one before it has left.
class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(std::vector<Splitter> steps) : steps_(std::move(steps)) {}

  bool needs_origins() const override {
    return std::ranges::any_of(steps_, [](const Splitter& step) { return step->needs_origins(); });
  }
  void split(const Piece& piece, const TakePiece& take) const override { split_from(0, piece, take); }

 private:
  void split_from(size_t step, const Piece& piece, const TakePiece& take) const {
    if (step + 1 == steps_.size()) return steps_[step]->split(piece, take);
    steps_[step]->split(piece, [&, step](const Piece& part) { split_from(step + 1, part, take); });
  }
  std::vector<Splitter> steps_;
};

PreTokenizers read_sequence(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"pretokenizers"}}, source);
  std::vector<Splitter> steps;
  bool byte_level = false;
  for (const Json& each : json_get<Json>(json, "pretokenizers", source)) {
    if (byte_level) fail("{}: ByteLevel is not the last step, which is not supported", source);
    const PreTokenizers read = read_pre_tokenizer(each, source);
    if (read.split) steps.push_back(read.split);
    byte_level = read.byte_level;
  }
  if (steps.empty()) return {};
  return {steps.size() == 1 ? steps[0] : std::make_shared<Sequence>(std::move(steps)), byte_level};
}

struct Type {
  const char* name;
  Splitter (*read)(const Json&, const std::string&);
};
constexpr Type kTypes[] = {{"ByteLevel", read_byte_level},    {"Split", read_split},
                           {"Metaspace", read_metaspace},     {"Digits", read_digits},
                           {"Punctuation", read_punctuation}, {"WhitespaceSplit", read_whitespace_split},
                           {"BertPreTokenizer", read_bert}};

}  // namespace

PreTokenizers read_pre_tokenizer(const Json& json, const std::string& source) {
  const std::string type = type_of(json, source);
  if (type.empty()) return {};
  const std::string place = fmt::format("{}: {}", source, type);
  if (type == "Sequence") return read_sequence(json, place);
  const auto found = std::ranges::find(kTypes, type, &Type::name);
  if (found != std::end(kTypes)) return {found->read(json, place), type == "ByteLevel"};
  std::vector<std::string> names{"Sequence"};
  for (const Type& known : kTypes) names.emplace_back(known.name);
  fail("{}: type \"{}\" is not supported; supported: {}", source, type, fmt::join(names, ", "));
}

}  // namespace hone
