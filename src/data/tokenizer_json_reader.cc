#include "data/tokenizer_json_reader.h"

#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/stop.h"

namespace hone {
namespace {

constexpr size_t kMaxDepth = 64;

class Events : public nlohmann::json_sax<Json> {
 public:
  Events(const std::string& source, Vocabulary& vocabulary) : source_(source), vocabulary_(vocabulary) {}

  Json root;

  bool null() override { return leaf(nullptr); }
  bool boolean(bool value) override { return leaf(value); }
  bool number_integer(number_integer_t value) override { return leaf(value); }
  bool number_float(number_float_t value, const string_t&) override { return leaf(value); }
  bool string(string_t& value) override { return leaf(std::move(value)); }
  bool binary(binary_t&) override { fail("{}: binary data", source_); }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_vocabulary()) return leaf(value);
    constexpr number_unsigned_t kLargest = std::numeric_limits<int32_t>::max();
    if (value > kLargest)
      fail("{}: vocabulary: \"{}\" has id {}; at most {} are accepted", source_, key_, value, kLargest);
    if (!vocabulary_.add(key_, static_cast<int64_t>(value)))
      fail("{}: vocabulary: duplicate token \"{}\"", source_, key_);
    return true;
  }

  bool key(string_t& text) override {
    key_.assign(text);  // leaves the lexer its buffer
    check_stop();
    if (!in_vocabulary() && !keys_.back().insert(key_).second) fail("{}: duplicate key \"{}\"", source_, key_);
    return true;
  }

  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& e) override {
    fail("{}: not valid JSON at byte {}: {}", source_, position, e.what());
  }

 private:
  bool in_vocabulary() const { return vocabulary_depth_ != 0 && open_.size() == vocabulary_depth_; }

  Json& place(Json value) {
    if (open_.empty()) return root = std::move(value);
    Json& parent = *open_.back();
    if (parent.is_array()) return parent.emplace_back(std::move(value));
    return parent.get_ref<Json::object_t&>().emplace_back(key_, std::move(value)).second;
  }

  bool leaf(Json value) {
    if (in_vocabulary())
      fail("{}: vocabulary: \"{}\" has id {}; expected an integer from 0", source_, key_, json_excerpt(value));
    place(std::move(value));
    return true;
  }

  // A parent does not grow while its child is open, so the pointers stay valid.
  bool open(Json value) {
    if (open_.size() == kMaxDepth) fail("{}: JSON nested deeper than {}", source_, kMaxDepth);
    if (in_vocabulary()) fail("{}: vocabulary: \"{}\" is not an id; expected an integer from 0", source_, key_);
    const bool vocabulary = open_.size() == 2 && value.is_object() && key_ == "vocab" && open_[1] == model_;
    Json& placed = place(std::move(value));
    if (open_.size() == 1 && key_ == "model") model_ = &placed;
    open_.push_back(&placed);
    keys_.emplace_back();
    if (vocabulary) vocabulary_depth_ = open_.size();
    return true;
  }

  bool close() {
    if (in_vocabulary()) vocabulary_depth_ = 0;
    if (open_.size() == 2) model_ = nullptr;
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  const std::string& source_;
  Vocabulary& vocabulary_;
  std::vector<Json*> open_;                            // from the root inward
  std::vector<std::unordered_set<std::string>> keys_;  // of each
  const Json* model_ = nullptr;
  std::string key_;
  size_t vocabulary_depth_ = 0;  // of the object that holds the vocabulary while it is open
};

}  // namespace

Json read_tokenizer_json(std::string_view text, const std::string& source, Vocabulary& vocabulary) {
  constexpr size_t kBytesPerEntry = 12;  // at least: quotes, colon, comma, a token and an id of a few characters each
  vocabulary.reserve(text.size() / kBytesPerEntry, text.size());
  Events events(source, vocabulary);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  return std::move(events.root);
}

}  // namespace hone
