#pragma once
#include "device/x86/emitter.h"
