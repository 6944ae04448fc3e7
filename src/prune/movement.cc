// Sanh, Wolf and Rush, "Movement Pruning: Adaptive Sparsity by Fine-Tuning" (2020): weights that training moves towards
// zero go, however large they are.
#include "prune/score.h"

namespace hone {
namespace {

std::vector<float> movement_score(const ScoreInput& input) { return input.gradient->to_floats(); }

}  // namespace

extern constinit const ScoreDef movement_score_def{
    .name = "movement",
    .doc = "-w dL/dw summed over the steps of a descent on the data: what moves towards 0 goes",
    .needs = ScoreDef::Needs::movement,
    .score = movement_score};

}  // namespace hone
