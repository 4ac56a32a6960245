/* libstoker: the C interface.
 *
 * Every function is safe to call from any thread unless it says otherwise. Handles are opaque and
 * reference counted where a retain function exists. Functions that can fail return a
 * stoker_status*: NULL is success, anything else must be freed with stoker_status_free. Strings
 * handed in are UTF-8, need not outlive the call, and carry an explicit size where they may be
 * large. Structs start with struct_size, set by the caller to sizeof, so that they can grow. */
#ifndef STOKER_STOKER_H_
#define STOKER_STOKER_H_

#include <stddef.h>
#include <stdint.h>

#if defined(STOKER_BUILDING_LIBRARY)
#define STOKER_API __attribute__((visibility("default")))
#else
#define STOKER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define STOKER_ABI_VERSION 5
STOKER_API uint32_t stoker_abi_version(void);
STOKER_API const char* stoker_version(void); /* "0.1.0" */

/* --- Status ------------------------------------------------------------------------------- */

typedef struct stoker_status stoker_status;

/* What the caller should do about it. */
typedef enum stoker_code {
  STOKER_INVALID_ARGUMENT = 1,    /* the input is wrong: do not retry */
  STOKER_NOT_FOUND = 2,           /* nothing is stored under this name */
  STOKER_UNIMPLEMENTED = 3,       /* run it some other way */
  STOKER_RESOURCE_EXHAUSTED = 4,  /* a limit was reached: retry later or with less */
  STOKER_UNAVAILABLE = 5,         /* no daemon: fall back */
  STOKER_DEADLINE_EXCEEDED = 6,   /* fall back or retry */
  STOKER_DATA_LOSS = 7,           /* damaged bytes were refused */
  STOKER_FAILED_PRECONDITION = 8, /* version, permission or state forbids it */
  STOKER_INTERNAL = 9             /* a bug in Stoker */
} stoker_code;

STOKER_API stoker_code stoker_status_code(const stoker_status* status);
STOKER_API const char* stoker_status_message(const stoker_status* status); /* lives as long as it */
STOKER_API void stoker_status_free(stoker_status* status);                 /* NULL is fine */

/* --- Client ------------------------------------------------------------------------------- */

typedef struct stoker_client stoker_client;

typedef struct stoker_client_options {
  size_t struct_size;
  /* "unix:/path", "http://127.0.0.1:8471", "https://cache:8471"; NULL: $STOKER_URL, else a private
   * daemon on a Unix socket under the cache folder, started when it is not there. */
  const char* url;
  const char* name_space; /* NULL: $STOKER_NAMESPACE, else "default" */
  const char* cache_dir;  /* of a private daemon; NULL: $STOKER_CACHE_DIR, else ~/.cache/stoker */
  const char* stokerd;    /* the daemon's program; NULL: $STOKER_DAEMON, beside the library, PATH */
  int64_t connect_timeout_ms; /* of a connection, and of a private daemon that starts; 0: 10000 */
  int64_t compile_timeout_ms; /* of silence within a compile; 0: 30000 */
} stoker_client_options;

/* Connects lazily: the first request starts a private daemon if one is needed. */
STOKER_API stoker_status* stoker_client_create(const stoker_client_options* options,
                                               stoker_client** client);
STOKER_API void stoker_client_free(stoker_client* client);
/* Waits for what is written in the background: packed weights, which the next process of this host
 * finds. Whatever is not written after `timeout_ms` is given up. Freeing the client and its
 * executables waits without a limit; a process that ends otherwise calls this before. */
STOKER_API stoker_status* stoker_client_flush(stoker_client* client, int64_t timeout_ms);
/* Text of GET on the daemon's `path` ("/status"): for tools. Freed with stoker_text_free. */
STOKER_API stoker_status* stoker_client_get(stoker_client* client, const char* path, char** text);
/* The same of a daemon that runs ("/-/healthy"); UNAVAILABLE when none does, never starts one. */
STOKER_API stoker_status* stoker_client_probe(stoker_client* client, const char* path, char** text);
/* Adds to the daemon's counters: json is {"counters": {name: number}, "fallback_ops": {op: count}}.
 */
