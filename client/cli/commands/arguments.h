// What options take. A value that is none is a usage error, which names it and what is expected.
#pragma once

#include <CLI/Validators.hpp>
#include <cstdint>

namespace stoker::cli {

// Each is for Option::transform: what a parser of format.h takes becomes a plain number.
CLI::Validator WholeNumber(std::uint64_t least, std::uint64_t most);
CLI::Validator DecimalNumber(double least, double most);
CLI::Validator ByteCount();  // "10GiB"
CLI::Validator Age();        // "30d": seconds

// These are for Option::check.
CLI::Validator Duration();       // "15min"
CLI::Validator NamespaceName();  // An empty one would stand for all of them.

}  // namespace stoker::cli
