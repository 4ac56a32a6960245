// Boost.JSON is compiled once, here, rather than in every file that uses it.
#include <boost/json/src.hpp>
