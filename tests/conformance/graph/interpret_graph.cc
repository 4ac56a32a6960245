// Interprets graphs for a test in another language. A request on standard input:
//   bytes:graph text  u64:inputs  { u8:dtype  u8:rank  i64:size...  bytes:elements }...
// A reply on standard output: u8=1 u64:outputs { u8:dtype  u8:rank  i64:size...  elements as f64 or
// i64 }..., or u8=0 bytes:message. Each is preceded by its u64 length; the end of input ends it.
#include <cstdio>

#include "protocol/base/bytes.h"
#include "protocol/graph/interpret/interpreter.h"

namespace stoker {
namespace {

constexpr std::uint64_t kMaxBytes = 1U << 30;

Result<InterpreterTensor> ReadTensor(ByteReader& in) {
  STOKER_TRY(const std::uint8_t code, in.U8("dtype"));
  const std::optional<DType> dtype = DTypeFromCode(code);
  if (!dtype) return InvalidArgument("Unknown dtype.");
  STOKER_TRY(const std::uint8_t rank, in.U8("rank"));
  std::vector<std::int64_t> shape;
  for (std::uint8_t i = 0; i < rank; ++i) {
    STOKER_TRY(const std::int64_t size, in.I64("size"));
    shape.push_back(size);
  }
  STOKER_TRY(const std::string_view elements, in.Bytes("elements", kMaxBytes));
  return InterpreterTensor::FromBytes(*dtype, std::move(shape), elements);
}

Result<std::string> Answer(std::string_view request) {
  ByteReader in(request);
  STOKER_TRY(const std::string_view text, in.Bytes("graph", kMaxBytes));
  STOKER_TRY(const Graph graph, ParseGraph(text));
  STOKER_TRY(const std::uint64_t count, in.U64("inputs"));
  std::vector<InterpreterTensor> inputs;
  for (std::uint64_t i = 0; i < count; ++i) {
    STOKER_TRY(InterpreterTensor input, ReadTensor(in));
    inputs.push_back(std::move(input));
  }
  STOKER_TRY(const std::vector<InterpreterTensor> outputs, Interpret(graph, inputs));
  ByteWriter out;
  out.U8(1);
  out.U64(outputs.size());
  for (const InterpreterTensor& output : outputs) {
    out.U8(static_cast<std::uint8_t>(output.dtype));
    out.U8(static_cast<std::uint8_t>(output.shape.size()));
    for (const std::int64_t size : output.shape) out.I64(size);
    std::visit(
        [&](const auto& elements) {
          for (const auto& element : elements) {
            out.U64(std::bit_cast<std::uint64_t>(element));
          }
        },
        output.elements);
  }
  return std::move(out).Take();
}

int Serve() {
  std::uint64_t size = 0;
  while (std::fread(&size, sizeof size, 1, stdin) == 1) {
    std::string request(std::min(size, kMaxBytes), '\0');
    if (std::fread(request.data(), 1, request.size(), stdin) != request.size()) return 1;
    const Result<std::string> answer = Answer(request);
    ByteWriter reply;
    if (answer.ok()) {
      reply.Bytes(*answer);
    } else {
      ByteWriter failure;
      failure.U8(0);
      failure.Bytes(answer.error().message);
      reply.Bytes(failure.str());
    }
    std::fwrite(reply.str().data(), 1, reply.str().size(), stdout);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace stoker

int main() { return stoker::Serve(); }
