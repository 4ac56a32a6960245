#include "daemon/config/config.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "cache/action_index.h"
#include "daemon/access/scope.h"
#include "daemon/config/exposure.h"
#include "daemon/net/listener.h"
#include "daemon/toml/parse.h"
#include "protocol/base/host/regular_file.h"
#include "protocol/base/signature/public_key_list.h"
#include "protocol/wire/proto/utf8.h"

namespace stoker {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

struct Bounds {
  std::int64_t min;
  std::int64_t max;
};

// One option: its name serves as the flag --name, the variable STOKER_NAME and the TOML key.
struct Option {
  std::string_view name;  // With dashes; the variable and the key have underscores.
  std::string_view help;
  std::function<Status(Config&, const std::string&)> set;
  std::function<std::string(const Config&)> get;  // As TOML.
  bool repeats = false;                           // In a variable: separated by spaces.
  bool is_switch = false;                         // The flag alone stands for "true".
  bool is_table = false;                          // Of NAME=VALUE; in the file a table.
};

// A string of TOML's: quotes, backslashes and control characters are escaped.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7F) {
      quoted += fmt::format("\\u{:04X}", code);
    } else {
      quoted += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
    }
  }
  return quoted + "\"";
}

Result<std::int64_t> ParseNumber(const std::string& text, Bounds bounds) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= bounds.min &&
      value <= bounds.max) {
    return value;
  }
  return InvalidArgument("'" + text + "' is not a whole number from " + std::to_string(bounds.min) +
                         " to " + std::to_string(bounds.max) + ".");
}

Option Number(std::string_view name, std::string_view help, std::int64_t Config::*member,
              Bounds bounds) {
  return {name, help,
          [member, bounds](Config& config, const std::string& text) -> Status {
            STOKER_TRY(config.*member, ParseNumber(text, bounds));
            return Ok();
          },
          [member](const Config& config) { return std::to_string(config.*member); }};
}

Option Text(std::string_view name, std::string_view help, std::string Config::*member,
            std::set<std::string> choices = {}) {
  return {name, help,
          [member, choices](Config& config, const std::string& text) -> Status {
            if (!choices.empty() && !choices.contains(text)) {
              std::string list;
              for (const std::string& choice : choices) list += (list.empty() ? "" : ", ") + choice;
              return InvalidArgument("'" + text + "' is none of " + list + ".");
            }
            config.*member = text;
            return Ok();
          },
          [member](const Config& config) { return Quoted(config.*member); }};
}

Option Switch(std::string_view name, std::string_view help, bool Config::*member) {
  return {.name = name,
          .help = help,
          .set = [member](Config& config, const std::string& text) -> Status {
            if (text != "true" && text != "false") {
              return InvalidArgument("'" + text + "' is neither true nor false.");
            }
            config.*member = text == "true";
            return Ok();
          },
          .get = [member](const Config& config) { return config.*member ? "true" : "false"; },
          .is_switch = true};
}

// A string that `check` accepts.
Option Checked(std::string_view name, std::string_view help, std::string Config::*member,
               std::function<Status(const std::string&)> check) {
  Option option = Text(name, help, member);
  option.set = [member, check = std::move(check)](Config& config, const std::string& text) {
    const Status status = check(text);
    if (status.ok()) config.*member = text;
    return status;
  };
  return option;
}

Status CheckSocketMode(const std::string& text) {
  const bool octal = text.size() >= 3 && text.size() <= 4 &&
                     text.find_first_not_of("01234567") == std::string::npos &&
                     (text.size() == 3 || text[0] == '0');
  if (octal) return Ok();
  return InvalidArgument("'" + text + "' is no mode of a file: 0600, 0660, 0666.");
}

Status CheckScopes(const std::string& text) {
  const auto scopes = Scopes::Parse(text);
  return scopes.ok() ? Ok() : Status(scopes.error());
}

