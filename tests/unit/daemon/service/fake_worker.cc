#include "daemon/service/worker/worker_main.h"
#include "daemon/service/worker/worker_sandbox.h"

// Not confined: it counts in files what it does. It says that it is, so that nobody warns.
int main() {
  return stoker::RunWorker({stoker::kWorkerProtections.begin(), stoker::kWorkerProtections.end()});
}
