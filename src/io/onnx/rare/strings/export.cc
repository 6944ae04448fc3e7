// Operators on text.
#include "io/onnx/export_node.h"

namespace hone::onnx {
namespace {

Names cast(const ExportNode& n) { return {n.emit("Cast", {n.in(0)}, {{"to", n.result_type().dtype}})}; }

Names concat(const ExportNode& n) {
  n.needs(20, "StringConcat");
  return {n.emit("StringConcat", n.all_in())};
}

Names split(const ExportNode& n) {
  n.needs(20, "StringSplit");
  return n.emit_all("StringSplit", {n.in(0)}, n.take({"delimiter", "maxsplit"}), 2);
}

Names regex_full_match(const ExportNode& n) {
  n.needs(20, "RegexFullMatch");
  return {n.emit("RegexFullMatch", {n.in(0)}, n.take({"pattern"}))};
}

Names normalize(const ExportNode& n) {
  const std::string change = n.attributes().get_or<std::string>("case", "none");
  Attributes attributes = n.take({"stopwords", "is_case_sensitive"});
  attributes.set("case_change_action", change == "lower" ? "LOWER" : change == "upper" ? "UPPER" : "NONE");
  return {n.emit("StringNormalizer", {n.in(0)}, attributes)};
}

Names tf_idf(const ExportNode& n) { return {n.emit("TfIdfVectorizer", {n.in(0)}, n.attributes())}; }

constexpr ExportRule kRules[] = {
    {"format_numbers", cast},  {"parse_numbers", cast},         {"regex_full_match", regex_full_match},
    {"string_concat", concat}, {"string_normalize", normalize}, {"string_split", split},
    {"tf_idf", tf_idf}};

}  // namespace

std::span<const ExportRule> string_rules() { return kRules; }

}  // namespace hone::onnx