// An option that may be repeated, each value of which `check` accepts.
Option List(std::string_view name, std::string_view help, std::vector<std::string> Config::*member,
            std::function<Status(const std::string&)> check) {
  Option option{name, help,
                [member, check = std::move(check)](Config& config, const std::string& text) {
                  const Status status = check(text);
                  if (status.ok()) (config.*member).push_back(text);
                  return status;
                },
                [member](const Config& config) {
                  std::string list;
                  for (const std::string& each : config.*member) {
                    list += (list.empty() ? "" : ", ") + Quoted(each);
                  }
                  return "[" + list + "]";
                }};
  option.repeats = true;
  return option;
}

Option NamespaceQuotas(Bounds bounds) {
  Option option{
      "namespace-quota-bytes", "NAMESPACE=BYTES, may be repeated; in the file a table of them",
      [bounds](Config& config, const std::string& text) -> Status {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) {
          return InvalidArgument("'" + text + "' is not of the form NAMESPACE=BYTES.");
        }
        const std::string name_space = text.substr(0, equals);
        STOKER_RETURN_IF_ERROR(CheckNamespace(name_space));
        STOKER_TRY(config.namespace_quota_bytes[name_space],
                   ParseNumber(text.substr(equals + 1), bounds));
        return Ok();
      },
      [](const Config& config) {
        std::string list;
        for (const auto& [name_space, bytes] : config.namespace_quota_bytes) {
          list += (list.empty() ? "" : ", ") + Quoted(name_space) + " = " + std::to_string(bytes);
        }
        return list.empty() ? "{}" : "{ " + list + " }";
      }};
  option.repeats = option.is_table = true;
  return option;
}

Status CheckAddress(const std::string& text) {
  const auto address = net::ListenAddress::Parse(text);
  return address.ok() ? Ok() : Status(address.error());
}

Status CheckKeys(const std::string& text) {
  const auto keys = PublicKeysOf(text);
  return keys.ok() ? Ok() : Status(keys.error());
}

Status CheckFileName(const std::string& text) {
  return text.empty() ? InvalidArgument("'' is no file.") : Ok();
}

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;

std::vector<Option> PlaceOptions() {
  return {
      List("listen",
           "address to listen on: unix:/path, http://127.0.0.1:8471 or https://0.0.0.0:8471; "
           "may be repeated",
           &Config::listen, CheckAddress),
      Text("cache-dir", "folder of the cache", &Config::cache_dir),
  };
}

std::vector<Option> CacheOptions() {
  return {
      Number("max-cache-bytes", "size of the cache on disk", &Config::max_cache_bytes,
             {std::int64_t{1} << 20, kMaxBytes}),
      Number("memory-cache-bytes", "size of the cache in memory", &Config::memory_cache_bytes,
             {std::int64_t{1} << 20, kMaxBytes}),
      Number("min-free-bytes", "of the cache's disk; writes that would leave less are refused",
             &Config::min_free_bytes, {0, kMaxBytes}),
      Number("max-pinned-bytes", "of entries that are pinned; 0: half of max-cache-bytes",
             &Config::max_pinned_bytes, {0, kMaxBytes}),
      Number("default-namespace-quota-bytes",
             "of the entries of each namespace that has no quota of its own; 0: no limit",
             &Config::default_namespace_quota_bytes, {0, kMaxBytes}),
      NamespaceQuotas({1, kMaxBytes}),
  };
}

std::vector<Option> WorkerOptions() {
  return {
      Number("workers", "compiles that run at a time", &Config::workers, {1, 256}),
      Number("queue-limit", "compiles running and waiting; more are refused", &Config::queue_limit,
             {1, 100000}),
      Number("compile-timeout-s", "longest time of one compile", &Config::compile_timeout_s,
             {1, 86400}),
      Number("compile-memory-mib", "private memory of one compile", &Config::compile_memory_mib,
             {512, 1 << 20}),
      Text("nvjitlink",
           "NVIDIA's library nvJitLink, which CUDA targets need; without it Python environments "
           "and the CUDA toolkit are looked through",
           &Config::nvjitlink),
  };
}

