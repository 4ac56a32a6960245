#include "protocol/tls/pem_files.h"

#include <gmock/gmock.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include "tests/unit/protocol/tls/test_authority.h"
#include "tests/unit/temp_folder.h"

namespace stoker::tls {
namespace {

using testing::HasSubstr;

class PemFiles : public testing::Test {
 protected:
  Status Use(const std::string& certificate, const std::string& key) {
    auto context = NewContext(TLS_server_method());
    EXPECT_TRUE(context.ok());
    return UseCertificate(context->get(), certificate, key);
  }

  TempFolder folder_;
  TestAuthority authority_;
};

TEST_F(PemFiles, Certificate_WithItsChainAndKey_IsUsed) {
  const IssuedFiles files = authority_.IssueIn(folder_.path(), "a");
  const Status used = Use(files.certificate, files.key);
  EXPECT_TRUE(used.ok()) << used.error().message;
  WriteSecret(files.certificate, authority_.Issue().certificate + authority_.certificate());
  EXPECT_EQ(CertificatesIn("File", files.certificate)->size(), 2U);
}

TEST_F(PemFiles, Certificate_WithTheKeyInTheSameFile_IsUsed) {
  const Issued issued = authority_.Issue();
  const std::string both = folder_.path() + "/both.pem";
  WriteSecret(both, issued.key + issued.certificate);
  const Status used = Use(both, both);
  EXPECT_TRUE(used.ok()) << used.error().message;
}

TEST_F(PemFiles, WhatDoesNotFit_IsNamed) {
  const IssuedFiles one = authority_.IssueIn(folder_.path(), "one");
  const IssuedFiles other = authority_.IssueIn(folder_.path(), "other");
  const std::string nothing = folder_.path() + "/nothing";
  WriteSecret(nothing, "nothing\n");
  std::string text = authority_.certificate();
  text[text.size() / 2] = text[text.size() / 2] == 'A' ? 'B' : 'A';
  text.erase(100, 4);
  const std::string damaged = folder_.path() + "/damaged";
  WriteSecret(damaged, text);
  const std::tuple<std::string, std::string, std::string> rows[] = {
      {one.certificate, other.key, "is not that of the first certificate in '" + one.certificate},
      {one.certificate, nothing, "'" + nothing + "' holds no private key"},
      {one.certificate, one.certificate, "holds no private key"},
      {nothing, one.key, "'" + nothing + "' holds no certificate"},
      {damaged, one.key, "'" + damaged + "' holds a damaged certificate"},
      {folder_.path() + "/none", one.key, "/none' cannot be read"},
      {one.certificate, folder_.path() + "/none", "/none' cannot be read"}};
  for (const auto& [certificate, key, said] : rows) {
    const Status used = Use(certificate, key);
    ASSERT_FALSE(used.ok()) << said;
    EXPECT_THAT(used.error().message, HasSubstr(said));
  }
}

TEST_F(PemFiles, KeyThatOthersMayRead_IsRefused_ACertificateIsNot) {
  const IssuedFiles files = authority_.IssueIn(folder_.path(), "a");
  ASSERT_EQ(chmod(files.certificate.c_str(), 0644), 0);
  EXPECT_TRUE(Use(files.certificate, files.key).ok());
  ASSERT_EQ(chmod(files.key.c_str(), 0604), 0);
  EXPECT_THAT(Use(files.certificate, files.key).error().message, HasSubstr("read by others"));
  ASSERT_EQ(chmod(files.key.c_str(), 0600), 0);
  ASSERT_EQ(chmod(files.certificate.c_str(), 0666), 0);
  EXPECT_THAT(Use(files.certificate, files.key).error().message, HasSubstr("alone may write to"));
}

TEST_F(PemFiles, KeyWithAPassPhrase_IsRefusedWithoutAsking) {
  const IssuedFiles files = authority_.IssueIn(folder_.path(), "a");
  const std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>> key(EVP_EC_gen("P-256"));
  const std::unique_ptr<BIO, FreedBy<BIO_free>> bio(BIO_new(BIO_s_mem()));
  char phrase[] = "secret";
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), EVP_aes_128_cbc(), phrase, 6,
                                          nullptr, nullptr),
            1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  WriteSecret(files.key, std::string(text, static_cast<std::size_t>(size)));
  EXPECT_THAT(Use(files.certificate, files.key).error().message, HasSubstr("pass phrase"));
}

}  // namespace
}  // namespace stoker::tls
