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

// Platform is the wire format of one advertising platform. A new platform is a package with this interface and a line
// in the list of platforms.
type Platform interface {
	Spec() *world.Spec
	// Endpoint returns the name of a path's endpoint for limits, faults and the ledger, or EndpointUnknown.
	Endpoint(path string) string
	// Serve answers a call: it checks the token, counts the call against the limits and sets the answer.
	Serve(c *Call)
	// OverLimit sets the answer of a call that a limit refuses.
	OverLimit(c *Call, refusal limit.Refusal)
	// Night returns the platform's part in the night that a demo plays.
	Night() night.Platform
	// CheapCall returns a call with a login's access token that is cheap to answer, to a simulator at an address such as
	// "http://127.0.0.1:8090". It is for tests of limits.
	CheapCall(ctx context.Context, address, token string) (*http.Request, error)
}

// Unwrapper is a platform whose parameters are inside of others. Unwrap sets a call's parameters, with that of the
// account, before faults and traps read them.
type Unwrapper interface{ Unwrap(c *Call) }

// Asynchronous is a platform with asynchronous reports.
type Asynchronous interface{ Tasks() *Tasks }

// Simulation holds what calls are answered from.
type Simulation struct {
	Logger    *slog.Logger
	World     *world.World
	Clock     *world.Clock
	Vault     *world.Vault
	Limits    *limit.Limits
	HoursKept atomic.Int64 // for how many days platforms that drop old hours serve them; 0 is no limit
	Assumed   Assumed      // behaviour that the platforms' documents do not state
	Switches  *trap.Switches
	Traps     trapper
	Faults    reportChanger
	Tasks     map[string]*Tasks // the asynchronous reports, by platform
}

// trapper applies the traps that calls meet.
type trapper interface {
	// Springs reports whether a call meets a trap that fits it.
	Springs(c *Call, id trap.ID) bool
	// Holds is Springs for a trap that applies to a whole query, from its first page to its last.
	Holds(c *Call, id trap.ID) bool
	// Refuses returns why a trap refuses a call as over a limit, if one does.
	Refuses(c *Call) (limit.Refusal, bool)
	// Rows returns the rows of a report for a call, in order of day, hour and object.
	Rows(c *Call, a *world.Account, s world.Scope) []world.Row
}

// FieldChange is the change of a fault to a field of a platform's reports.
type FieldChange uint8

// The changes.
const (
	FieldAsEver  FieldChange = iota
	FieldRetired             // calls that request it are refused
	FieldAdded               // it is new and has the values of clicks
)

// reportChanger changes a platform's reports.
type reportChanger interface {
	// Field returns the change of a field that a call requests.
	Field(c *Call, name string) FieldChange
	// Added returns the newest field that a fault adds, for platforms that always return all fields; "" if there is none.
	Added(c *Call) string
	// Task returns the fate of an asynchronous report that a call creates.
	Task(c *Call) TaskFate
	// Takes reports whether a call's answer takes a form, and counts it.
	Takes(c *Call, f Form) bool
}

// Form is a form of a good answer that differs from the usual one. It is the name of a kind of faults.
type Form string

// The forms, on platforms that have them.
const (
	FormOther Form = "other_form" // the data have the platform's other known shape
	FormFull  Form = "full_page"  // the last page of a list without a total is full
	FormPart  Form = "part_fails" // the platform answers for a part of several ids, and reports an error for the other
)

// TaskFate is what a fault does to an asynchronous report.
type TaskFate uint8

// The fates.
const (
	TaskServed  TaskFate = iota
	TaskFails            // it ends without a file
	TaskExpires          // its file is gone when it is downloaded
	TaskCut              // its file lacks its last line when it is downloaded
	TaskBare             // its file lacks a column, on platforms whose reports have a fixed list of columns
)

// Failure is a platform's error answer.
type Failure struct {
	Code   int
	Detail string
}

// Failf returns a failure with a code and a formatted detail.
func Failf(code int, format string, args ...any) *Failure {
	return &Failure{code, fmt.Sprintf(format, args...)}
}

// EndpointName returns a path in the form of limits, faults and the ledger: without slashes at its ends.
func EndpointName(path string) string { return strings.Trim(path, "/") }