STOKER_API stoker_status* stoker_client_report(stoker_client* client, const char* json);
STOKER_API void stoker_text_free(char* text);

/* --- Captures: what a frontend recorded of a compiled call --------------------------------------
 */

typedef struct stoker_captures stoker_captures;

/* The captures stored under a capture key (64 hexadecimal digits), most recent first; none is no
 * error. `fields` is JSON, [[tag, text]] in key order: what the key was made of, so that a miss can
 * be explained; NULL: unknown. Each capture is the content of an envelope whose digest fits, by
 * this user ($STOKER_WRITER_KEY, else a key of their own that is made at the first call) or by a
 * writer that $STOKER_TRUSTED_WRITERS names; others' are left out. */
STOKER_API stoker_status* stoker_client_find_captures(stoker_client* client, const char* key,
                                                      const char* fields,
                                                      stoker_captures** captures);
STOKER_API size_t stoker_captures_count(const stoker_captures* captures);
/* All three live as long as `captures`. The data has its writer's signature, which is looked at
 * here: NULL where it does not fit. */
STOKER_API const char* stoker_captures_data(const stoker_captures* captures, size_t index,
                                            size_t* size);
STOKER_API const char* stoker_captures_writer(const stoker_captures* captures, size_t index);
STOKER_API const char* stoker_captures_digest(const stoker_captures* captures, size_t index);
/* Why there is none, for people; empty if there are. */
STOKER_API const char* stoker_captures_miss_reason(const stoker_captures* captures);
/* How many came in a damaged envelope; they have been dropped. */
STOKER_API size_t stoker_captures_damaged(const stoker_captures* captures);
/* Where there is none: how many writers that are not trusted have some under the key. */
STOKER_API size_t stoker_captures_untrusted(const stoker_captures* captures);
STOKER_API void stoker_captures_free(stoker_captures* captures);
/* Stores one more; a key keeps a few, and the oldest goes. */
STOKER_API stoker_status* stoker_client_put_capture(stoker_client* client, const char* key,
                                                    const char* fields, const char* label,
                                                    const char* data, size_t size);
/* Says that this process runs one of the captures that were found under `key`, for its manifest
 * (below). Nothing happens where none is written. */
STOKER_API stoker_status* stoker_client_record_capture(stoker_client* client, const char* key,
                                                       const char* fields, const char* label,
                                                       const stoker_captures* captures,
                                                       size_t index);
/* Takes a capture (its digest, as above) that was refused out of service. FAILED_PRECONDITION: it
 * is whole, and another writer's. */
STOKER_API stoker_status* stoker_client_drop_capture(stoker_client* client, const char* key,
                                                     const char* digest);
/* How a start went, for statistics and explanations. `outcome`: hit, miss, recorded, local, failed,
 * damaged; `reason`: one of few words; `detail`: for people. */
STOKER_API stoker_status* stoker_client_note_capture(stoker_client* client, const char* entry,
                                                     const char* outcome, const char* reason,
                                                     const char* detail);

/* --- Tools (what the stoker command line is made of); JSON out -------------------------------- */

/* [{"key", "artifact", "namespace", "kind", "label", "size_bytes", "created_unix_s",
 *   "last_used_unix_s", "compile_seconds", "hits", "target", "writer"}]. NULL or "": all. */
STOKER_API stoker_status* stoker_client_list(stoker_client* client, const char* name_space,
                                             const char* kind, uint32_t limit, char** json);
/* [{"name", "text"}] for the artifact whose request key starts with `key_prefix` (at least 4
 * hexadecimal digits). `sections`: comma-separated of graph, groups, loops, llvm, asm, plan; NULL:
 * all. */
