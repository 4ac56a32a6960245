// A compile's trace in the Trace Event Format, which ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <string>

#include "daemon/observe/trace_store.h"

namespace stoker {

std::string TraceJson(const CompileTrace& trace);

}  // namespace stoker
