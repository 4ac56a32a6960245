// What is behind a Device. For runtime/cpu alone.
#pragma once

#include "protocol/key/target.h"
#include "runtime/cpu/arena_pool.h"
#include "runtime/cpu/device.h"
#include "runtime/cpu/kernel.h"
#include "runtime/cpu/prepared.h"
#include "runtime/cpu/region.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/cpu/weak_cache.h"

namespace stoker::cpu {

struct Device::State {
  Target host;
  ThreadPool threads;
  ArenaPool arenas;
  WeakCache<Kernel> kernels;     // By blob digest.
  WeakCache<Region> constants;   // By blob digest.
  WeakCache<Prepared> prepared;  // By PreparedKey.
};

}  // namespace stoker::cpu
