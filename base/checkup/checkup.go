// Package checkup defines findings about the servers of a deployment: whether each is reached, what the user may do
// there, and settings that adsync depends on.
package checkup

// State is the severity of a finding.
type State string

// The states of a finding.
const (
	OK      State = "ok"
	Skipped State = "skipped" // it could not be checked, and no problem is known
	Warning State = "warning" // everything works, until something else happens
	Fault   State = "fault"   // something does not work
)

// Finding is the result of one check of a server. It contains no secrets.
type Finding struct {
	Server string `json:"server"` // such as "data database"
	Check  string `json:"check"`  // such as "right INSERT"
	State  State  `json:"state"`
	Detail string `json:"detail,omitempty"`
	Remedy string `json:"remedy,omitempty"` // a statement, a command or a setting
}

// Report collects the findings about one server.
type Report struct {
	Server   string
	Findings []Finding
}

// Add adds a finding.
func (r *Report) Add(check string, state State, detail, remedy string) {
	r.Findings = append(r.Findings, Finding{Server: r.Server, Check: check, State: state, Detail: detail, Remedy: remedy})
}

// Healthy reports whether none of the findings is a fault.
func Healthy(all []Finding) bool {
	for _, f := range all {
		if f.State == Fault {
			return false
		}
	}
	return true
}
