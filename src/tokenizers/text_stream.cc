#include "tokenizers/text_stream.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizers/byte_alphabet.h"
#include "tokenizers/json_parts.h"
#include "tokenizers/text_steps.h"
#include "tokenizers/utf8_stream.h"

namespace hone {
namespace {

using Texts = std::vector<std::string>;
using Steps = std::vector<std::unique_ptr<DecoderStep>>;

// Steps could make any size of a token, one behind the other.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  constexpr size_t kMost = size_t{1} << 24;
  size_t at = text.find(from);
  if (at == std::string::npos) return text;
  std::string out;
  size_t done = 0;
  for (; at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done).append(to);
    done = at + from.size();
    if (out.size() + text.size() - done > kMost) fail("the decoder makes more than {} bytes of a token", kMost);
  }
  return out.append(text, done);
}

// Bytes in GPT-2's alphabet. A token with any other character is text, as added tokens are.
class ByteLevel final : public DecoderStep {
 public:
  std::unique_ptr<DecoderStep> fresh() const override { return std::make_unique<ByteLevel>(); }
  void add(std::string_view token, Texts& out) override { out.push_back(text_.add(bytes_of(token))); }
  void finish(Texts& out) override { out.push_back(text_.finish()); }

 private:
  static std::string bytes_of(std::string_view token) {
    std::string bytes;
    for (size_t at = 0; at < token.size();) {
      const auto byte = byte_of_letter(next_code_point(token, at));
      if (!byte) return std::string(token);
      bytes += static_cast<char>(*byte);
    }
    return bytes;
  }
  Utf8Stream text_;
};

// Tokens <0xAB> are bytes.
class ByteFallback final : public DecoderStep {
 public:
  std::unique_ptr<DecoderStep> fresh() const override { return std::make_unique<ByteFallback>(); }
  void add(std::string_view token, Texts& out) override {
    const bool is_byte = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>');
    const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; };
    const int high = is_byte ? digit(token[3]) : -1, low = is_byte ? digit(token[4]) : -1;
    if (high >= 0 && low >= 0) {
      const char byte = static_cast<char>(high << 4 | low);
      return put(text_.add({&byte, 1}), out);
    }
    finish(out);
    out.emplace_back(token);
  }
  void finish(Texts& out) override { put(text_.finish(), out); }

 private:
  static void put(std::string text, Texts& out) {
    if (!text.empty()) out.push_back(std::move(text));
  }
  Utf8Stream text_;
};

// WordPiece: words with blanks between, parts of words joined.
class WordPiece final : public DecoderStep {
 public:
  WordPiece(std::string prefix, bool cleans) : prefix_(std::move(prefix)), cleans_(cleans) {}
  std::unique_ptr<DecoderStep> fresh() const override { return std::make_unique<WordPiece>(prefix_, cleans_); }
  void add(std::string_view token, Texts& out) override {
    std::string text(token);
    if (!is_first_) text = token.starts_with(prefix_) ? text.substr(prefix_.size()) : " " + text;
    is_first_ = false;
    if (cleans_) text = cleaned(std::move(text));
    out.push_back(std::move(text));
  }

 private:
  static std::string cleaned(std::string text) {
    constexpr std::pair<const char*, const char*> kRules[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : kRules) text = replaced(std::move(text), from, to);
    return text;
  }
  std::string prefix_;
  bool cleans_, is_first_ = true;
};

// The mark in front of words is a blank, but for that of the first.
class Metaspace final : public DecoderStep {
 public:
  Metaspace(std::string mark, bool has_prefix) : mark_(std::move(mark)), has_prefix_(has_prefix) {}
  std::unique_ptr<DecoderStep> fresh() const override { return std::make_unique<Metaspace>(mark_, has_prefix_); }
  void add(std::string_view token, Texts& out) override {
    out.push_back(replaced(std::string(token), mark_, is_first_ && has_prefix_ ? "" : " "));
    is_first_ = false;
  }

 private:
  std::string mark_;
  bool has_prefix_, is_first_ = true;
};

