#include "daemon/config/exposure.h"

#include <gmock/gmock.h>

namespace stoker {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Config Listening(std::vector<std::string> addresses) {
  Config config;
  config.listen = std::move(addresses);
  return config;
}

Config WithTls(Config config) {
  config.tls_certificate = "/c.pem";
  config.tls_key = "/c.key";
  return config;
}

TEST(Exposure, AddressesOfThisHost_NeedNothing) {
  EXPECT_TRUE(CheckExposure(Listening({"unix:/s", "http://127.0.0.1:1", "http://[::1]:1"})).ok());
  EXPECT_TRUE(CheckExposure(WithTls(Listening({"https://127.0.0.1:1"}))).ok());
}

TEST(Exposure, TlsOptionsWithoutAnAddress_AreNamed) {
  EXPECT_EQ(UnusedTlsOptions(Listening({"http://127.0.0.1:1"})), "");
  Config config = WithTls(Listening({"http://127.0.0.1:1", "unix:/s"}));
  config.tls_client_ca = "/ca.pem";
  EXPECT_EQ(UnusedTlsOptions(config), "--tls-certificate, --tls-key, --tls-client-ca");
  config.listen.push_back("https://127.0.0.1:2");
  EXPECT_EQ(UnusedTlsOptions(config), "");
}

TEST(Exposure, AddressesOfOthers_NeedTlsAndACredential) {
  const auto message = [](const Config& config) { return CheckExposure(config).error().message; };
  EXPECT_THAT(
      message(Listening({"unix:/s", "http://0.0.0.0:1"})),
      AllOf(HasSubstr("'http://0.0.0.0:1'"), HasSubstr("needs TLS (https://"),
            HasSubstr(" and a credential (--tokens or --tls-client-ca)"), HasSubstr("--insecure")));
  Config clear = Listening({"http://10.1.2.3:1"});
  clear.token_file = "/t";
  EXPECT_THAT(message(clear), AllOf(HasSubstr("needs TLS"), Not(HasSubstr("a credential"))));
  Config open = WithTls(Listening({"https://[::]:1"}));
  EXPECT_THAT(message(open), AllOf(HasSubstr("needs a credential"), Not(HasSubstr("needs TLS"))));
  Config tokens = open;
  tokens.token_file = "/t";
  EXPECT_TRUE(CheckExposure(tokens).ok());
  Config mutual = open;
  mutual.tls_client_ca = "/ca";
  EXPECT_TRUE(CheckExposure(mutual).ok());
}

TEST(Exposure, HttpsAddress_NeedsItsFiles_AlsoWhereInsecure) {
  Config config = Listening({"https://127.0.0.1:1"});
  config.insecure = true;
  EXPECT_THAT(CheckExposure(config).error().message, HasSubstr("needs --tls-certificate."));
  config.tls_certificate = "/c.pem";
  EXPECT_THAT(CheckExposure(config).error().message, HasSubstr("needs --tls-key."));
}

TEST(Exposure, Insecure_AllowsThem_AndNamesThem) {
  Config config = WithTls(Listening({"unix:/s", "https://0.0.0.0:1", "http://[::]:2"}));
  config.insecure = true;
  EXPECT_TRUE(CheckExposure(config).ok());
  EXPECT_THAT(InsecureAddresses(config), ElementsAre("https://0.0.0.0:1", "http://[::]:2"));
  config.token_file = "/t";
  EXPECT_THAT(InsecureAddresses(config), ElementsAre("http://[::]:2"));
  EXPECT_THAT(InsecureAddresses(Listening({"unix:/s"})), IsEmpty());
  EXPECT_TRUE(HasTlsAddress(config));
  EXPECT_FALSE(HasTlsAddress(Listening({"unix:/s", "http://[::]:2"})));
}

}  // namespace
}  // namespace stoker
