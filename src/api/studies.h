// Trials of a study, as include/hone gives them.
#pragma once

#include <hone/study.h>

#include <span>

#include "study/trial_record.h"

namespace hone::api {

Study described(const std::string& name, std::span<const Direction> directions, const TrialList* trials,
                std::span<const TrialPtr> best);

}  // namespace hone::api
