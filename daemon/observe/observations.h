// Observations: what happens in the daemon and what has happened lately, in memory, for who looks
// at it. What is counted for good is in service/statistics/statistics.h.
#pragma once

#include "daemon/observe/active_compiles.h"
#include "daemon/observe/activity.h"
#include "daemon/observe/miss_memory.h"
#include "daemon/observe/trace_store.h"

namespace stoker {

struct Observations {
  ActiveCompiles compiles;
  Activity jobs;
  Activity models;
  MissMemory misses;
  TraceStore traces;
};

}  // namespace stoker
