// A session for a model, with the machine code that came with it where SessionOptions::model_code trusts that; where it
// does not, a note says that there is some.
#pragma once

#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {

Session open_session(Model model, SessionOptions options);

// Throws Error with the device's reason where it trains no models.
void require_training(const SessionOptions& options);

}  // namespace hone