class Replace final : public DecoderStep {
 public:
  Replace(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  std::unique_ptr<DecoderStep> fresh() const override { return std::make_unique<Replace>(from_, to_); }
  void add(std::string_view token, Texts& out) override { out.push_back(replaced(std::string(token), from_, to_)); }

 private:
  std::string from_, to_;
};

// Takes up to `start` and `stop` of a character off both ends of each token; behind Fuse, off the begin of the text.
class Strip final : public DecoderStep {
 public:
  Strip(std::string character, size_t start, size_t stop, bool is_fused)
      : character_(std::move(character)), start_(start), stop_(stop), is_fused_(is_fused), left_(start) {}
  std::unique_ptr<DecoderStep> fresh() const override {
    return std::make_unique<Strip>(character_, start_, stop_, is_fused_);
  }
  void add(std::string_view token, Texts& out) override {
    if (!is_fused_) left_ = start_;
    for (; left_ > 0 && token.starts_with(character_); --left_) token.remove_prefix(character_.size());
    if (!token.empty()) left_ = 0;
    for (size_t i = 0; i < stop_ && token.ends_with(character_); ++i) token.remove_suffix(character_.size());
    out.emplace_back(token);
  }

 private:
  std::string character_;
  size_t start_, stop_;
  bool is_fused_;
  size_t left_;  // still to take off
};

// The suffix of words is a blank, but for the last word's.
class Suffix final : public DecoderStep {
 public:
  explicit Suffix(std::string suffix) : suffix_(std::move(suffix)) {}
  std::unique_ptr<DecoderStep> fresh() const override { return std::make_unique<Suffix>(suffix_); }
  void add(std::string_view token, Texts& out) override {
    if (held_) out.push_back(replaced(*held_, suffix_, " "));
    held_ = token;
  }
  void finish(Texts& out) override {
    if (held_) out.push_back(replaced(*held_, suffix_, ""));
    held_.reset();
  }

 private:
  std::string suffix_;
  std::optional<std::string> held_;
};

// Without a decoder, tokens are words.
class Words final : public DecoderStep {
 public:
  std::unique_ptr<DecoderStep> fresh() const override { return std::make_unique<Words>(); }
  void add(std::string_view token, Texts& out) override {
    out.push_back((is_first_ ? "" : " ") + std::string(token));
    is_first_ = false;
  }

 private:
  bool is_first_ = true;
};

std::unique_ptr<DecoderStep> read_metaspace(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"replacement"}, {"add_prefix_space"}, {"prepend_scheme"}, {"split"}, {"str_rep"}},
             source);
  const bool prefix = get_or(json, "add_prefix_space", true, source);
  const auto scheme = get_or<std::string>(json, "prepend_scheme", prefix ? "always" : "never", source);
  const auto mark = get_or<std::string>(json, "replacement", "▁", source);
  if (mark.empty()) fail("{}: replacement is empty", source);
  if (scheme != "always" && scheme != "first" && scheme != "never")
    fail("{}: prepend_scheme \"{}\"; expected always, first or never", source, scheme);
  return std::make_unique<Metaspace>(mark, scheme != "never");
}

std::unique_ptr<DecoderStep> read_replace(const Json& json, const std::string& source) {
  check_keys(json, {{"type"}, {"pattern"}, {"content"}}, source);
  const auto pattern = json_get<Json>(json, "pattern", source);
  const auto from = json_get<std::string>(pattern, "String", source);
  const auto to = json_get<std::string>(json, "content", source);
  if (from.empty() || to.size() > kLongestContent)
    fail("{}: the pattern is empty, or content longer than {} bytes", source, kLongestContent);
  return std::make_unique<Replace>(from, to);
}

std::unique_ptr<DecoderStep> read_strip(const Json& json, bool is_fused, const std::string& source) {
  check_keys(json, {{"type"}, {"content"}, {"start"}, {"stop"}}, source);
  const auto start = get_or<int64_t>(json, "start", 0, source), stop = get_or<int64_t>(json, "stop", 0, source);
  const auto content = json_get<std::string>(json, "content", source);
  if (content.empty() || start < 0 || stop < 0) fail("{}: content, start or stop is empty or below 0", source);
  if (is_fused && stop > 0)
    fail("{}: stop is {} behind Fuse or ByteLevel, which is not supported; accepted: 0", source, stop);
  return std::make_unique<Strip>(content, static_cast<size_t>(start), static_cast<size_t>(stop), is_fused);
}

