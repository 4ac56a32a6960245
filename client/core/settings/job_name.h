// What this process calls its job when it asks a daemon (protocol/wire/header/job_name.h).
#pragma once

#include <string>
#include <string_view>

namespace stoker {

// STOKER_JOB, or the name of the program that runs; never empty.
std::string JobName();

// The program in a command line, whose words end in '\0': of an interpreter of Python the script or
// module. "/usr/bin/python3 -u /a/train.py --lr 1" is "train.py".
std::string ProgramIn(std::string_view command_line);

}  // namespace stoker