STOKER_API stoker_status* stoker_client_inspect(stoker_client* client, const char* key_prefix,
                                                const char* sections, char** json);
/* [{"tag", "a", "b"}]: the fields in which two stored requests differ, in key order. */
STOKER_API stoker_status* stoker_client_explain(stoker_client* client, const char* key_a,
                                                const char* key_b, char** json);
/* Works on the daemon's cache as a whole until it is done, which may take minutes. `work` and its
 * request, a JSON object (NULL: {}):
 *   "gc"      {"limit_bytes", "unnamed_seconds"}: blobs that no entry names leave when they are
 *             unused for so long, then the coldest, down to the limit (without: the low watermark)
 *   "purge"   {"namespace", "compiler_epoch", "unused_seconds", "dry_run"}: entries that fit all
 *             that is given leave, and the blobs that only they name
 *   "verify"  {}: every blob is hashed; damaged ones are replaced by good copies, or quarantined
 * `report`: {name: count}. FAILED_PRECONDITION: other such work is under way. */
typedef void (*stoker_progress_fn)(void* context, const char* stage, uint32_t done, uint32_t total,
                                   const char* detail, double elapsed_seconds);
STOKER_API stoker_status* stoker_client_upkeep(stoker_client* client, const char* work,
                                               const char* request, stoker_progress_fn progress,
                                               void* progress_context, char** report);
/* An entry that is pinned stays, with all it names, until it is unpinned (`pinned` is 0). The only
 * one of the namespace (NULL or "": the client's) whose key starts with `key_prefix`, at least 4
 * hexadecimal digits. {"namespace", "key", "kind", "label", "size_bytes", "pinned_unix_s"} */
STOKER_API stoker_status* stoker_client_pin(stoker_client* client, const char* name_space,
                                            const char* key_prefix, int32_t pinned, char** json);
/* {"pins": [as above], "bytes", "limit_bytes"} of one namespace; NULL or "": of all. */
STOKER_API stoker_status* stoker_client_pins(stoker_client* client, const char* name_space,
                                             char** json);
/* Drains and stops the daemon. NOT_FOUND when nobody listens there, UNAVAILABLE when it cannot be
 * told, as of a host that does not answer; never starts one. */
STOKER_API stoker_status* stoker_client_stop(stoker_client* client);
/* The compiler of the daemon that compiles for this client: another one's artifacts are not served.
 * Starts a private daemon if need be. */
STOKER_API stoker_status* stoker_client_compiler_epoch(stoker_client* client, char** text);
/* INVALID_ARGUMENT, with the rule: no namespace has this name. */
STOKER_API stoker_status* stoker_check_namespace(const char* name_space);
/* What artifacts are compiled for on a device of this process: "cpu" (NULL too), or "cuda:0", as
 * the CUDA driver counts. Asks nobody. UNAVAILABLE where there is no driver or no such GPU,
 * FAILED_PRECONDITION where the driver is too old, with the reason. STOKER_TARGET may name the one
 * of "cpu": INVALID_ARGUMENT where it is no target, FAILED_PRECONDITION where this processor lacks
 * a part of it. */
STOKER_API stoker_status* stoker_device_target(const char* device, char** text);
/* All that this machine's processor can run, as a target, whatever STOKER_TARGET names. */
STOKER_API stoker_status* stoker_processor(char** text);
/* Loads the libraries that executables on a GPU call and lets them read what they first need, a
 * tenth of a second that the first stoker_compile waits for otherwise: for a thread of its own, as
 * soon as the job knows its GPU. On the CPU nothing. Errors as of stoker_device_target; and
 * FAILED_PRECONDITION, naming what was sought, where there is no such library. */
STOKER_API stoker_status* stoker_device_warm_up(const char* device);
/* {"url", "tls", "private", "cache_dir", "daemon_program", "reachable", "error", "daemon_version",
 * "compiler_epoch", "client_version", "processor", "target" (what is compiled for; another where
 * STOKER_TARGET names it), "target_error"}: never fails on a broken setup,
 * it describes it; never starts a daemon. "tls" is empty where the URL is not https://. */
