// Whether the daemon is fit to be reached by whom it can be reached: what is stored is code that
// jobs run.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "protocol/base/result.h"

namespace stoker {

// InvalidArgument names the address and what it lacks. An https:// address needs a certificate and
// its key. One that other hosts reach must be https:// and ask for a credential: a token or a
// client's certificate; `insecure` goes without.
Status CheckExposure(const Config& config);

// The addresses that are there because of `insecure` alone, as they were given.
std::vector<std::string> InsecureAddresses(const Config& config);

bool HasTlsAddress(const Config& config);

// Where no address is https://: which options are set that are for such addresses alone, as
// "--tls-certificate, --tls-key".
std::string UnusedTlsOptions(const Config& config);

}  // namespace stoker
