package stage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"adsync/engine"
	"adsync/test/chaos/judge"
	"adsync/test/rig"
	"adsync/test/services/local"
)

// accounts is the number of accounts in a scenario's world.
const accounts = 32

// Zone is the time zone of all simulated accounts.
var Zone = time.FixedZone("UTC+8", 8*60*60)

// UsualSpeed is how many seconds of the world pass in a real second. The world's figures move every 3 minutes of its
// own time, and a scenario must distinguish an older answer from a newer one.
const UsualSpeed = 60

// World is the process with the simulated platforms.
type World struct {
	Process *local.Process
	Address string
	usual   string // the fault that makes calls take their usual time
}

// callTime is how long the platforms take for a call: long enough that there is always work in flight.
const callTime = 200 * time.Millisecond

// StartWorld starts a world whose clock begins in the morning of the present day and runs fast. The day must outlast
// the scenario.
func StartWorld(ctx context.Context, program, logs string, s *Stack, seed int64, speed int) (*World, error) {
	port, err := s.Ports.Take()
	if err != nil {
		return nil, err
	}
	today, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	address := local.Loopback(port)
	// All accounts have one zone, so that no account's day ends within the scenario.
	cmd := exec.Command(program, "simulate", "--listen", address, "--accounts", strconv.Itoa(accounts), "--seed",
		strconv.FormatInt(seed, 10), "--usd", "0")
	cmd.Env = []string{"ADSYNC_LOG_FORMAT=json"}
	w := &World{Address: "http://" + address}
	if w.Process, err = local.StartLogged("the simulator", filepath.Join(logs, "simulator.log"), cmd); err != nil {
		return nil, err
	}
	err = local.AwaitReady(ctx, "the simulator", func(ctx context.Context) error {
		_, _, err := rig.Get(ctx, w.Address+"/_sim/clock")
		return err
	}, w.Process.Exited())
	if err != nil {
		return w, err
	}
	y, m, d := today.In(Zone).Date()
	morning := time.Date(y, m, d, 6, 0, 0, 0, Zone)
	return w, w.order(ctx, "clock", map[string]any{"now": morning, "speed": speed, "frozen": false}, nil)
}

// Freeze stops the world's clock and returns where it stands.
func (w *World) Freeze(ctx context.Context) (time.Time, error) {
	var clock struct {
		Now time.Time `json:"now"`
	}
	err := w.order(ctx, "clock", map[string]any{"frozen": true}, &clock)
	return clock.Now, err
}

// order posts to the control API and reads its answer into the value, unless that is nil.
func (w *World) order(ctx context.Context, path string, order, into any) error {
	return rig.Send(ctx, http.MethodPost, w.Address+"/_sim/"+path, order, into)
}

// Latency returns the fault that makes calls take longer.
const Latency = "latency"

// Fault orders a fault.
func (w *World) Fault(ctx context.Context, order map[string]any) error {
	if order["kind"] != Latency {
		return w.order(ctx, "faults", order, nil)
	}
	// A call meets the oldest fault of a kind, so that the usual one must come after this one.
	return errors.Join(w.Hurry(ctx), w.order(ctx, "faults", order, nil), w.SlowDown(ctx))
}

// CallsASecond is the limit of each endpoint. The calls of one tick take longer than a second, so that the consumers
// share the limit all the time.
const CallsASecond = 20

// CallsInRound is the limit during a full round, which is judged only by its end.
const CallsInRound = 200

// Limit sets the platforms' limits. Binding the accounts copies them.
func (w *World) Limit(ctx context.Context, calls int) error {
	var rules []map[string]any
	for _, media := range engine.PlatformNames() {
		rules = append(rules, map[string]any{"media": media, "endpoint": "*", "scope": "app", "period_seconds": 1,
			"limit": calls})
	}
	return w.order(ctx, "limits", map[string]any{"rules": rules}, nil)
}

// SlowDown makes calls take their usual time.
func (w *World) SlowDown(ctx context.Context) error {
	var made struct {
		ID string `json:"id"`
	}
	err := w.order(ctx, "faults", map[string]any{"kind": Latency, "ms": callTime.Milliseconds()}, &made)
	w.usual = made.ID
	return err
}

