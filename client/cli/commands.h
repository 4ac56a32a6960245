// The subcommands of `stoker`. Each Add function registers its options and sets `command` when it
// is the one chosen; the command returns the exit code.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>

#include "stoker/stoker.hpp"

namespace stoker::cli {

using Command = std::function<int(Client&)>;

void AddStats(CLI::App& app, Command& command);    // stats [--json]
void AddList(CLI::App& app, Command& command);     // ls [--json] [--captures] [--namespace N] ...
void AddInspect(CLI::App& app, Command& command);  // inspect KEY [--section S]...
void AddExplain(CLI::App& app, Command& command);  // explain [--json] [--limit N]
void AddKey(CLI::App& app, Command& command);      // key --explain A B
void AddKeys(CLI::App& app, Command& command);     // keys [--json]
void AddStop(CLI::App& app, Command& command);     // stop
void AddDoctor(CLI::App& app, Command& command);   // doctor

// Prints the captures under the key that starts with `prefix`; false if there is none.
bool InspectCaptures(Client& client, const std::string& prefix);

}  // namespace stoker::cli
