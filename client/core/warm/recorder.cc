#include "client/core/warm/recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "protocol/manifest/manifest.h"

namespace stoker {
namespace {

Digest NameOf(const Digest& request_key, Numerics wished) {
  return Sha256Of(std::string(request_key.AsBytes()) + std::string(Name(wished)));
}

Error Failed(const char* what) {
  return Unavailable(std::string(what) + " fails: " + std::strerror(errno) + ".");
}

}  // namespace

bool Recorder::HasRequest(const Digest& request_key, Numerics wished) {
  const std::lock_guard lock(mutex_);
  return failure_.has_value() || said_.contains(NameOf(request_key, wished));
}

Status Recorder::status() {
  const std::lock_guard lock(mutex_);
  return failure_ ? Status(*failure_) : Ok();
}

void Recorder::Request(const Digest& request_key, wire::CompileCall call) {
  if (!is_on() || HasRequest(request_key, call.options.numerics)) return;
  const Digest name = NameOf(request_key, call.options.numerics);
  Append(kRequestRecord, RequestContentOf(std::move(call)));
  const std::lock_guard lock(mutex_);
  said_.insert(name);
}

void Recorder::Capture(const wire::CapturePut& put) {
  if (is_on()) Append(kCaptureRecord, CaptureContentOf(put));
}

void Recorder::Append(std::uint32_t kind, std::string_view content) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  if (const Status status = TryToAppend(kind, content); !status.ok()) {
    failure_ = status.error();
    std::fprintf(stderr, "stoker: requests are not recorded in '%s': %s\n", path_.c_str(),
                 status.error().message.c_str());
  }
}

Status Recorder::TryToAppend(std::uint32_t kind, std::string_view content) {
  if (!file_) STOKER_RETURN_IF_ERROR(Open());
  CatchUp();
  const Digest name = Sha256Of(content);
  if (written_.contains(name)) return Ok();
  STOKER_TRY(const std::string record, EncodeRecord(kManifestFormat, kind, name, content));
  // One write at the end of the file, so that records of several processes do not mix.
  if (!WriteAll(file_->get(), record)) return Failed("Writing");
  written_.insert(name);
  return Ok();
}

Status Recorder::Open() {
  FileDescriptor file(open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file) return Failed("Opening it");
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return Failed("Looking at it");
  if (!S_ISREG(status.st_mode)) return InvalidArgument("It is no regular file.");
  file_.emplace(std::move(file));
  return BeginsRecord(0) ? Ok() : Status(InvalidArgument("It is no manifest."));
}

bool Recorder::BeginsRecord(std::uint64_t offset) const {
  std::string start(kManifestFormat.magic.size(), '\0');
  const ssize_t got = pread(file_->get(), start.data(), start.size(), static_cast<off_t>(offset));
  return got >= 0 &&
         kManifestFormat.magic.starts_with(start.substr(0, static_cast<std::size_t>(got)));
}

void Recorder::CatchUp() {
  struct stat status {};
  if (fstat(file_->get(), &status) != 0) return;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::string bytes(kRecordHeaderBytes, '\0');
  while (looked_at_ + kRecordHeaderBytes <= size) {
    const ssize_t got =
        pread(file_->get(), bytes.data(), bytes.size(), static_cast<off_t>(looked_at_));
    if (got != static_cast<ssize_t>(bytes.size())) return;
    const auto header = DecodeRecordHeader(kManifestFormat, bytes);
    // Behind what is torn, records are written twice rather than not at all.
    if (!header.ok() || header->size > size - looked_at_ - kRecordHeaderBytes) return;
    const std::uint64_t end = looked_at_ + kRecordHeaderBytes + header->size;
    if (end < size && !BeginsRecord(end)) return;
    if (header->version == kManifestFormat.version) written_.insert(header->name);
    looked_at_ = end;
  }
}

}  // namespace stoker
