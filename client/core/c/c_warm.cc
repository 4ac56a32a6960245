// stoker.h: manifests, bundles, and caches made warm by them.
#include <boost/json.hpp>
#include <string>
#include <vector>

#include "client/core/c/c_handles.h"
#include "client/core/warm/bundle_transfer.h"
#include "client/core/warm/warm_plan.h"
#include "protocol/manifest/manifest.h"

struct stoker_warm_plan {
  stoker::WarmPlan plan;
};

namespace stoker {
namespace {

namespace json = boost::json;

template <typename T, typename Parse>
Result<std::vector<T>> ListOf(const char* const* texts, std::size_t count, const Parse& parse) {
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) {
    STOKER_TRY(T value, parse(TextOrEmpty(texts[i])));
    values.push_back(std::move(value));
  }
  return values;
}

Result<WarmOptions> OptionsOf(const stoker_warm_options* options) {
  WarmOptions result;
  if (options == nullptr) return result;
  if (options->struct_size < sizeof(stoker_warm_options)) {
    return InvalidArgument("stoker_warm_options.struct_size is " +
                           std::to_string(options->struct_size) + "; at least " +
                           std::to_string(sizeof(stoker_warm_options)) + " is expected.");
  }
  result.name_space = TextOrEmpty(options->name_space);
  STOKER_TRY(result.targets, ListOf<Target>(options->targets, options->num_targets,
                                            [](const auto& text) { return Target::Parse(text); }));
  STOKER_TRY(result.numerics,
             ListOf<Numerics>(options->numerics, options->num_numerics, NumericsNamed));
  return result;
}

stoker_warm_outcome OutcomeOf(WarmOutcome outcome) {
  switch (outcome) {
    case WarmOutcome::kHit:
      return STOKER_WARM_HIT;
    case WarmOutcome::kMissing:
      return STOKER_WARM_MISSING;
    case WarmOutcome::kCompiled:
      return STOKER_WARM_COMPILED;
    case WarmOutcome::kStored:
      return STOKER_WARM_STORED;
  }
  return STOKER_WARM_MISSING;
}

std::string JsonOf(const TransferCounts& counts) {
  return json::serialize(json::object{{"artifacts", counts.artifacts},
                                      {"captures", counts.captures},
                                      {"there_already", counts.there_already},
                                      {"skipped", counts.skipped},
                                      {"bytes", counts.bytes}});
}

OnTransfer CallOf(stoker_transfer_fn progress, void* context) {
  return [=](std::size_t done, std::size_t total) {
    if (progress != nullptr) progress(context, done, total);
  };
}

}  // namespace
}  // namespace stoker

using namespace stoker;  // NOLINT: this file is the adapter between the two.

extern "C" {

stoker_status* stoker_manifest_describe(const char* path, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(path, "path"));
    STOKER_TRY(const Manifest manifest, Manifest::Read(path));
    *text = CopyText(json::serialize(json::object{{"requests", manifest.requests()},
                                                  {"captures", manifest.captures()},
                                                  {"damaged_bytes", manifest.damaged_bytes()}}));
    return Ok();
  });
}

stoker_status* stoker_warm_plan_of_manifest(stoker_client* client, const char* path,
                                            const stoker_warm_options* options,
                                            stoker_warm_plan** plan) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(path, "path"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(plan, "plan"));
    STOKER_TRY(const WarmOptions chosen, OptionsOf(options));
    STOKER_TRY(Manifest manifest, Manifest::Read(path));
    STOKER_TRY(WarmPlan made,
               WarmPlan::OfManifest(std::move(manifest), chosen, client->config.daemon));
    *plan = new stoker_warm_plan{std::move(made)};
    return Ok();
  });
}

stoker_status* stoker_warm_plan_of_stale(stoker_client* client, const char* name_space,
                                         uint32_t limit, stoker_warm_plan** plan) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(plan, "plan"));
    STOKER_TRY(WarmPlan made,
               WarmPlan::OfStale(TextOrEmpty(name_space), limit, client->config.daemon));
    *plan = new stoker_warm_plan{std::move(made)};
    return Ok();
  });
}

size_t stoker_warm_plan_count(const stoker_warm_plan* plan) { return plan->plan.size(); }

stoker_status* stoker_warm_plan_describe(const stoker_warm_plan* plan, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(plan, "plan"));
    *text =
        CopyText(json::serialize(json::object{{"compiler_epoch", plan->plan.compiler_epoch()},
                                              {"skipped_captures", plan->plan.skipped_captures()},
                                              {"damaged_bytes", plan->plan.damaged_bytes()},
                                              {"cut_bytes", plan->plan.cut_bytes()}}));
    return Ok();
  });
}

stoker_status* stoker_warm_plan_item(const stoker_warm_plan* plan, size_t index, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(plan, "plan"));
    const WarmItem& item = plan->plan.item(index);
    *text = CopyText(json::serialize(json::object{{"kind", item.is_capture ? "capture" : "request"},
                                                  {"namespace", item.name_space},
                                                  {"key", item.key.ToHex()},
                                                  {"label", item.label},
                                                  {"target", item.target}}));
    return Ok();
  });
}

stoker_status* stoker_warm_plan_run(stoker_warm_plan* plan, size_t index, int32_t check_only,
                                    stoker_warm_outcome* outcome) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(plan, "plan"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(outcome, "outcome"));
    STOKER_TRY(const WarmOutcome done, plan->plan.Run(index, check_only != 0));
    *outcome = OutcomeOf(done);
    return Ok();
  });
}

stoker_status* stoker_bundle_export(stoker_client* client, const char* name_space, const char* path,
                                    stoker_transfer_fn progress, void* context, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(path, "path"));
    STOKER_TRY(const TransferCounts counts,
               ExportBundle(client->session.daemon(), TextOrEmpty(name_space), path,
                            CallOf(progress, context)));
    *text = CopyText(JsonOf(counts));
    return Ok();
  });
}

stoker_status* stoker_bundle_import(stoker_client* client, const char* path,
                                    stoker_transfer_fn progress, void* context, char** text) {
  return Guarded([&]() -> Status {
    STOKER_RETURN_IF_ERROR(RequireNonNull(client, "client"));
    STOKER_RETURN_IF_ERROR(RequireNonNull(path, "path"));
    STOKER_TRY(const TransferCounts counts,
               ImportBundle(client->session.daemon(), path, CallOf(progress, context)));
    *text = CopyText(JsonOf(counts));
    return Ok();
  });
}

void stoker_warm_plan_free(stoker_warm_plan* plan) { delete plan; }

}  // extern "C"