STOKER_API stoker_status* stoker_client_describe(stoker_client* client, char** json);

/* --- Caches made warm ahead ----------------------------------------------------------------------
 *
 * With $STOKER_RECORD set, processes append what they ask for to the manifest of that name:
 * requests with their graphs, and captures. What cannot be written is one line on standard error.
 */

/* {"requests", "captures", "damaged_bytes"} of the manifest in a file; an empty file is one. */
STOKER_API stoker_status* stoker_manifest_describe(const char* path, char** json);

typedef struct stoker_warm_options {
  size_t struct_size;
  const char* name_space;     /* NULL or "": that of each record */
  const char* const* targets; /* "cpu/x86-64-v4+amx_bf16"; none: that of each request */
  size_t num_targets;
  const char* const* numerics; /* "highest", "high", "medium"; none: those of each request */
  size_t num_numerics;
} stoker_warm_options;

typedef struct stoker_warm_plan stoker_warm_plan;

typedef enum stoker_warm_outcome {
  STOKER_WARM_HIT = 0,      /* it is there */
  STOKER_WARM_MISSING = 1,  /* it is not, and was only asked about */
  STOKER_WARM_COMPILED = 2, /* it is there now */
  STOKER_WARM_STORED = 3    /* the same, of a capture */
} stoker_warm_outcome;

/* What a manifest asks of this client's daemon: each request once for each target and numerics,
 * then the captures. */
STOKER_API stoker_status* stoker_warm_plan_of_manifest(stoker_client* client, const char* path,
                                                       const stoker_warm_options* options,
                                                       stoker_warm_plan** plan);
/* The daemon's own artifacts of earlier compilers, at most `limit` (0: 100000), those with most
 * hits first. */
STOKER_API stoker_status* stoker_warm_plan_of_stale(stoker_client* client, const char* name_space,
                                                    uint32_t limit, stoker_warm_plan** plan);
STOKER_API size_t stoker_warm_plan_count(const stoker_warm_plan* plan);
/* {"compiler_epoch", "skipped_captures" (no job of this daemon, on these targets, would find them),
 * "damaged_bytes", "cut_bytes" (of these: of records whose writer was killed)}. */
STOKER_API stoker_status* stoker_warm_plan_describe(const stoker_warm_plan* plan, char** json);
/* {"kind": "request"|"capture", "namespace", "key", "label", "target"}. */
STOKER_API stoker_status* stoker_warm_plan_item(const stoker_warm_plan* plan, size_t index,
                                                char** json);
/* Has one item made, unless `check_only`. Waits while the daemon's queue is full. */
STOKER_API stoker_status* stoker_warm_plan_run(stoker_warm_plan* plan, size_t index,
                                               int32_t check_only, stoker_warm_outcome* outcome);
STOKER_API void stoker_warm_plan_free(stoker_warm_plan* plan);

typedef void (*stoker_transfer_fn)(void* context, size_t done, size_t total);

/* What the daemon has in a namespace (NULL or "": everywhere) that its compiler made, into a file
 * that can be imported elsewhere; one that is there is added to. An export or import that was
 * interrupted goes on when it is repeated. json: {"artifacts", "captures", "there_already",
 * "skipped" (of another compiler, gone meanwhile), "bytes"}. `progress` may be NULL. */
STOKER_API stoker_status* stoker_bundle_export(stoker_client* client, const char* name_space,
                                               const char* path, stoker_transfer_fn progress,
                                               void* context, char** json);
/* Needs the scope "admin". */
STOKER_API stoker_status* stoker_bundle_import(stoker_client* client, const char* path,
                                               stoker_transfer_fn progress, void* context,
                                               char** json);

