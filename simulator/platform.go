package simulator

import (
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
)

// platform is one advertising platform on the wire. Another one is one more package with this interface, and its line
// in the list of platforms.
type platform interface {
	spec() *spec
	// endpoint is the name of a path's endpoint for limits, faults and the ledger, or endpointUnknown.
	endpoint(path string) string
	// serve answers a call: it checks the token, takes the limits and fills in the answer.
	serve(c *call)
	// overLimit fills in the answer to a call that a limit refuses.
	overLimit(c *call, refusal refusal)
}

// simulation is what calls are answered from.
type simulation struct {
	logger    *slog.Logger
	world     *world
	clock     *WorldClock
	vault     *vault
	limits    *limits
	hoursKept atomic.Int64 // days for which platforms that forget hours tell them; 0 is for ever
	switches  *switches
	traps     trapper
	faults    fieldChanger
}

// trapper springs the traps that calls meet.
type trapper interface {
	// Springs reports whether a call meets a trap that fits it.
	Springs(c *call, id trapID) bool
	// Holds is Springs for what a whole query meets, from its first page to its last.
	Holds(c *call, id trapID) bool
	// Refuses returns why a trap refuses a call as over a limit, if one does.
	Refuses(c *call) (refusal, bool)
	// Rows returns the rows of a report as a call is told them, in the order of day, hour, object.
	Rows(c *call, a *account, s scope) []row
}

// fieldChange is what a fault made of a field of a platform's reports.
type fieldChange uint8

const (
	fieldAsEver  fieldChange = iota
	fieldRetired             // calls that ask for it are refused
	fieldAdded               // it is a new one, whose values are those of clicks
)

// fieldChanger changes which fields the reports of a platform know.
type fieldChanger interface {
	// Field returns what became of a field that a call asks for.
	Field(c *call, name string) fieldChange
}

// apiError is a platform's answer that something is wrong with a call.
type apiError struct {
	code   int
	detail string
}

func failure(code int, format string, args ...any) *apiError {
	return &apiError{code, fmt.Sprintf(format, args...)}
}

// endpointName is a path as limits, faults and the ledger name it: without slashes at its ends.
func endpointName(path string) string { return strings.Trim(path, "/") }
