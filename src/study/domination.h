// Several objectives at once: which points no other one dominates, in which order the rest follows, and how much of the
// space a set of points dominates. All are to be minimised; rows are points.
#pragma once

#include <span>
#include <vector>

#include "study/trial_record.h"

namespace hone {

using Points = std::vector<std::vector<double>>;

// The values of trials, negated where they are maximised.
Points losses_of(std::span<const TrialPtr> trials, std::span<const Direction> directions);

bool dominates(std::span<const double> a, std::span<const double> b);

// 0 for what nothing dominates, 1 for what only those dominate, and so on.
std::vector<int> domination_ranks(const Points& points);

// The measure of what the points dominate up to a reference point; infinite where a point is.
double hypervolume(Points points, std::span<const double> reference);

// The max(1.1·worst, 0.9·worst) of each objective, as Optuna takes it.
std::vector<double> reference_point(const Points& points);

// `count` of the points whose hypervolume together is large: greedily the one that adds most. Indices.
std::vector<size_t> hypervolume_subset(const Points& points, size_t count, std::span<const double> reference);

// How far apart the neighbours of each point are along its front, summed over objectives (NSGA-II).
std::vector<double> crowding_distances(const Points& points);

}  // namespace hone