/* {"daemon": {"url", "signing_keys": ["ed25519:..."], "is_authenticated", "believed": [...],
 * "error"}, "pinned_signers": [...], "writer": {"key", "file", "error"}, "trusted_writers": [...]}:
 * whose code is run. Never starts a daemon. */
STOKER_API stoker_status* stoker_client_keys(stoker_client* client, char** json);

/* A line of each file below `folder` whose name ends in `suffix`, sorted by path: its path below
 * the folder, bytes, nanoseconds of the last change of its content and of its status, inode. Links
 * are followed. `without`: names in the folder itself that are left out, separated by commas; NULL:
 * none. What cannot be looked at is left out too. */
STOKER_API stoker_status* stoker_list_files(const char* folder, const char* suffix,
                                            const char* without, char** text);

/* --- Graph -------------------------------------------------------------------------------- */

typedef struct stoker_graph stoker_graph;

/* The readable text form (protocol/graph/OPS.md). */
STOKER_API stoker_status* stoker_graph_parse(const char* text, size_t size, stoker_graph** graph);
/* The same, of a regular file. */
STOKER_API stoker_status* stoker_graph_read(const char* path, stoker_graph** graph);
STOKER_API stoker_status* stoker_graph_print(const stoker_graph* graph, char** text);
/* 64 hexadecimal digits and a terminating zero. */
STOKER_API void stoker_graph_digest(const stoker_graph* graph, char hex[65]);
STOKER_API void stoker_graph_free(stoker_graph* graph);

/* --- Compile ------------------------------------------------------------------------------ */

typedef struct stoker_executable stoker_executable;

typedef struct stoker_compile_options {
  size_t struct_size;
  /* What products of f32 matrices may lose for speed, as in torch.set_float32_matmul_precision:
   * "highest" (nothing), "high" (two bf16 parts), "medium" (bf16); NULL: highest. */
  const char* numerics;
  /* The first call runs beside the reference interpreter, as long as that takes. One that differs
   * by more than rounding explains fails with INTERNAL, and so does every later one that does. */
  int32_t verify;
  const char* target;          /* NULL: that of the device */
  stoker_progress_fn progress; /* called from the calling thread; NULL: none */
  void* progress_context;
  /* Where the executable runs, "cpu" or "cuda:0"; NULL: "cpu". Neither a request nor an artifact
   * knows a number: one compile serves all GPUs of a kind. */
  const char* device;
} stoker_compile_options;

/* Looks up (memory, then daemon), compiles on a miss, loads. Blocks. */
STOKER_API stoker_status* stoker_compile(stoker_client* client, const stoker_graph* graph,
                                         const stoker_compile_options* options,
                                         stoker_executable** executable);
/* Writes what stoker_compile would ask for into the manifest that $STOKER_RECORD names (see above),
 * and asks for nothing: no daemon is needed. FAILED_PRECONDITION where no manifest is written. */
STOKER_API stoker_status* stoker_record_request(stoker_client* client, const stoker_graph* graph,
                                                const stoker_compile_options* options);
/* As stoker_compile, from a request key alone: NOT_FOUND when no tier has it. `numerics`: what the
 * caller would compile with now, for its manifest (below), which may be compiled for processors
 * that read it; NULL: highest. `device`: where it runs; NULL: "cpu". */
STOKER_API stoker_status* stoker_load(stoker_client* client, const char* request_key_hex,
                                      const char* numerics, const char* device,
                                      stoker_executable** executable);
STOKER_API void stoker_executable_free(stoker_executable* executable);

/* JSON about how the executable came to be: {"request_key", "device", "source":
 * "memory"|"disk"|"shared"| "compiled"|"joined", "miss_reason", "reads_numerics" (other numerics
 * are another request), "lookup_s", "compile_s", "load_s", "recorded_compile_s", "kernels_unique",
 * "launches", "prepare_launches", "arena_bytes", "prepared_bytes", "prepared_from", "repairs",
 * "repaired_parameter", "verification": ""|"pending"|"verified"|"refused", "host_calls":
 * [{"target", "operands", "results"}], "inputs": [...], "outputs": [...]}. */
