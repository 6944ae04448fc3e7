#include "prune/score.h"

namespace hone {
namespace {

std::vector<float> signed_value(const ScoreInput& input) { return input.weight.to_floats(); }

}  // namespace

// The most negative weights go first: an example of a score.
extern constinit const ScoreDef signed_value_score_def{
    .name = "signed_value", .doc = "w itself", .score = signed_value};

}  // namespace hone
