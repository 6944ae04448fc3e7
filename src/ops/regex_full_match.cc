// regex_full_match: whether a whole string matches a pattern in the syntax of RE2, as far as it is that of ECMAScript.
#include <regex>

#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"pattern", AttributeKind::string, true,
     "literals . [] | () (?:) * + ? {n,m} ^ $ and \\d \\D \\w \\W \\s \\S \\b \\B \\t \\n \\v \\f \\r \\xhh"},
};