STOKER_API stoker_status* stoker_executable_describe(const stoker_executable* executable,
                                                     char** json);

/* --- Run ------------------------------------------------------------------------------------
 *
 * On a GPU every address is one of its memory, and `stream` a CUstream or cudaStream_t of its
 * primary context (the one that the CUDA runtime and PyTorch use), in whose order all work is done;
 * NULL: the legacy default stream. Functions return before the work is done, and none waits for it
 * but one that says so. On a CPU `stream` is not looked at, and the work is done on return. */

/* Number of threads the calling process computes with, from now on; 0: all it may use. */
STOKER_API void stoker_set_num_threads(int32_t threads);

/* Where calls on GPUs, "cuda:ORDINAL", have memory from that they work in: taken before and given
 * back after what they do on `stream`, in its order, as an allocator that caches by streams wants
 * it. At least 64-byte aligned; NULL: there is none left, and the call fails with
 * RESOURCE_EXHAUSTED. Called on the threads of calls; throws nothing. */
typedef void* (*stoker_allocate_fn)(void* context, int32_t ordinal, size_t bytes, void* stream);
typedef void (*stoker_free_fn)(void* context, int32_t ordinal, void* memory, void* stream);
/* For the whole process, from now on; both NULL: the CUDA driver's, from a pool that keeps what it
 * has. Memory is given back to the allocator that it is of. */
STOKER_API stoker_status* stoker_set_device_allocator(stoker_allocate_fn allocate,
                                                      stoker_free_fn free, void* context);

/* The parameters of the graph (its inputs with role parameter), in input order. (data[i],
 * versions[i]) names a content in the whole process: when the content of `data[i]` changes, give a
 * version that no executable was given for that address. What depends on parameters alone is
 * computed here, unless a living executable is bound to the same and has computed it. The memory
 * must stay valid until the next binding or until the executable is freed. Not concurrently with
 * stoker_executable_run on the same executable. On a GPU what is computed here is waited for. */
STOKER_API stoker_status* stoker_executable_bind(stoker_executable* executable,
                                                 const void* const* data, const int64_t* versions,
                                                 size_t count, void* stream);

/* Lets go of the bound parameters and of what was computed from them; nothing runs until the next
 * binding. Not concurrently with stoker_executable_run on the same executable. */
STOKER_API void stoker_executable_unbind(stoker_executable* executable);

/* A hash of some bytes of each region, spread over it, in microseconds: for callers who are not
 * told when the content of a parameter changes. Updates of whole regions change the hash, and any
 * of regions of 64 KiB together; those of a few bytes of a large one may not. */
STOKER_API uint64_t stoker_sample(const void* const* data, const size_t* sizes, size_t count);
/* The same of all bytes, at the speed of reading them. */
STOKER_API uint64_t stoker_hash(const void* const* data, const size_t* sizes, size_t count);

/* How often a run found that a parameter held something else than when it was bound, under the same
 * version, and computed anew what depends on it. Runs look at all of what was so computed from, a
 * little in each, for one hundredth of their time. "repaired_parameter" in the description is the
 * last one, as a position among the parameters. */
STOKER_API int64_t stoker_executable_repairs(const stoker_executable* executable);

/* Runs an op of the host framework: an extern_call of the graph, number `call` in "host_calls" of
 * the description, whose "target" says which. All tensors are row-major and at addresses that hold
 * for the call alone; `sizes` has all dims of each operand, then of each result. Called by
 * stoker_executable_run on its thread; the results are written when it returns, on a GPU when the
 * run's stream, to which its work must go, has come so far. Anything but 0 ends the run with
 * FAILED_PRECONDITION. */
typedef int32_t (*stoker_host_fn)(void* context, size_t call, const void* const* operands,
                                  void* const* results, const int64_t* sizes);
