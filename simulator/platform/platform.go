package platform

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"adsync/simulator/fault/trap"
	"adsync/simulator/limit"
	"adsync/simulator/night"
	"adsync/simulator/world"
)

// Platform is one advertising platform on the wire. Another one is one more package with this interface, and its line
// in the list of platforms.
type Platform interface {
	Spec() *world.Spec
	// Endpoint is the name of a path's endpoint for limits, faults and the ledger, or EndpointUnknown.
	Endpoint(path string) string
	// Serve answers a call: it checks the token, takes the limits and fills in the answer.
	Serve(c *Call)
	// OverLimit fills in the answer to a call that a limit refuses.
	OverLimit(c *Call, refusal limit.Refusal)
	// Night is the platform's part in the night that a demo plays.
	Night() night.Platform
	// CheapCall is a call with a login's access token that is cheap to answer, to a simulator at an address such as
	// "http://127.0.0.1:8090". It is for those who try limits.
	CheapCall(ctx context.Context, address, token string) (*http.Request, error)
}

// Simulation is what calls are answered from.
type Simulation struct {
	Logger    *slog.Logger
	World     *world.World
	Clock     *world.Clock
	Vault     *world.Vault
	Limits    *limit.Limits
	HoursKept atomic.Int64 // days for which platforms that forget hours tell them; 0 is for ever
	Switches  *trap.Switches
	Traps     trapper
	Faults    fieldChanger
}

// trapper springs the traps that calls meet.
type trapper interface {
	// Springs reports whether a call meets a trap that fits it.
	Springs(c *Call, id trap.ID) bool
	// Holds is Springs for what a whole query meets, from its first page to its last.
	Holds(c *Call, id trap.ID) bool
	// Refuses returns why a trap refuses a call as over a limit, if one does.
	Refuses(c *Call) (limit.Refusal, bool)
	// Rows returns the rows of a report as a call is told them, in the order of day, hour, object.
	Rows(c *Call, a *world.Account, s world.Scope) []world.Row
}

// FieldChange is what a fault made of a field of a platform's reports.
type FieldChange uint8

// What becomes of a field.
const (
	FieldAsEver  FieldChange = iota
	FieldRetired             // calls that ask for it are refused
	FieldAdded               // it is a new one, whose values are those of clicks
)

// fieldChanger changes which fields the reports of a platform know.
type fieldChanger interface {
	// Field returns what became of a field that a call asks for.
	Field(c *Call, name string) FieldChange
}

// Failure is a platform's answer that something is wrong with a call.
type Failure struct {
	Code   int
	Detail string
}

// Failf returns a failure with a code and a formatted detail.
func Failf(code int, format string, args ...any) *Failure {
	return &Failure{code, fmt.Sprintf(format, args...)}
}

// EndpointName is a path as limits, faults and the ledger name it: without slashes at its ends.
func EndpointName(path string) string { return strings.Trim(path, "/") }
