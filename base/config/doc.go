// Package config loads, checks, prints and documents the program's settings.
//
// Settings are the fields of a tree of structs. Each package that can be configured declares its own:
//
//	type Config struct {
//		Brokers []string `koanf:"brokers" doc:"Where the brokers are, as host:port."`
//	}
//
// with a DefaultConfig function and a Validate method that returns the joined *FieldError of all it refuses. The
// program's root struct holds one such section per field. A value comes, later ones winning, from the default, the
// YAML file, the environment and the command line. Lists are replaced as a whole, maps are merged by key.
//
// tree.go reads the structs, layer.go reads one source against them, load.go merges the sources and validates every
// section, print.go and reference.go write the results.
package config
