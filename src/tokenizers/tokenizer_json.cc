#include "tokenizers/tokenizer_json.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_set>

#include "base/error.h"
#include "base/json_events.h"
#include "base/stop.h"

namespace hone {
namespace {

class Events final : public JsonEvents {
 public:
  Events(const std::string& source, TokenizerJson& json) : source_(source), json_(json) {}

  void begin_object() override {
    open(Json::object());
    if (is_in_model("vocab")) big_ = Big::vocabulary, big_depth_ = open_.size();
  }

  void begin_array() override {
    if (big_ == Big::merges || big_ == Big::scores) return begin_row();
    open(Json::array());
    if (is_in_model("merges")) big_ = Big::merges, big_depth_ = open_.size();
    if (is_in_model("vocab")) big_ = Big::scores, big_depth_ = open_.size();
  }

  void end() override {
    if (in_row_) return end_row();
    if (open_.size() == big_depth_) big_ = Big::none, big_depth_ = 0;
    if (open_.size() == 2) model_ = nullptr;
    open_.pop_back();
    keys_.pop_back();
  }

  void key(std::string_view text) override {
    key_.assign(text);
    if (big_ == Big::none && !keys_.back().insert(key_).second) fail("{}: duplicate key \"{}\"", source_, key_);
  }

  void string(std::string_view text) override {
    if (big_ == Big::none) return leaf(std::string(text));
    if (big_ == Big::merges && !in_row_) return add_merge(text);
    if (big_ == Big::merges && row_.size() < 2) return row_.emplace_back(text), void();
    if (big_ == Big::scores && in_row_ && row_.empty()) return row_.emplace_back(text), void();
    refuse_entry(fmt::format("\"{}\"", text));
  }

  void number(std::string_view digits) override {
    if (big_ == Big::none) return leaf(value_of(digits));
    if (big_ == Big::vocabulary) return add_token(digits);
    if (big_ != Big::scores || row_.size() != 1 || has_score_) refuse_entry(digits);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), score_);
    if (error != std::errc()) refuse_entry(digits);
    has_score_ = true;
  }

  void literal(std::string_view name) override {
    if (big_ != Big::none) refuse_entry(name);
    if (name == "null") leaf(nullptr);
    else leaf(name == "true");
  }

 private:
  enum class Big { none, vocabulary, scores, merges };

  // What was opened last is a member of the model.
  bool is_in_model(const char* key) const {
    return big_ == Big::none && open_.size() == 3 && model_ && open_[1] == model_ && key_ == key;
  }

  [[noreturn]] void refuse_entry(std::string_view found) const {
    if (big_ == Big::merges)
      fail("{}: merges: number {} holds {}; expected two texts", source_, json_.merges.size(), found);
    if (big_ == Big::scores)
      fail("{}: vocabulary: token {} holds {}; expected a text and a number", source_, json_.scores.size(), found);
    fail("{}: vocabulary: \"{}\" has id {}; expected an integer from 0", source_, key_, found);
  }

  void add_token(std::string_view digits) {
    check_stop();
    int64_t id = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
    constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
    if (error == std::errc::result_out_of_range || id > kLargest)
      fail("{}: vocabulary: \"{}\" has id {}; at most {} are accepted", source_, key_, digits, kLargest);
    if (error != std::errc() || end != digits.data() + digits.size() || id < 0) refuse_entry(digits);
    if (!json_.vocabulary->add(key_, id)) fail("{}: vocabulary: duplicate token \"{}\"", source_, key_);
  }

  void add_merge(std::string_view text) {
    check_stop();
    const size_t blank = text.find(' ');
    if (blank == std::string_view::npos || text.find(' ', blank + 1) != std::string_view::npos)
      fail("{}: merges: number {} is \"{}\"; expected two texts with a blank between", source_, json_.merges.size(),
           text);
    json_.merges.add(text.substr(0, blank), text.substr(blank + 1));
  }

  void begin_row() {
    check_stop();
    if (in_row_) refuse_entry("a list");
    in_row_ = true, has_score_ = false;
    row_.clear();
  }

