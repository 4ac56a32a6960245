"""check_layering.py on small made-up repositories: sound ones pass, each broken one is named."""

import pytest

from check_layering import complaints


def listing(*sources):
    return "stoker_library(x SOURCES " + " ".join(sources) + ")"


SOUND = {
    "README.md": "",
    "dev": "",
    ".gitignore": "",
    ".ci/run": "",
    "protocol/base/bytes.h": "#include <cstdint>\n",
    "protocol/base/bytes.cc": '#include "protocol/base/bytes.h"\n',
    "protocol/base/CMakeLists.txt": listing("bytes.cc"),
    "protocol/graph/graph.h": '#include "protocol/base/bytes.h"\n',
    "protocol/wire/wire.h": '#include "protocol/graph/graph.h"\n',
    "protocol/wire/wire.cc":
        '#include "protocol/wire/wire.h"\n#include "protocol/wire/stoker.pb.h"\n',
    "protocol/wire/CMakeLists.txt": listing("wire.cc"),
    "cache/store.h": '#include "protocol/base/bytes.h"\n',
    "cache/rocks.cc": '#include <rocksdb/db.h>\n#include "cache/store.h"\n',
    "cache/CMakeLists.txt": listing("rocks.cc"),
    "compiler/codegen/emit.h": "#include <llvm/IR/Module.h>\n",
    "compiler/codegen/emit.cc": '#include "compiler/codegen/emit.h"\n',
    "compiler/codegen/CMakeLists.txt": listing("emit.cc"),
    "client/include/stoker/stoker.h": "",
    "client/core/client.cc": '#include "stoker/stoker.h"\n#include "protocol/wire/wire.h"\n',
    "client/core/CMakeLists.txt": listing("client.cc"),
    "client/examples/mlp.cc": "#include <stoker/stoker.h>\n",
    "client/examples/CMakeLists.txt": listing("mlp.cc"),
    "tests/unit/cache/store_test.cc": '#include "cache/store.h"\n#include "protocol/base/bytes.h"\n',
    "tests/unit/cache/CMakeLists.txt": listing("store_test.cc"),
}