/* What runs such ops from now on; NULL: nothing does, and executables that have any do not run. Not
 * concurrently with stoker_executable_run on the same executable. */
STOKER_API void stoker_executable_set_host(stoker_executable* executable, stoker_host_fn call,
                                           void* context);

/* Gives what a host call is to `stream` (a CUstream); 0: it has. */
typedef int32_t (*stoker_give_fn)(void* context, void* stream);
/* Where `give` gives a stream of libstoker's own one kernel and nothing else, `*is_kept` is 1, and
 * that kernel, with its parameters, goes to a run's stream in place of host call `call` from now
 * on, where the call's operands, then its results, are at these addresses, and of these sizes, as
 * a stoker_host_fn is given them; none: they do not vary. It takes the place of what did before.
 * Else, and always on cores, `*is_kept` is 0. `give` is called once, here, and what it gives then
 * is not done. Concurrently with whatever else. FAILED_PRECONDITION where the executable has no
 * host. */
STOKER_API stoker_status* stoker_executable_record_host_call(
    stoker_executable* executable, size_t call, const void* const* addresses, size_t count,
    const int64_t* sizes, size_t num_sizes, stoker_give_fn give, void* context, int32_t* is_kept);
/* The host runs all of its calls again. Concurrently with whatever else. */
STOKER_API void stoker_executable_forget_host_calls(stoker_executable* executable);
/* How many host calls of the calling thread's runs were such kernels, since it began. */
STOKER_API size_t stoker_kept_host_calls(void);

/* Runs on the calling thread and the pool, or on the device of `stream`. `inputs` are all inputs of
 * the graph in order (row-major contiguous; parameters may be NULL: the bound ones are used),
 * `dims` the values of the graph's symbols in order, `outputs` row-major buffers; NULL for an
 * output that is an input as it stands ("same_as_input" in the description) leaves it out. What is
 * given for an output that updates an input ("updates_input") is not looked at: the output is made
 * in the memory of that input, which must be writable and overlap with no other; a run that fails
 * has not changed it. Concurrent calls on one executable are fine, unless they update the same
 * memory. One that is verified waits. */
STOKER_API stoker_status* stoker_executable_run(stoker_executable* executable,
                                                const void* const* inputs, size_t num_inputs,
                                                const int64_t* dims, size_t num_dims,
                                                void* const* outputs, size_t num_outputs,
                                                void* stream);

/* Called by a run before a step of its plan: 0, or the run ends with FAILED_PRECONDITION. */
typedef int32_t (*stoker_turn_fn)(void* context, size_t turn);
/* stoker_executable_run on a GPU, in which memory comes and goes: before step `steps[i]`
 * (ascending), `turn` is called with i, on the calling thread. From then on `outputs` is read
 * again: an output has to have memory before the first step that names it ("first_of_outputs" in
 * the description; -1: none does), and what lies in an input is the caller's again after the last
 * ("last_of_inputs"), in the order of `stream`. UNIMPLEMENTED on cores; FAILED_PRECONDITION where
 * an output has no memory in time, or the run is verified. */
STOKER_API stoker_status* stoker_executable_run_in_turns(
    stoker_executable* executable, const void* const* inputs, size_t num_inputs,
    const int64_t* dims, size_t num_dims, void* const* outputs, size_t num_outputs, void* stream,
    const int64_t* steps, size_t num_turns, stoker_turn_fn turn, void* context);

/* One run, which is waited for, with each launch and each host call timed: JSON list of {"label",
 * "kernel" (null: a host call, whose label is its target), "us", "flops", "bytes"}. */
STOKER_API stoker_status* stoker_executable_profile(stoker_executable* executable,
                                                    const void* const* inputs, size_t num_inputs,
                                                    const int64_t* dims, size_t num_dims,
                                                    void* const* outputs, size_t num_outputs,
                                                    void* stream, char** json);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* STOKER_STOKER_H_ */