std::vector<Option> ServingOptions() {
  return {
      Number("idle-timeout-s", "stop after so long without a request; 0: never",
             &Config::idle_timeout_s, {0, 31536000}),
      Number("drain-timeout-s", "how long a stop waits for running compiles",
             &Config::drain_timeout_s, {0, 3600}),
      Number("max-connections", "open connections; the longest idle one makes room for another",
             &Config::max_connections, {1, 1000000}),
      Number("network-threads", "threads that serve connections", &Config::network_threads,
             {1, 256}),
  };
}

std::vector<Option> AccessOptions() {
  return {
      Checked("socket-mode", "mode of the Unix sockets: who may connect", &Config::socket_mode,
              CheckSocketMode),
      Checked("other-users",
              "what users of this host other than root and the daemon's own may do without a "
              "token: read, write, admin, separated by commas, or none",
              &Config::other_users, CheckScopes),
      Text("tokens", "TOML file of bearer tokens; see daemon/access/README.md",
           &Config::token_file),
      Text("tls-certificate",
           "PEM file of the certificate that https:// addresses show, and of "
           "those that lead to its root",
           &Config::tls_certificate),
      Text("tls-key", "PEM file of the certificate's key", &Config::tls_key),
      Text("tls-client-ca",
           "PEM file of who signs clients' certificates: each client over https:// "
           "must show one",
           &Config::tls_client_ca),
      Checked("certificate-scopes",
              "what clients with a certificate may do that the file of tokens does not name: read, "
              "write, admin, separated by commas, or none",
              &Config::certificate_scopes, CheckScopes),
      Switch("insecure",
             "let other hosts in without TLS or without a credential; who shows none may "
             "do what other-users says",
             &Config::insecure),
  };
}

std::vector<Option> SigningOptions() {
  return {
      List("signing-key",
           "PEM file of an Ed25519 key that signs artifacts, for daemons that share one; may be "
           "repeated: each signs; see daemon/signing/README.md",
           &Config::signing_keys, CheckFileName),
      List("trusted-signer",
           "public key of another daemon, or a file of such keys: `stoker import` takes artifacts "
           "that it signed; may be repeated",
           &Config::trusted_signers, CheckKeys),
      Number("key-overlap-s", "how long a key still signs after --rotate-key made another",
             &Config::key_overlap_s, {0, 315360000}),
  };
}

std::vector<Option> LogOptions() {
  return {
      Text("log-level", "trace, debug, info, warn, error, off", &Config::log_level,
           {"trace", "debug", "info", "warn", "error", "off"}),
      Text("log-file", "file to log to; none: standard error", &Config::log_file),
      Text("log-format", "text (name=value) or json: a line is one object", &Config::log_format,
           {"text", "json"}),
  };
}

// In the order in which they are shown.
const std::vector<Option>& Options() {
  static const auto* options = [] {
    auto* all = new std::vector<Option>;
    for (const auto& section : {PlaceOptions(), CacheOptions(), WorkerOptions(), ServingOptions(),
                                AccessOptions(), SigningOptions(), LogOptions()}) {
      all->insert(all->end(), section.begin(), section.end());
    }
    return all;
  }();
  return *options;
}

