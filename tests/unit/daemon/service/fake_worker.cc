#include "daemon/service/worker_main.h"

int main() { return stoker::RunWorker(); }
