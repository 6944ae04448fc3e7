#include "base/json.h"

#include <string>
#include <unordered_set>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/printable.h"
#include "base/stop.h"

namespace hone {
namespace {

// Builds the value by events: nlohmann's own reader looks through all keys of an object for each further one, which
// takes minutes for an index of a million tensors.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const std::string& source) : source_(source) {}

  Json root;

  bool null() override { return leaf(nullptr); }
  bool boolean(bool value) override { return leaf(value); }
  bool number_integer(number_integer_t value) override { return leaf(value); }
  bool number_unsigned(number_unsigned_t value) override { return leaf(value); }
  bool number_float(number_float_t value, const string_t&) override { return leaf(value); }
  bool string(string_t& value) override { return leaf(std::move(value)); }
  bool binary(binary_t&) override { fail("{}: binary data", source_); }

  bool key(string_t& text) override {
    check_stop();
    if (!open_.back().keys.insert(text).second) fail("{}: duplicate key \"{}\"", source_, text);
    key_ = std::move(text);
    return true;
  }

  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(size_t, const std::string&, const nlohmann::json::exception& e) override {
    fail("{}: not valid JSON: {}", source_, e.what());
  }

 private:
  struct Open {
    Json* value;
    std::unordered_set<std::string> keys;
  };

  Json& place(Json value) {
    if (open_.empty()) return root = std::move(value);
    Json& parent = *open_.back().value;
    if (parent.is_array()) return parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
    return parent.get_ref<Json::object_t&>().emplace_back(std::move(key_), std::move(value)).second;
  }

  bool leaf(Json value) {
    place(std::move(value));
    return true;
  }

  // A parent does not grow while its child is open, so the pointers stay valid.
  bool open(Json value) {
    constexpr size_t kMaxDepth = 64;
    if (open_.size() == kMaxDepth) fail("{}: JSON nested deeper than {}", source_, kMaxDepth);
    open_.push_back({&place(std::move(value)), {}});
    return true;
  }

  bool close() {
    check_stop();
    open_.pop_back();
    return true;
  }

  const std::string& source_;
  std::vector<Open> open_;  // from the root inward
  std::string key_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  Builder builder(source);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder.root);
}

std::string json_excerpt(const Json& value) {
  constexpr size_t kMost = 200;
  return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace), kMost);
}

Json read_json_file(const std::string& path) {
  constexpr size_t kMost = size_t{256} << 20;
  return parse_json(read_file(path, kMost), path);
}

}  // namespace hone
