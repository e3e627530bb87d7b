package telemetry

import (
	"runtime"
	"runtime/debug"
)

// Build describes the build of this program.
type Build struct {
	Version string `json:"version"` // the module's version, or "(devel)" for one built from a checkout
	// Of version control, with "-dirty" behind it after local changes; "unknown" without one.
	Commit string `json:"commit"`
	Time   string `json:"time"` // of the commit, RFC 3339; empty when unknown
	Go     string `json:"go"`   // the Go release it was built with
}

// ReadBuild returns what the Go tools stored in the binary.
func ReadBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) Build {
	b := Build{Version: info.Main.Version, Commit: "unknown", Go: runtime.Version()}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	dirty := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty {
		b.Commit += "-dirty"
	}
	return b
}
