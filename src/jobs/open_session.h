// A session for a model with the machine code that came with it.
#pragma once

#include "jobs/load_model.h"
#include "runtime/session.h"

namespace hone {

Session open_session(LoadedModel model, SessionOptions options);

}  // namespace hone
