#include "client/core/trust/tls_trust.h"

#include <gmock/gmock.h>
#include <stdlib.h>

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Of "a" and of "b", as sha256sum and openssl base64 give them.
constexpr char kHexA[] = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
constexpr char kBase64A[] = "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=";
constexpr char kBase64B[] = "PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0=";

TEST(ParsePins, EveryForm_GivesTheDigest) {
  const Digest a = Sha256Of("a");
  std::string upper = kHexA;
  for (char& c : upper) c = static_cast<char>(toupper(c));
  for (const std::string& text :
       {std::string(kHexA), upper, std::string(kBase64A), std::string("sha256//") + kBase64A,
        std::string("sha256/") + kBase64A, std::string("sha256//") + kHexA,
        std::string("  ") + kBase64A + " "}) {
    const auto pins = ParsePins(text);
    ASSERT_TRUE(pins.ok()) << pins.error().message;
    EXPECT_THAT(*pins, ElementsAre(a)) << text;
  }
  EXPECT_EQ(PinText(a), std::string("sha256//") + kBase64A);
}

TEST(ParsePins, Several_AreSeparated) {
  for (const char* separator : {" ", ",", ";", "; "}) {
    const auto pins = ParsePins(std::string(kHexA) + separator + "sha256//" + kBase64B);
    ASSERT_TRUE(pins.ok()) << pins.error().message;
    EXPECT_THAT(*pins, ElementsAre(Sha256Of("a"), Sha256Of("b")));
  }
  EXPECT_TRUE(ParsePins("")->empty());
  EXPECT_TRUE(ParsePins(" ; ")->empty());
}

TEST(ParsePins, AnythingElse_IsNamed) {
  std::string long_list;
  for (int i = 0; i < 65; ++i) long_list += std::string(kHexA) + " ";
  for (const auto& [text, said] :
       {std::pair<std::string, std::string>{"nonsense", "'nonsense' is no SHA-256"},
        {std::string(kHexA) + "0", "is no SHA-256"},
        {std::string(63, '0') + "g", "is no SHA-256"},
        {std::string(43, 'A') + "A", "is no SHA-256"},
        {std::string(42, '!') + "A=", "is no SHA-256"},
        {std::string(42, 'A') + "==", "is no SHA-256"},
        {"sha1//" + std::string(kBase64A), "is no SHA-256"},
        {long_list, "more than 64 pins"}}) {
    const auto pins = ParsePins(text);
    ASSERT_FALSE(pins.ok()) << text;
    EXPECT_THAT(pins.error().message, HasSubstr(said));
  }
}

class TlsTrustTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"STOKER_TLS_CA", "STOKER_TLS_PIN", "STOKER_TLS_CERTIFICATE", "STOKER_TLS_KEY"}) {
      unsetenv(name);
    }
  }
  void TearDown() override { SetUp(); }
};

TEST_F(TlsTrustTest, Environment_IsRead) {
  EXPECT_EQ(TlsTrustOfEnvironment()->ToString(), "this system's CAs");
  setenv("STOKER_TLS_PIN", kHexA, 1);
  EXPECT_EQ(TlsTrustOfEnvironment()->ToString(), "its key");
  setenv("STOKER_TLS_CA", "/ca.pem", 1);
  setenv("STOKER_TLS_PIN", (std::string(kHexA) + " " + kBase64B).c_str(), 1);
  EXPECT_EQ(TlsTrustOfEnvironment()->ToString(), "one of 2 keys and the CAs in /ca.pem");
  setenv("STOKER_TLS_CERTIFICATE", "/c.pem", 1);
  setenv("STOKER_TLS_KEY", "/c.key", 1);
  EXPECT_EQ(TlsTrustOfEnvironment()->certificate, "/c.pem");
  EXPECT_EQ(TlsTrustOfEnvironment()->key, "/c.key");
}

TEST_F(TlsTrustTest, WhatIsWrong_IsNamed) {
  setenv("STOKER_TLS_PIN", "x", 1);
  EXPECT_THAT(TlsTrustOfEnvironment().error().message, HasSubstr("STOKER_TLS_PIN: 'x' is no"));
  unsetenv("STOKER_TLS_PIN");
  setenv("STOKER_TLS_CERTIFICATE", "/c.pem", 1);
  EXPECT_EQ(TlsTrustOfEnvironment().error().message,
            "STOKER_TLS_CERTIFICATE is set without STOKER_TLS_KEY.");
  unsetenv("STOKER_TLS_CERTIFICATE");
  setenv("STOKER_TLS_KEY", "/c.key", 1);
  EXPECT_EQ(TlsTrustOfEnvironment().error().message,
            "STOKER_TLS_KEY is set without STOKER_TLS_CERTIFICATE.");
}

}  // namespace
}  // namespace stoker