# What is changed in SOUND, and what the complaint must say.
BROKEN = {
    "file_at_top": ({"notes.txt": ""}, "notes.txt:1: the top folder holds nothing but"),
    "folder_at_top": ({"utils/x.py": ""}, "utils/x.py:1: folder 'utils' is not in the layout"),
    "source_outside_folders": (
        {"client/loose.h": ""}, "client/loose.h:1: a source file belongs into a folder"),
    "new_protocol_folder": (
        {"protocol/misc/x.h": ""}, "protocol/misc/x.h:1: a source file belongs into a folder"),
    "protocol_includes_cache": (
        {"protocol/base/bytes.h": '#include "cache/store.h"\n'},
        "protocol/base/bytes.h:1: protocol/base may not include cache/store.h"),
    "earlier_protocol_includes_later": (
        {"protocol/base/bytes.h": '\n#include "protocol/graph/graph.h"\n'},
        "protocol/base/bytes.h:2: protocol/base may not include protocol/graph/graph.h"),
    "cache_includes_compiler": (
        {"cache/store.h": '#include "compiler/codegen/emit.h"\n'},
        "cache may not include compiler/codegen/emit.h"),
    "cache_includes_tests": (
        {"cache/store.h": '#include "tests/unit/fake.h"\n', "tests/unit/fake.h": ""},
        "cache may not include tests/unit/fake.h"),
    "client_includes_cache": (
        {"client/core/client.cc": '#include "cache/store.h"\n'},
        "client/core may not include cache/store.h"),
    "public_header_includes_core": (
        {"client/include/stoker/stoker.h": '#include "client/core/x.h"\n', "client/core/x.h": ""},
        "client/include may not include client/core/x.h"),
    "example_includes_protocol": (
        {"client/examples/mlp.cc": '#include "protocol/base/bytes.h"\n'},
        "client/examples may not include protocol/base/bytes.h"),
    "cli_includes_core": (
        {"client/cli/main.h": '#include "client/core/x.h"\n', "client/core/x.h": ""},
        "client/cli may not include client/core/x.h"),
    "llvm_outside_codegen": (
        {"compiler/ir/loop.h": "#include <llvm/ADT/APInt.h>\n"},
        "llvm/ADT/APInt.h brings in LLVM, which only compiler/codegen may see"),
    "llvm_through_our_header": (
        {"compiler/ir/loop.h": '#include "compiler/codegen/emit.h"\n'},
        "compiler/ir/loop.h:1: compiler/codegen/emit.h brings in LLVM"),
    "llvm_through_two_headers": (
        {"compiler/codegen/deep.h": '#include "compiler/codegen/emit.h"\n',
         "compiler/ir/loop.h": '#include "compiler/codegen/deep.h"\n'},
        "compiler/ir/loop.h:1: compiler/codegen/deep.h brings in LLVM"),
    "ir_includes_schedule": (
        {"compiler/ir/loop.h": '#include "compiler/schedule/group.h"\n',
         "compiler/schedule/group.h": ""},
        "compiler/ir/loop.h:1: compiler/ir may not include compiler/schedule/group.h"),
    "shared_code_includes_a_target": (
        {"compiler/codegen/llvm/lanes.h": '#include "compiler/codegen/x86/tile.h"\n',
         "compiler/codegen/x86/tile.h": ""},
        "compiler/codegen/llvm may not include compiler/codegen/x86/tile.h"),
    "outer_includes_inner_unnamed": (
        {"compiler/ir/loop.h": '#include "compiler/schedule/cpu/plan.h"\n',
         "compiler/schedule/cpu/plan.h": ""},
        "compiler/ir may not include compiler/schedule/cpu/plan.h"),
    "rocksdb_through_cache_header": (
        {"cache/store.h": "#include <rocksdb/db.h>\n",
         "daemon/service/s.h": '#include "cache/store.h"\n'},
        "daemon/service/s.h:1: cache/store.h brings in RocksDB, which only cache may see"),
    "boost_in_runtime": (
        {"runtime/cpu/pool.h": "#include <boost/asio.hpp>\n"},
        "boost/asio.hpp brings in Boost"),
    "protobuf_in_wire_header": (
        {"protocol/wire/wire.h": '#include "protocol/wire/stoker.pb.h"\n'},
        "client/core/client.cc:2: protocol/wire/wire.h brings in protobuf"),
    "cuda_in_cpu_runtime": (
        {"runtime/cpu/pool.h": "#include <cuda_runtime.h>\n"},
        "cuda_runtime.h brings in CUDA"),
    "folders_include_each_other": (
        {"daemon/net/server.h": '#include "daemon/service/s.h"\n',
         "daemon/service/s.h": '#include "daemon/admin/a.h"\n',
         "daemon/admin/a.h": '#include "daemon/net/server.h"\n'},
        "folders include each other: daemon/admin -> daemon/net -> daemon/service -> daemon/admin"),
    "include_not_from_top": (
        {"protocol/base/bytes.cc": '#include "bytes.h"\n'},
        'protocol/base/bytes.cc:1: "bytes.h" is no file of ours'),
    "source_not_listed": (
        {"cache/evict.cc": ""}, "cache/evict.cc:1: cache/CMakeLists.txt does not list it"),
    "source_listed_as_part_of_a_name": (
        {"cache/db.cc": "", "cache/CMakeLists.txt": listing("rocks.cc", "my_db.cc")},
        "cache/db.cc:1: cache/CMakeLists.txt does not list it"),
    "sources_by_pattern": (
        {"runtime/CMakeLists.txt": "\nfile(GLOB sources *.cc)\n"},
        "runtime/CMakeLists.txt:2: sources are listed one by one"),
}


def test_Complaints_SoundRepository_None():
    assert complaints(SOUND) == []


@pytest.mark.parametrize("name", BROKEN)
def test_Complaints_BrokenRepository_NamesPlaceAndRule(name):
    change, expected = BROKEN[name]
    found = complaints({**SOUND, **change})
    assert any(expected in complaint for complaint in found), found


def test_Complaints_OneCycle_ReportedOnce():
    cycle = {
        "daemon/net/server.h": '#include "daemon/service/s.h"\n',
        "daemon/service/s.h": '#include "daemon/net/server.h"\n',
    }
    found = complaints({**SOUND, **cycle})
    assert [c for c in found if "include each other" in c] == [
        "daemon/net/server.h:1: folders include each other: "
        "daemon/net -> daemon/service -> daemon/net."]
