// A CacheStack in memory whose parts a test replaces one by one.
#pragma once

#include <memory>
#include <string>

#include "cache/stack/stack.h"

namespace stoker {

class ForwardingStack : public CacheStack {
 public:
  BlobStore& blobs() override { return inner_->blobs(); }
  ActionIndex& actions() override { return inner_->actions(); }
  CounterStore& counters() override { return inner_->counters(); }
  std::string TierOf(const Digest& digest) override { return inner_->TierOf(digest); }
  Status Maintain() override { return inner_->Maintain(); }
  StackSnapshot Snapshot() override { return inner_->Snapshot(); }
  PinnedActionIndex& pins() override { return inner_->pins(); }
  Result<GarbageReport> CollectGarbage(const GarbageRequest& request,
                                       const UpkeepWatch& watch) override {
    return inner_->CollectGarbage(request, watch);
  }
  Result<PurgeReport> Purge(const PurgeRequest& request, const UpkeepWatch& watch) override {
    return inner_->Purge(request, watch);
  }
  Result<VerifyReport> Verify(const UpkeepWatch& watch) override { return inner_->Verify(watch); }

 private:
  const std::unique_ptr<CacheStack> inner_ = *CacheStack::Open(StackConfig{}, nullptr);
};

}  // namespace stoker
