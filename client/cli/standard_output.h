// Standard output, where answers go: one that is lost on its way is a failure.
#pragma once

namespace stoker::cli {

// First of all: where a standard stream is closed, what is opened next would take its number, and
// answers would be written into that. Programs that this one becomes find it closed as it was.
void HoldStandardStreams();

// Throws Error where not everything was written.
void FlushOutput();

}  // namespace stoker::cli
