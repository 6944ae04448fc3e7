#pragma once
#include "device/x86/emit.h"
