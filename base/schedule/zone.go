package schedule

import (
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // The zones must be known on machines without a database of them.

	"adsync/base/config"
)

// zones caches lookups: time.LoadLocation reads files each time.
var zones sync.Map

// Zone returns the time zone of an IANA name, such as "Asia/Shanghai". Names that mean the process's own zone are
// refused. The error is a *config.FieldError with the key "timezone".
func Zone(name string) (*time.Location, error) {
	if loc, ok := zones.Load(name); ok {
		return loc.(*time.Location), nil
	}
	refused := &config.FieldError{Key: "timezone", Value: name,
		Want: "a name of the IANA time zone database, such as Asia/Shanghai or UTC"}
	if name == "" || strings.EqualFold(name, "Local") {
		return nil, refused
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, refused
	}
	zones.Store(name, loc)
	return loc, nil
}