  void end_row() {
    in_row_ = false;
    if (big_ == Big::merges) {
      if (row_.size() != 2) refuse_entry(fmt::format("{} texts", row_.size()));
      return json_.merges.add(row_[0], row_[1]);
    }
    if (!has_score_) refuse_entry("no number");
    const auto id = std::ssize(json_.scores);
    if (!json_.vocabulary->add(row_[0], id)) fail("{}: vocabulary: duplicate token \"{}\"", source_, row_[0]);
    json_.scores.push_back(score_);
  }

  Json value_of(std::string_view digits) const {
    const char *begin = digits.data(), *last = begin + digits.size();
    if (digits.find_first_of(".eE") == std::string_view::npos) {
      if (uint64_t value = 0; std::from_chars(begin, last, value).ec == std::errc() && digits[0] != '-') return value;
      if (int64_t value = 0; std::from_chars(begin, last, value).ec == std::errc()) return value;
    }
    double value = 0;
    if (std::from_chars(begin, last, value).ec == std::errc::result_out_of_range) {
      value = std::strtod(std::string(digits).c_str(), nullptr);  // of what is too small it makes zero
      if (!std::isfinite(value)) fail("{}: not valid JSON: the number {} is too large", source_, digits);
    }
    return value;
  }

  Json& place(Json value) {
    if (open_.empty()) return json_.root = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_array()) return parent.emplace_back(std::move(value));
    return parent.get_ref<Json::object_t&>().emplace_back(key_, std::move(value)).second;
  }

  void leaf(Json value) { place(std::move(value)); }

  // A parent does not grow while its child is open, so the pointers stay valid.
  void open(Json value) {
    if (big_ != Big::none) refuse_entry(value.is_object() ? "an object" : "a list");
    Json& placed = place(std::move(value));
    if (open_.size() == 1 && key_ == "model") model_ = &placed;
    open_.push_back(&placed);
    keys_.emplace_back();
  }

  const std::string& source_;
  TokenizerJson& json_;
  std::vector<Json*> open_;                            // from the root inward
  std::vector<std::unordered_set<std::string>> keys_;  // of each
  const Json* model_ = nullptr;
  std::string key_;
  Big big_ = Big::none;   // what is open and goes into a table
  size_t big_depth_ = 0;  // of it
  // A list within it: a merge, or a token with its score.
  bool in_row_ = false, has_score_ = false;
  std::vector<std::string> row_;
  double score_ = 0;
};

}  // namespace

void MergeList::add(std::string_view left, std::string_view right) {
  for (const std::string_view text : {left, right}) {
    if (texts_.size() + text.size() > std::numeric_limits<uint32_t>::max()) fail("merges of more than 4 GiB of texts");
    texts_ += text;
    ends_.push_back(static_cast<uint32_t>(texts_.size()));
  }
}

std::string_view MergeList::part(size_t i) const {
  const size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(texts_).substr(begin, ends_[i] - begin);
}

TokenizerJson read_tokenizer_json(std::string_view text, const std::string& source) {
  TokenizerJson json;
  constexpr size_t kBytesPerEntry = 32;  // of the whole file, about, with merges
  json.vocabulary->reserve(text.size() / kBytesPerEntry, text.size() / 4);
  Events events(source, json);
  read_json_events(text, source, events);
  if (!json.root.is_object())
    fail("{}: holds {}; expected the object that the tokenizers library saves", source, json.root.type_name());
  return json;
}

std::string write_tokenizer_json(const TokenizerJson& json) {
  Json root = json.root;
  Json& model = root["model"];
  Json vocabulary = json.scores.empty() ? Json::object() : Json::array();
  for (size_t i = 0; i < json.vocabulary->size(); ++i) {
    const Vocabulary::Entry entry = json.vocabulary->entry(i);
    // Objects of this kind search when asked for a key; the keys are known to differ.
    if (json.scores.empty()) vocabulary.get_ref<Json::object_t&>().emplace_back(std::string(entry.text), entry.id);
    else vocabulary.push_back(Json::array({std::string(entry.text), json.scores[i]}));
  }
  model["vocab"] = std::move(vocabulary);
  if (json.merges.size() > 0 || model.contains("merges")) {
    Json merges = Json::array();
    for (size_t i = 0; i < json.merges.size(); ++i)
      merges.push_back(Json::array({std::string(json.merges[i].first), std::string(json.merges[i].second)}));
    model["merges"] = std::move(merges);
  }
  return root.dump();
}

}  // namespace hone