// Hurry undoes SlowDown.
func (w *World) Hurry(ctx context.Context) error { return w.takeBack(ctx, w.usual) }

func (w *World) takeBack(ctx context.Context, fault string) error {
	return rig.Send(ctx, http.MethodDelete, w.Address+"/_sim/faults/"+fault, nil, nil)
}

// EndFaults removes all faults but the usual one, and returns how many calls they met.
func (w *World) EndFaults(ctx context.Context) (int, error) {
	var list struct {
		Faults []struct {
			ID  string `json:"id"`
			Met int    `json:"met"`
		} `json:"faults"`
	}
	if err := rig.Send(ctx, http.MethodGet, w.Address+"/_sim/faults", nil, &list); err != nil {
		return 0, err
	}
	met := 0
	for _, f := range list.Faults {
		if f.ID == w.usual {
			continue
		}
		met += f.Met
		if err := w.takeBack(ctx, f.ID); err != nil {
			return met, err
		}
	}
	return met, nil
}

// Ledger returns how many calls the platforms received in all, and how many of them they refused for being over a
// limit.
func (w *World) Ledger(ctx context.Context) (calls, refused int64, err error) {
	var answer struct {
		Totals struct {
			Calls   int64 `json:"calls"`
			Refused int64 `json:"refused_limit"`
		} `json:"totals"`
	}
	err = rig.Send(ctx, http.MethodGet, w.Address+"/_sim/ledger", nil, &answer)
	return answer.Totals.Calls, answer.Totals.Refused, err
}

// Refusals are calls that a limit refused, by second.
type Refusals struct {
	Second   int64  `json:"second"`
	Media    string `json:"media"`
	Endpoint string `json:"endpoint"`
	Answer   int    `json:"answer"`
	Refused  int64  `json:"refused_limit"`
}

// Refused returns the calls that a limit refused.
func (w *World) Refused(ctx context.Context) ([]Refusals, error) {
	var answer struct {
		Groups []Refusals `json:"groups"`
	}
	err := rig.Send(ctx, http.MethodGet, w.Address+"/_sim/ledger?group=second,media,endpoint,answer", nil, &answer)
	return slices.DeleteFunc(answer.Groups, func(r Refusals) bool { return r.Refused == 0 }), err
}

// Calls returns how many calls a platform received: for an endpoint, or for all if it is "".
func (w *World) Calls(ctx context.Context, media, endpoint string) (int64, error) {
	var answer struct {
		Totals struct {
			Calls int64 `json:"calls"`
		} `json:"totals"`
	}
	query := url.Values{"media": {media}}
	if endpoint != "" {
		query.Set("endpoint", endpoint)
	}
	err := rig.Send(ctx, http.MethodGet, w.Address+"/_sim/ledger?"+query.Encode(), nil, &answer)
	return answer.Totals.Calls, err
}

// Jobs returns the asynchronous reports of a platform.
func (w *World) Jobs(ctx context.Context, media string) ([]judge.Job, error) {
	var answer struct {
		Tasks []judge.Job `json:"tasks"`
	}
	err := rig.Send(ctx, http.MethodGet, w.Address+"/_sim/tasks?"+url.Values{"media": {media}}.Encode(), nil, &answer)
	return answer.Tasks, err
}

// CallsBySecond returns how many calls of each platform were answered in each second of real time.
func (w *World) CallsBySecond(ctx context.Context) (map[string]map[int64]int64, error) {
	var answer struct {
		Groups []struct {
			Second int64  `json:"second"`
			Media  string `json:"media"`
			Calls  int64  `json:"calls"`
		} `json:"groups"`
	}
	if err := rig.Send(ctx, http.MethodGet, w.Address+"/_sim/ledger?group=second,media", nil, &answer); err != nil {
		return nil, err
	}
	calls := map[string]map[int64]int64{}
	for _, g := range answer.Groups {
		if calls[g.Media] == nil {
			calls[g.Media] = map[int64]int64{}
		}
		calls[g.Media][g.Second] += g.Calls
	}
	return calls, nil
}

// RestCron is the cron of a task that has no tick within a scenario.
func RestCron() string {
	_, month, dayOfMonth := time.Now().AddDate(0, 6, 0).Date()
	return fmt.Sprintf("0 0 %d %d *", min(dayOfMonth, 28), month)
}
