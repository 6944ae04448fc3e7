// Rewrites over whole expressions. Shared nodes are visited once, so the cost is that of the graph, not of its tree.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "expr/node.h"

namespace hone {
namespace {

class Substitution {
 public:
  explicit Substitution(std::span<const Expr> replacements) : replacements_(replacements) {}

  Expr visit(const Expr& e) {
    if (e.op() == ExprOp::arg) return replacement(e);
    if (e.operands().empty()) return e;
    if (const auto known = done_.find(e.identity()); known != done_.end()) return known->second;
    std::vector<Expr> operands;
    bool changed = false;
    for (const Expr& operand : e.operands()) {
      operands.push_back(visit(operand));
      changed |= operands.back().identity() != operand.identity();
    }
    return done_.emplace(e.identity(), changed ? rebuild(e, std::move(operands)) : e).first->second;
  }

 private:
  Expr replacement(const Expr& e) const {
    const auto position = static_cast<size_t>(e.position());
    CHECK(position < replacements_.size(), "arg {} has no replacement; {} are given", position, replacements_.size());
    return typed(e.type(), replacements_[position]);
  }

  std::span<const Expr> replacements_;
  std::unordered_map<const void*, Expr> done_;
};

int count_args(const Expr& e, std::unordered_set<const void*>& seen) {
  if (!seen.insert(e.identity()).second) return 0;
  if (e.op() == ExprOp::arg) return e.position() + 1;
  int count = 0;
  for (const Expr& operand : e.operands()) count = std::max(count, count_args(operand, seen));
  return count;
}

}  // namespace

Expr substitute(const Expr& e, std::span<const Expr> replacements) { return Substitution(replacements).visit(e); }

int arg_count(const Expr& e) {
  std::unordered_set<const void*> seen;
  return count_args(e, seen);
}

}  // namespace hone
