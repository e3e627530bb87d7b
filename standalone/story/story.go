// Package story plays a night of the simulated world: from before midnight to the morning, faster than real time,
// with the seeded tasks on their crons while the platforms misbehave. The night is played in scenes. For each scene
// the clock is set to shortly before an important moment, runs past it, and stands still until the work is done. A
// clock that ran through the night without stops would outrun a busy machine. The pulled rows are then compared with
// what was published while they were fetched.
package story

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/simulator/control"
	"adsync/simulator/limit"
	simworld "adsync/simulator/world"
	"adsync/standalone/runs"
	"adsync/standalone/verify"
)

// Report is the result of a story.
type Report struct {
	// PublishedReport counts the pulls that were compared with the truth that was published while they were under way.
	verify.PublishedReport
	Scenes []SceneReport `json:"scenes"`
	Events []EventReport `json:"events"`
	// Cancelled counts the runs that were still open at the end of the story and were cancelled.
	Cancelled int64 `json:"cancelled"`
}

// SceneReport is the result of a scene.
type SceneReport struct {
	At      string  `json:"at"` // the world's time of day
	Title   string  `json:"title"`
	Seconds float64 `json:"seconds"`
	// Rested is false if work was still under way when the next scene began.
	Rested bool `json:"rested"`
}

// EventReport is the result of an event.
type EventReport struct {
	Name  string `json:"name"`
	Media string `json:"media,omitempty"` // the platform; empty if it was an event of all
	At    string `json:"at"`
	Met   int64  `json:"met"`      // how often it struck
	What  string `json:"survived"` // what became of it
}

// String names the event and its platform.
func (e EventReport) String() string { return named(e.Media, e.Name) }

func named(media, event string) string {
	if media == "" {
		return event
	}
	return media + ": " + event
}

// Scene is a moment of a story.
type Scene struct {
	At     time.Duration // from the story's midnight on
	Title  string
	Calm   bool // ends all faults that were ordered before
	Events []Event
}

func (s Scene) clock() string {
	return time.Time{}.Add(s.At + 24*time.Hour).Format("15:04")
}

// Plan holds the scenes to play, and their speed.
type Plan struct {
	Scenes []Scene
	Speed  float64 // of the world's clock while it runs
	// Excerpt is true if the plan is too short, or the world too small, to meet every trap.
	Excerpt bool
	// Patience bounds the wait for the work of each scene; 0 means restMax and allMax.
	Patience time.Duration
}

const (
	// sceneLead is how long before its moment a scene begins, and sceneLength how long the world's clock then runs: past
	// one tick of tasks that run every two minutes, and two ticks of tasks that run every minute.
	sceneLead   = 30 * time.Second
	sceneLength = 130 * time.Second
	// restMax bounds the wait for a scene's work, and allMax the total wait of all scenes.
	restMax = 45 * time.Second
	allMax  = 150 * time.Second
	restMin = 3 * time.Second
	// limitsWider is the factor by which the platforms' call limits are higher in a story: they count in real time, in
	// which a story's night takes a fortieth of its length.
	limitsWider = 16
	// PauseMax is the longest pause, in real time, that an answer may ask for: minutes of the world.
	PauseMax = 3 * time.Second
)

// Story plays a plan.
type Story struct {
	Plan
	midnight time.Time
	sim      control.Client
	clock    *simworld.Clock
	pace     *pace

	stack   Stack
	store   *store.Store
	checked *verify.Published
	report  Report
	open    []openEvent
	others  map[string]settings.Account // the choices of otherAccount, by media
}

// Stack holds what a story needs of its process.
type Stack struct {
	Runs     *runs.Runs
	Accounts map[string][]string // the platform's ids of the accounts that have events, a large one first; by media
	// Authorise authorises all logins of a platform again.
	Authorise func(ctx context.Context, media string) error
	Speed     float64 // of the world's clock after the story
}

// everyTrap is the least number of accounts, of all platforms together, of a world whose night has every trap.
const everyTrap = 60

// New returns the story of a plan in a new world with a number of accounts. It begins in the evening of the present
// day.
func New(plan Plan, accounts int) *Story {
	plan.Excerpt = plan.Excerpt || accounts < everyTrap
	tomorrow := day.Of(clock.Mark(), simworld.Zone).Add(1)
	return &Story{Plan: plan, midnight: tomorrow.Start(simworld.Zone), others: map[string]settings.Account{}}
}

// Begins returns the time of the world's clock before the first scene.
func (p *Story) Begins() time.Time { return p.midnight.Add(p.Scenes[0].At - sceneLead) }

// Waiting returns the clock by which subtasks wait for their retries. Call it after Prepare.
func (p *Story) Waiting() clock.Clock { return p.pace }

// Prepare prepares the world for the story, before any of its accounts are bound.
func (p *Story) Prepare(ctx context.Context, sim control.Client, world *simworld.Clock) error {
	var limits struct {
		Rules []limit.Rule `json:"rules"`
	}
	if err := sim.Get(ctx, "limits", &limits); err != nil {
		return err
	}
	for i := range limits.Rules {
		limits.Rules[i].Limit *= limitsWider
	}
	if err := sim.Post(ctx, "limits", limits); err != nil {
		return err
	}
	p.sim, p.clock, p.pace = sim, world, newPace(world, p.Speed)
	return world.SetSpeed(p.Speed)
}

