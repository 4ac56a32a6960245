// The subcommands of `stoker`. Each Add function registers its options and sets `command` when it
// is the one chosen; the command returns the exit code.
#pragma once

#include <CLI/App.hpp>
#include <functional>

#include "stoker/stoker.hpp"

namespace stoker::cli {

using Command = std::function<int(Client&)>;

void AddStats(CLI::App& app, Command& command);    // stats [--json]
void AddList(CLI::App& app, Command& command);     // ls [--json] [--namespace N] [--kind K]
void AddInspect(CLI::App& app, Command& command);  // inspect KEY [--section S]...
void AddKey(CLI::App& app, Command& command);      // key --explain A B
void AddStop(CLI::App& app, Command& command);     // stop
void AddDoctor(CLI::App& app, Command& command);   // doctor

}  // namespace stoker::cli
