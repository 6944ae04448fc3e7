// Which column is what (table_builder.h).
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "data/table_builder.h"

namespace hone {
namespace {

// The names that columns have in GLUE, in exports of Hugging Face's data sets, and where people write such files by
// hand, in lower case; the first that is there counts.
constexpr std::string_view kTexts[] = {"text",     "sentence1", "question1", "premise",  "question",
                                       "sentence", "review",    "content",   "#1 string"};
constexpr std::string_view kSecondTexts[] = {"text2", "sentence2", "question2", "hypothesis", "#2 string", "sentence"};
constexpr std::string_view kTokens[] = {"tokens", "words"};
constexpr std::string_view kTags[] = {"tags", "ner_tags", "pos_tags"};
constexpr std::string_view kLabel[] = {"label", "class", "category", "gold_label", "is_duplicate", "quality"};
constexpr std::string_view kLabels[] = {"labels"};
constexpr std::string_view kTarget[] = {"score", "target"};
constexpr std::string_view kGroup[] = {"group"};
constexpr std::string_view kSplit[] = {"split"};

class Finder {
 public:
  Finder(const std::string& source, std::span<const std::string> columns) : source_(source), columns_(columns) {
    for (const std::string& column : columns) {
      lower_.push_back(column);
      std::ranges::transform(lower_.back(), lower_.back().begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
  }

  // None when nothing is asked for.
  std::optional<size_t> named(const std::string& name, const char* option) const {
    if (name.empty()) return std::nullopt;
    const auto found = std::ranges::find(columns_, name);
    if (found == columns_.end())
      fail("{}: has no column \"{}\" (--{}); its columns are {}{}", source_, name, option, list(),
           did_you_mean(name, columns_));
    return static_cast<size_t>(found - columns_.begin());
  }

  std::optional<size_t> usual(std::span<const std::string_view> names) const {
    for (std::string_view name : names)
      if (const auto found = std::ranges::find(lower_, name); found != lower_.end())
        return static_cast<size_t>(found - lower_.begin());
    return std::nullopt;
  }

  std::string list() const { return fmt::format("{}", fmt::join(columns_, ", ")); }

 private:
  const std::string& source_;
  std::span<const std::string> columns_;
  std::vector<std::string> lower_;
};

void find_inputs(ColumnRoles& roles, const Finder& finder, const DataOptions& options, const std::string& source) {
  roles.text = finder.named(options.text, "text");
  roles.text2 = finder.named(options.text2, "text2");
  roles.tokens = finder.named(options.tokens, "tokens");
  if (roles.tokens && (roles.text || roles.text2))
    fail("{}: a row is a text or a list of words; --text and --tokens are both given", source);
  if (roles.tokens) return;
  if (!roles.text && !roles.text2 && finder.usual(kTags)) roles.tokens = finder.usual(kTokens);
  if (roles.tokens) return;
  const bool looks_for_pairs = !roles.text && !roles.text2;
  if (!roles.text) roles.text = finder.usual(kTexts);
  if (looks_for_pairs) roles.text2 = finder.usual(kSecondTexts);
  if (roles.text2 == roles.text) roles.text2.reset();
  if (!roles.text)
    fail("{}: no column is known to hold texts; its columns are {}. Name one: --text COLUMN", source, finder.list());
}

void find_answers(ColumnRoles& roles, const Finder& finder, const DataOptions& options, const std::string& source) {
  roles.label = finder.named(options.label, "label");
  roles.labels = finder.named(options.labels, "labels");
  roles.target = finder.named(options.target, "target");
  roles.tags = finder.named(options.tags, "tags");
  const int named = int(roles.label.has_value()) + int(roles.labels.has_value()) + int(roles.target.has_value()) +
                    int(roles.tags.has_value());
  if (named > 1)
    fail("{}: more than one of --label, --labels, --target and --tags is given; a row has one answer", source);
  if (roles.tags && !roles.tokens) fail("{}: --tags needs the column of the words: --tokens", source);
  if (named == 1) return;
  if (roles.tokens) {
    roles.tags = finder.usual(kTags);
    return;
  }
  roles.label = finder.usual(kLabel);
  if (!roles.label) roles.labels = finder.usual(kLabels);
  if (!roles.label && !roles.labels) roles.target = finder.usual(kTarget);
}

}  // namespace

ColumnRoles find_roles(const std::string& source, std::span<const std::string> columns, const DataOptions& options) {
  const Finder finder(source, columns);
  ColumnRoles roles;
  find_inputs(roles, finder, options, source);
  find_answers(roles, finder, options, source);
  const auto named_or_usual = [&](const std::string& name, const char* option,
                                  std::span<const std::string_view> usual) {
    const auto named = finder.named(name, option);
    return named ? named : finder.usual(usual);
  };
  roles.group = named_or_usual(options.group, "group-column", kGroup);
  roles.split = named_or_usual(options.split, "split-column", kSplit);
  return roles;
}

}  // namespace hone