// Play plays all scenes. When it returns, the world stands still, no work is under way, and the platforms have no
// faults.
func (p *Story) Play(ctx context.Context, s Stack, say func(string, ...any)) (Report, error) {
	p.stack, p.store = s, s.Runs.Store
	ahead, err := clockAhead(ctx, p.store.Data.Now)
	if err != nil {
		return p.report, err
	}
	p.checked = verify.NewPublished(verify.PublishedOptions{
		Options: verify.Options{Store: p.store, Simulator: p.sim.Address, Client: http.DefaultClient},
		World:   func(at time.Time) (earliest, latest time.Time) { return p.pace.worldAt(at.Add(-ahead)) },
	})
	if err := p.sim.Post(ctx, "traps", map[string]bool{"on": true}); err != nil {
		return p.report, err
	}
	left := allMax
	for i, sc := range p.Scenes {
		patience := cmp.Or(p.Patience, max(min(left/time.Duration(len(p.Scenes)-i), restMax), restMin))
		began := clock.Mark()
		rested, err := p.playScene(ctx, sc, patience)
		if err != nil {
			return p.report, fmt.Errorf("the scene of %s: %w", sc.clock(), err)
		}
		took := clock.Since(began)
		left -= took
		p.report.PublishedReport = p.checked.Report()
		p.report.Scenes = append(p.report.Scenes, SceneReport{At: sc.clock(), Title: sc.Title, Seconds: took.Seconds(),
			Rested: rested})
		say("%s  %-58s %9d rows as published, %d differences\n", sc.clock(), sc.Title, p.report.RowsCompared,
			p.report.Differences)
	}
	if err := p.end(ctx); err != nil {
		return p.report, err
	}
	for _, e := range p.report.Events {
		if e.Met > 0 {
			say("  survived %d×: %s: %s\n", e.Met, e, e.What)
		}
	}
	say("\n")
	return p.report, nil
}

func (p *Story) playScene(ctx context.Context, sc Scene, patience time.Duration) (rested bool, err error) {
	if sc.Calm {
		if err := p.closeEvents(ctx, false); err != nil {
			return false, err
		}
	}
	at := p.midnight.Add(sc.At)
	for _, e := range sc.Events {
		met, err := e.begin(ctx, p, at)
		if err != nil {
			return false, fmt.Errorf("%s: %w", named(e.media, e.Name), err)
		}
		if met != nil {
			p.open = append(p.open, openEvent{Event: e, at: sc.clock(), met: met})
		}
	}
	if err := p.pace.change(0, func() error { return p.clock.Set(at.Add(-sceneLead)) }); err != nil {
		return false, err
	}
	if err := p.pace.change(p.Speed, p.clock.Resume); err != nil {
		return false, err
	}
	if err := clock.Sleep(ctx, time.Duration(float64(sceneLength)/p.Speed)); err != nil {
		return false, err
	}
	if err := p.pace.change(0, p.clock.Freeze); err != nil {
		return false, err
	}
	for _, e := range sc.Events {
		if e.after == nil {
			continue
		}
		if err := e.after(ctx, p); err != nil {
			return false, fmt.Errorf("%s: %w", named(e.media, e.Name), err)
		}
	}
	if rested, err = p.stack.Runs.Rest(ctx, patience); err != nil {
		return false, err
	}
	return rested, p.checked.Compare(ctx)
}

// end ends all faults of the world, and brings work under way to an end.
func (p *Story) end(ctx context.Context) error {
	if err := p.closeEvents(ctx, false); err != nil {
		return err
	}
	var err error
	if p.report.Cancelled, err = p.stack.Runs.Settle(ctx); err != nil {
		return err
	}
	if err := p.awaitBindings(ctx); err != nil {
		return err
	}
	if err := p.closeEvents(ctx, true); err != nil {
		return err
	}
	p.pace.slow()
	if err := p.checked.Compare(ctx); err != nil {
		return err
	}
	if err := p.checked.CompareKept(ctx); err != nil {
		return err
	}
	if err := p.checked.CompareSummaries(ctx); err != nil {
		return err
	}
	p.report.PublishedReport = p.checked.Report()
	// This restores the configured speed; the story's speed holds only during the story.
	return p.clock.SetSpeed(cmp.Or(p.stack.Speed, 1))
}

// bindingsMax is how long operators' bindings may take to be applied.
const bindingsMax = 30 * time.Second

// awaitBindings waits until the operators' bindings are applied.
func (p *Story) awaitBindings(ctx context.Context) error {
	return await(ctx, bindingsMax, "the accounts' bindings are not applied", func() (bool, error) {
		wanted, err := p.store.Bindings(ctx)
		if err != nil {
			return false, err
		}
		applied, err := p.store.AppliedBindings(ctx)
		return slices.Equal(wanted, applied), err
	})
}

// awaitInterval is how often await checks its condition.
const awaitInterval = 200 * time.Millisecond

// lateError is what await returns if something takes too long.
type lateError struct {
	what   string
	within time.Duration
}

func (e *lateError) Error() string { return fmt.Sprintf("%s within %s", e.what, e.within) }

// await waits until came returns true. It returns a lateError if that takes longer than within.
func await(ctx context.Context, within time.Duration, what string, came func() (bool, error)) error {
	for began := clock.Mark(); ; {
		if done, err := came(); err != nil || done {
			return err
		}
		if clock.Since(began) > within {
			return &lateError{what, within}
		}
		if err := clock.Sleep(ctx, awaitInterval); err != nil {
			return err
		}
	}
}
