package standalone

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/store/settings"
	"adsync/standalone/verify"

	"adsync/simulator"
	"adsync/simulator/limit"
)

// A story is a night of the world: from before midnight to the morning, faster than real time, with the seeded tasks on their crons
// while the platforms misbehave. It is played in scenes: the clock is set to a little before a moment that matters, runs past it, and
// stands still until the work is done. What was pulled is then compared with what had been published while it was fetched. A clock
// that runs through the night without a rest would have a busy machine fall ever further behind it.

// StoryReport is the outcome of a story.
type StoryReport struct {
	// Pulls that were compared with the truth as it was published while they were under way.
	verify.PublishedReport
	Scenes []SceneReport `json:"scenes"`
	Events []EventReport `json:"events"`
	// Cancelled is how many runs were still open when the story was over, and were cancelled.
	Cancelled int64 `json:"cancelled"`
}

// SceneReport is how a scene went.
type SceneReport struct {
	At      string  `json:"at"` // the world's time of day
	Title   string  `json:"title"`
	Seconds float64 `json:"seconds"`
	// Rested is false if work was still under way when the next scene began.
	Rested bool `json:"rested"`
}

// EventReport is something that a story did to the world or to the tables.
type EventReport struct {
	Name string `json:"name"`
	At   string `json:"at"`
	Met  int64  `json:"met"`      // how often it struck
	What string `json:"survived"` // what became of it
}

// scene is a moment of a story.
type scene struct {
	at     time.Duration // from the story's midnight on
	title  string
	calm   bool // whatever was ordered of the platforms before is over
	events []event
}

func (s scene) clock() string {
	return time.Time{}.Add(s.at + 24*time.Hour).Format("15:04")
}

// storyPlan is which scenes are played, and how fast.
type storyPlan struct {
	scenes []scene
	speed  float64 // of the world's clock while it runs
	// excerpt is true of one that is too short, or of a world too small, to meet every trap there is.
	excerpt bool
	// patience is how long the work of each scene is waited for; 0 is by restMax and storyMax.
	patience time.Duration
}

const (
	// sceneLead is how long before its moment a scene begins, and sceneLength how long the world's clock then runs: past one
	// tick of what runs every two minutes, and two of what runs every minute.
	sceneLead   = 30 * time.Second
	sceneLength = 130 * time.Second
	// restMax is how long a scene's work is waited for, and storyMax, in all, that of all scenes.
	restMax  = 45 * time.Second
	storyMax = 150 * time.Second
	restMin  = 3 * time.Second
	// storyLimits is by how much the platforms' call limits are wider in a story: they count in real time, in which a
	// story's night has a fortieth of its length.
	storyLimits = 8
	// storyPause is the longest pause that an answer may ask for: minutes of the world.
	storyPause = 3 * time.Second
)

// story is a plan that is played.
type story struct {
	storyPlan
	midnight time.Time
	pace     *pace

	stack   *stack
	checked *verify.Published
	report  StoryReport
	open    []openEvent
	others  map[string]settings.Account // by media: what otherAccount chose
}

// everyTrap is how many accounts a world must have for its night to have every trap, whatever the seed and the day.
const everyTrap = 20

// newStory returns the story that a run is to play, or nil: only a new world inside this process has one.
func newStory(o Options, dir *dataDir) *story {
	if !o.Once || !o.Story || o.Simulator != "" || !dir.isNew {
		return nil
	}
	plan := nightOf(simulator.Nights())
	if o.plan != nil {
		plan = *o.plan
	}
	plan.excerpt = plan.excerpt || o.Accounts < everyTrap
	tomorrow := day.Of(clock.Mark(), worldZone).Add(1)
	return &story{storyPlan: plan, midnight: tomorrow.Start(worldZone), others: map[string]settings.Account{}}
}

// begins is where the world's clock stands before the first scene.
func (p *story) begins() time.Time { return p.midnight.Add(p.scenes[0].at - sceneLead) }

// prepare makes the world one of a story, before anything of it is bound.
func (p *story) prepare(ctx context.Context, w *world) error {
	var limits struct {
		Rules []limit.Rule `json:"rules"`
	}
	if err := getJSON(ctx, http.DefaultClient, w.address+"/_sim/limits", &limits); err != nil {
		return err
	}
	for i := range limits.Rules {
		limits.Rules[i].Limit *= storyLimits
	}
	if err := postJSON(ctx, http.DefaultClient, w.address+"/_sim/limits", limits); err != nil {
		return err
	}
	p.pace = newPace(w.sim.Clock(), p.speed)
	return w.sim.Clock().SetSpeed(p.speed)
}

