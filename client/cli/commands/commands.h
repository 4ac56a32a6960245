// The subcommands of `stoker`. Each Add function registers its options and sets `command` when it
// is the one chosen; the command returns the exit code.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>

#include "stoker/stoker.hpp"

namespace stoker::cli {

using Command = std::function<int(Client&)>;

void AddStats(CLI::App& app, Command& command);    // stats [--json] [--since D] [--watch S]
void AddList(CLI::App& app, Command& command);     // ls [--json] [--captures] [--namespace N] ...
void AddInspect(CLI::App& app, Command& command);  // inspect KEY [--section S]...
void AddTop(CLI::App& app, Command& command);      // top [--interval S] [--once]
void AddExplain(CLI::App& app, Command& command);  // explain [KEY|JOB] [--json] [--limit N]
void AddTrace(CLI::App& app, Command& command);    // trace KEY|--last|--graph FILE [-o FILE]
void AddKey(CLI::App& app, Command& command);      // key --explain A B
void AddRecord(CLI::App& app, Command& command);   // record [--output FILE] -- COMMAND...
void AddWarm(CLI::App& app, Command& command);     // warm MANIFEST [--target T]... [--check] ...
void AddExport(CLI::App& app, Command& command);   // export BUNDLE [--namespace N] [--json]
void AddImport(CLI::App& app, Command& command);   // import BUNDLE [--json]
void AddGc(CLI::App& app, Command& command);       // gc [--to BYTES] [--json] ...
void AddVerify(CLI::App& app, Command& command);   // verify [--json]
void AddPurge(CLI::App& app, Command& command);    // purge [--namespace N] [--epoch E] ...
void AddPin(CLI::App& app, Command& command);      // pin KEY
void AddUnpin(CLI::App& app, Command& command);    // unpin KEY
void AddPins(CLI::App& app, Command& command);     // pins [--json]
void AddKeys(CLI::App& app, Command& command);     // keys [--json]
void AddStop(CLI::App& app, Command& command);     // stop
void AddDoctor(CLI::App& app, Command& command);   // doctor
void AddHealthcheck(CLI::App& app, Command& command);  // healthcheck [--ready]

// Prints the captures under the key that starts with `prefix`; false if there is none.
bool InspectCaptures(Client& client, const std::string& prefix);

}  // namespace stoker::cli