const Option* FindOption(std::string_view name) {
  for (const Option& option : Options()) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::string Underscored(std::string_view name, bool upper) {
  std::string text;
  for (char c : name) {
    const char u = c == '-' ? '_' : c;
    text += upper && u >= 'a' && u <= 'z' ? static_cast<char>(u - 'a' + 'A') : u;
  }
  return text;
}

// Values of one source, by option name; later sources are weaker.
using Values = std::map<std::string, std::vector<std::string>, std::less<>>;

Result<Values> ReadFile(const std::string& path) {
  const auto text = ReadRegularFile("Configuration file", path, kMaxFileBytes);
  if (!text.ok()) return InvalidArgument(text.error().message);
  auto parsed = ParseToml(*text);
  if (!parsed.ok()) return parsed.error().WithContext("Configuration file '" + path + "'");
  const toml::table& table = *parsed;
  Values values;
  for (const auto& [key, node] : table) {
    std::string name(key.str());
    for (char& c : name) c = c == '_' ? '-' : c;
    const Option* option = FindOption(name);
    if (option == nullptr) {
      return InvalidArgument("Configuration file '" + path + "' has an unknown key '" +
                             std::string(key.str()) + "'.");
    }
    // `start`: what stands before the value.
    const auto add = [&](const toml::node& value, const std::string& start = "") -> Status {
      if (const auto text = value.value_exact<std::string>()) {
        values[name].push_back(start + *text);
      } else if (const auto number = value.value_exact<std::int64_t>()) {
        values[name].push_back(start + std::to_string(*number));
      } else if (const auto truth = value.value_exact<bool>()) {
        values[name].push_back(start + (*truth ? "true" : "false"));
      } else {
        return InvalidArgument("Key '" + std::string(key.str()) + "' in '" + path +
                               "' is neither a string, nor a whole number, nor true or false.");
      }
      return Ok();
    };
    if (const toml::array* array = node.as_array(); array != nullptr && option->repeats) {
      for (const toml::node& element : *array) STOKER_RETURN_IF_ERROR(add(element));
    } else if (const toml::table* pairs = node.as_table(); pairs != nullptr && option->is_table) {
      for (const auto& [left, right] : *pairs) {
        STOKER_RETURN_IF_ERROR(add(right, std::string(left.str()) + "="));
      }
    } else {
      STOKER_RETURN_IF_ERROR(add(node));
    }
  }
  return values;
}

Values ReadEnvironment(const std::function<const char*(const char*)>& environment) {
  Values values;
  for (const Option& option : Options()) {
    const std::string variable = "STOKER_" + Underscored(option.name, true);
    const char* value = environment(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    std::vector<std::string> list;
    if (option.repeats) {
      std::istringstream words(value);
      for (std::string word; words >> word;) list.push_back(word);
    } else {
      list.push_back(value);
    }
    // Nothing but blanks says as little as nothing, and takes nothing back that the file says.
    if (!list.empty()) values[std::string(option.name)] = std::move(list);
  }
  return values;
}

// The configuration prints as TOML, which holds no other text; to the system a path would end at a
// zero.
Status CheckText(const std::string& text) {
  if (text.find('\0') != std::string::npos) {
    return InvalidArgument("'" + text + "' has a zero byte.");
  }
  if (wire::IsValidUtf8(text)) return Ok();
  return InvalidArgument("'" + wire::ToValidUtf8(text) + "' is not valid UTF-8.");
}

Status Apply(Config& config, const Option& option, const std::vector<std::string>& values,
             const std::string& source) {
  for (const std::string& value : values) {
    Status status = CheckText(value);
    if (status.ok()) status = option.set(config, value);
    if (!status.ok()) return status.error().WithContext(source);
  }
  return Ok();
}

// What stands on the command line.
struct Arguments {
  Mode mode = Mode::kServe;
  std::string config_file;
  Values flags;
};

// The modes that a configuration decides about.
bool ReadsConfig(Mode mode) {
  return mode == Mode::kServe || mode == Mode::kCheckConfig || mode == Mode::kRotateKey;
}

// The mode that a flag chooses. Those that print or serve a daemon ignore what follows.
std::optional<Mode> ModeOf(const std::string& argument) {
  if (argument == "--help" || argument == "-h") return Mode::kHelp;
  if (argument == "--version") return Mode::kVersion;
  if (argument == "--worker") return Mode::kWorker;
  if (argument == "--check-config") return Mode::kCheckConfig;
  if (argument == "--rotate-key") return Mode::kRotateKey;
  return std::nullopt;
}

Result<Arguments> ReadArguments(const std::vector<std::string>& arguments) {
  Arguments read;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (const auto mode = ModeOf(argument)) {
      read.mode = *mode;
      if (!ReadsConfig(*mode)) return read;
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string flag = argument.substr(0, equals);
    const std::string name = flag.starts_with("--") ? flag.substr(2) : "";
    const Option* const option = FindOption(name);
    if (name != "config" && option == nullptr) {
      return InvalidArgument("Unknown option '" + argument + "'; see stokerd --help.");
    }
    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (option != nullptr && option->is_switch) {
      value = "true";
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return InvalidArgument("Option '" + flag + "' needs a value.");
    }
    // What a variable held that is not set must not turn off what it was to turn on.
    if (value.empty())
      return InvalidArgument("Option '" + flag + "' is given '', which is nothing.");
    if (name == "config") {
      read.config_file = value;
    } else {
      read.flags[name].push_back(value);
    }
  }
  return read;
}

Result<std::string> DefaultCacheDir(const std::function<const char*(const char*)>& environment) {
  const char* cache = environment("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return std::string(cache) + "/stoker";
  const char* home = environment("HOME");
  if (home != nullptr && *home != '\0') return std::string(home) + "/.cache/stoker";
  return InvalidArgument("No cache folder: give --cache-dir; HOME is unset.");
}

}  // namespace

std::string Config::ToString() const {
  std::string text;
  for (const Option& option : Options()) {
    text += Underscored(option.name, false) + " = " + option.get(*this) + "\n";
  }
  return text;
}

std::string HelpText() {
  std::string text =
      "stokerd: Stoker's build daemon\n\n"
      "usage: stokerd [--config FILE] [--check-config | --rotate-key] [--NAME VALUE]...\n\n"
      "Each option is a flag --name, an environment variable STOKER_NAME, and a key name of the\n"
      "TOML file (with underscores); the first of these that is set counts.\n\n";
  const Config defaults;
  for (const Option& option : Options()) {
    std::string line = "  --" + std::string(option.name);
    line.resize(std::max<std::size_t>(line.size() + 2, 26), ' ');
    line += option.help;
    const std::string value = option.get(defaults);
    const bool is_shown = value != "\"\"" && value != "[]" && value != "{}" && !option.is_switch;
    if (is_shown) line += " (default " + value + ")";
    text += line + "\n";
  }
  return text;
}

Result<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                     const std::function<const char*(const char*)>& environment) {
  STOKER_TRY(Arguments read, ReadArguments(arguments));
  CommandLine command;
  command.mode = read.mode;
  if (!ReadsConfig(read.mode)) return command;
  if (read.config_file.empty()) {
    const char* variable = environment("STOKER_CONFIG");
    if (variable != nullptr) read.config_file = variable;
  }
  Values file;
  if (!read.config_file.empty()) {
    STOKER_TRY(file, ReadFile(read.config_file));
  }
  const Values variables = ReadEnvironment(environment);
  for (const Option& option : Options()) {
    const std::string name(option.name);
    if (const auto it = read.flags.find(name); it != read.flags.end()) {
      STOKER_RETURN_IF_ERROR(Apply(command.config, option, it->second, "Option '--" + name + "'"));
    } else if (const auto variable = variables.find(name); variable != variables.end()) {
      STOKER_RETURN_IF_ERROR(Apply(command.config, option, variable->second,
                                   "Variable 'STOKER_" + Underscored(name, true) + "'"));
    } else if (const auto key = file.find(name); key != file.end()) {
      STOKER_RETURN_IF_ERROR(
          Apply(command.config, option, key->second,
                "Key '" + Underscored(name, false) + "' in '" + read.config_file + "'"));
    }
  }
  if (command.config.cache_dir.empty()) {
    STOKER_TRY(command.config.cache_dir, DefaultCacheDir(environment));
  }
  command.config.cache_dir = std::filesystem::absolute(command.config.cache_dir).string();
  if (const Status status = CheckText(command.config.cache_dir); !status.ok()) {
    return status.error().WithContext("The cache folder");
  }
  if (command.config.listen.empty()) {
    const std::string socket = "unix:" + command.config.cache_dir + "/stokerd.sock";
    if (const auto address = net::ListenAddress::Parse(socket); !address.ok()) {
      return address.error().WithContext(
          "The cache folder holds no socket (--listen names another)");
    }
    command.config.listen = {socket};
  }
  STOKER_RETURN_IF_ERROR(CheckExposure(command.config));
  return command;
}

}  // namespace stoker