// play plays all scenes. When it returns, the world stands still, nothing is under way, and nothing disturbs the platforms.
func (p *story) play(ctx context.Context, s *stack, say func(string, ...any)) (StoryReport, error) {
	p.stack = s
	ahead, err := clockAhead(ctx, s.store.Data.Now)
	if err != nil {
		return p.report, err
	}
	p.checked = verify.NewPublished(verify.PublishedOptions{
		Options: verify.Options{Store: s.store, Simulator: s.world.address, Client: http.DefaultClient},
		World:   func(at time.Time) (earliest, latest time.Time) { return p.pace.worldAt(at.Add(-ahead)) },
	})
	if err := springTraps(ctx, s.world.address); err != nil {
		return p.report, err
	}
	left := storyMax
	for i, sc := range p.scenes {
		patience := cmp.Or(p.patience, max(min(left/time.Duration(len(p.scenes)-i), restMax), restMin))
		began := clock.Mark()
		rested, err := p.playScene(ctx, sc, patience)
		if err != nil {
			return p.report, fmt.Errorf("the scene of %s: %w", sc.clock(), err)
		}
		took := clock.Since(began)
		left -= took
		p.report.PublishedReport = p.checked.Report()
		p.report.Scenes = append(p.report.Scenes, SceneReport{At: sc.clock(), Title: sc.title, Seconds: took.Seconds(), Rested: rested})
		say("%s  %-58s %9d rows as published, %d differences\n", sc.clock(), sc.title, p.report.RowsCompared, p.report.Differences)
	}
	if err := p.end(ctx); err != nil {
		return p.report, err
	}
	for _, e := range p.report.Events {
		if e.Met > 0 {
			say("  survived %d×: %s: %s\n", e.Met, e.Name, e.What)
		}
	}
	say("\n")
	return p.report, nil
}

func (p *story) playScene(ctx context.Context, sc scene, patience time.Duration) (rested bool, err error) {
	clk := p.stack.world.sim.Clock()
	if sc.calm {
		if err := p.closeEvents(ctx, false); err != nil {
			return false, err
		}
	}
	at := p.midnight.Add(sc.at)
	for _, e := range sc.events {
		met, err := e.begin(ctx, p, at)
		if err != nil {
			return false, fmt.Errorf("%s: %w", e.name, err)
		}
		if met != nil {
			p.open = append(p.open, openEvent{event: e, at: sc.clock(), met: met})
		}
	}
	if err := p.pace.change(0, func() error { return clk.Set(at.Add(-sceneLead)) }); err != nil {
		return false, err
	}
	if err := p.pace.change(p.speed, clk.Resume); err != nil {
		return false, err
	}
	if err := clock.Sleep(ctx, time.Duration(float64(sceneLength)/p.speed)); err != nil {
		return false, err
	}
	if err := p.pace.change(0, clk.Freeze); err != nil {
		return false, err
	}
	if rested, err = p.stack.runs.Rest(ctx, patience); err != nil {
		return false, err
	}
	return rested, p.checked.Compare(ctx)
}

// end has all of the world's trouble over, and brings what is under way to an end.
func (p *story) end(ctx context.Context) error {
	if err := p.closeEvents(ctx, false); err != nil {
		return err
	}
	var err error
	if p.report.Cancelled, err = p.stack.runs.Settle(ctx); err != nil {
		return err
	}
	if err := p.stack.awaitBindings(ctx); err != nil {
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
	// As fast as it was to be; a story's pace is for itself alone.
	return p.stack.world.sim.Clock().SetSpeed(cmp.Or(p.stack.Speed, 1))
}

// bindingsMax is how long operators' bindings may take to be applied.
const bindingsMax = 30 * time.Second

// awaitBindings waits until the bindings that operators wrote are those that summaries are built with.
func (s *stack) awaitBindings(ctx context.Context) error {
	return await(ctx, bindingsMax, "the accounts' bindings are not applied", func() (bool, error) {
		wanted, err := s.store.Bindings(ctx)
		if err != nil {
			return false, err
		}
		applied, err := s.store.AppliedBindings(ctx)
		return slices.Equal(wanted, applied), err
	})
}

// awaitInterval is how often it is looked whether something has come about.
const awaitInterval = 200 * time.Millisecond

// await waits until something has come about, and fails with what if it does not within a time.
func await(ctx context.Context, within time.Duration, what string, came func() (bool, error)) error {
	for began := clock.Mark(); ; {
		if done, err := came(); err != nil || done {
			return err
		}
		if clock.Since(began) > within {
			return fmt.Errorf("%s within %s", what, within)
		}
		if err := clock.Sleep(ctx, awaitInterval); err != nil {
			return err
		}
	}
}
