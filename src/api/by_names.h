// Tasks whose options are names and texts, as C gives them.
#pragma once

#include <hone/quantize.h>
#include <hone/session.h>

#include "api/given_options.h"

namespace hone::api {

Session session_by_names(const Model& model, const GivenOptions& given);
QuantizeResult quantize_by_names(const Model& model, const GivenOptions& given, const Task& task);

}  // namespace hone::api