void read_steps(const Json& json, const std::string& source, bool& is_fused, Steps& out) {
  const std::string type = type_of(json, source);
  const std::string place = fmt::format("{}: {}", source, type);
  // Behind these, the library has the whole text as one token.
  if (is_fused && type != "Sequence" && type != "Strip" && type != "Fuse")
    fail("{}: type \"{}\" behind Fuse or ByteLevel is not supported; supported there: Strip, Fuse, Sequence", source,
         type);
  if (type == "Sequence") {
    check_keys(json, {{"type"}, {"decoders"}}, place);
    for (const Json& each : json_get<Json>(json, "decoders", place)) read_steps(each, place, is_fused, out);
  } else if (type == "ByteLevel") {
    check_keys(json, {{"type"}, {"add_prefix_space"}, {"trim_offsets"}, {"use_regex"}}, place);
    out.push_back(std::make_unique<ByteLevel>());
    is_fused = true;
  } else if (type == "ByteFallback") {
    check_keys(json, {{"type"}}, place);
    out.push_back(std::make_unique<ByteFallback>());
  } else if (type == "WordPiece") {
    check_keys(json, {{"type"}, {"prefix"}, {"cleanup"}}, place);
    out.push_back(std::make_unique<WordPiece>(get_or<std::string>(json, "prefix", "##", place),
                                              get_or(json, "cleanup", true, place)));
  } else if (type == "Metaspace") {
    out.push_back(read_metaspace(json, place));
  } else if (type == "Replace") {
    out.push_back(read_replace(json, place));
  } else if (type == "Strip") {
    out.push_back(read_strip(json, is_fused, place));
  } else if (type == "BPEDecoder") {
    check_keys(json, {{"type"}, {"suffix"}}, place);
    const auto suffix = get_or<std::string>(json, "suffix", "</w>", place);
    if (suffix.empty()) fail("{}: suffix is empty", place);
    out.push_back(std::make_unique<Suffix>(suffix));
  } else if (type == "Fuse") {
    check_keys(json, {{"type"}}, place);
    is_fused = true;
  } else if (type.empty()) {
    out.push_back(std::make_unique<Words>());
  } else {
    fail(
        "{}: type \"{}\" is not supported; supported: Sequence, ByteLevel, ByteFallback, WordPiece, Metaspace, "
        "Replace, "
        "Strip, BPEDecoder, Fuse",
        source, type);
  }
}

}  // namespace

TokenTexts::TokenTexts(const Vocabulary& vocabulary, const std::vector<AddedToken>& added, const Json& decoder,
                       const std::string& source) {
  int64_t largest = vocabulary.largest_id();
  for (const AddedToken& token : added) largest = std::max(largest, token.id);
  // Ids leave few gaps in any real file; a table of all is what a foreign number must not make large.
  const auto most = static_cast<int64_t>(vocabulary.size() + added.size()) * 4 + 65536;
  if (largest > most)
    fail("{}: the largest id is {}, and there are {} tokens", source, largest, vocabulary.size() + added.size());
  tokens_.resize(static_cast<size_t>(largest + 1));
  known_.resize(tokens_.size());
  special_.resize(tokens_.size());
  const auto put = [&](int64_t id, std::string_view text) {
    tokens_[static_cast<size_t>(id)] = text;
    known_[static_cast<size_t>(id)] = true;
  };
  for (size_t i = 0; i < vocabulary.size(); ++i) put(vocabulary.entry(i).id, vocabulary.entry(i).text);
  for (const AddedToken& token : added) {
    put(token.id, token.text);
    special_[static_cast<size_t>(token.id)] = token.special;
  }
  bool is_fused = false;
  read_steps(decoder, source, is_fused, steps_);
}

std::string_view TokenTexts::token(int64_t id) const {
  if (id < 0 || id >= std::ssize(tokens_) || !known_[static_cast<size_t>(id)])
    fail("{} is the id of no token; there are {}", id, std::ranges::count(known_, true));
  return tokens_[static_cast<size_t>(id)];
}

Steps TokenTexts::steps() const {
  Steps fresh;
  for (const auto& step : steps_) fresh.push_back(step->fresh());
  return fresh;
}

TextStream::TextStream(std::shared_ptr<const TokenTexts> texts, bool skip_special)
    : texts_(std::move(texts)), skip_special_(skip_special), steps_(texts_->steps()) {}

// What becomes of texts by this step and those behind it.
std::string TextStream::through(size_t step, Texts texts) {
  for (; step < steps_.size(); ++step) {
    Texts next;
    for (const std::string& text : texts) steps_[step]->add(text, next);
    texts = std::move(next);
  }
  std::string joined;
  for (const std::string& text : texts) joined += text;
  return joined;
}

std::string TextStream::add(int64_t id) {
  const std::string_view token = texts_->token(id);
  if (skip_special_ && texts_->is_special(id)) return "";
  return through(0, {std::string(token)});
}

std::string TextStream::finish() {
  std::string out;
  for (size_t step = 0; step < steps_.size(); ++step) {
    Texts held;
    steps_[step]->finish(held);
    out += through(step + 1, std::move(held));
  }
  return out;
}

}  // namespace hone
