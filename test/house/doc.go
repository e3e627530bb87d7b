// Package house holds the limits of the source tree that no linter holds: how long a package and a file may be, and
// how many methods a type may have. Its test reads the source of the module and fails when a limit is passed. The
// limits of functions (funlen) and of imports (depguard) are in .golangci.yml.
package house
