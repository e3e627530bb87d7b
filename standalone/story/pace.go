package story

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"adsync/base/clock"

	simworld "adsync/simulator/world"
)

// pace drives the world's clock through a story: the clock stops, is set forward, and runs fast. pace records these
// changes, so that a moment of the database can be converted to a moment of the world.
//
// It is also the clock by which subtasks wait for their retries. That clock follows the world's, but also runs while
// the world stands still, because waiting subtasks would never end otherwise.
type pace struct {
	world *simworld.Clock

	mu    sync.Mutex
	marks []paceMark
	// The waiting clock showed base at the time real of the process's clock, and has run at a speed since.
	base, real time.Time
	speed      float64
}

// paceMark is the time of the world's clock at a moment.
type paceMark struct {
	at, world time.Time
	speed     float64 // from here on; 0 stands still
	changing  bool    // until the next mark, the clock may have been set and started at any moment
}

var _ clock.Clock = (*pace)(nil)

// newPace returns a pace for a stopped world, with a waiting clock that runs at a speed.
func newPace(world *simworld.Clock, speed float64) *pace {
	return &pace{world: world, base: world.Now(), real: clock.Mark(), speed: speed,
		marks: []paceMark{{at: clock.Mark(), world: world.Now()}}}
}

// change changes the world's clock, after which it runs at a speed, or stands still.
func (p *pace) change(speed float64, do func() error) error {
	p.mark(paceMark{changing: true})
	err := do()
	p.mark(paceMark{speed: speed})
	return err
}

func (p *pace) mark(m paceMark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.at, m.world = clock.Mark(), p.world.Now()
	p.marks = append(p.marks, m)
}

// paceSlack is the greatest error of the world's time at a moment while its clock runs: clocks are read to the
// millisecond, and one after the other.
const paceSlack = time.Second

// clockLooks is how many readings clockAhead takes, so that at least one is not delayed.
const clockLooks = 20

// clockAhead returns by how much a database's clock is ahead of this process's, from the fastest answer. It returns 0
// if the difference may be due to the duration of the answer. At a story's speed a tenth of a second is several
// seconds of the world.
func clockAhead(ctx context.Context, now clock.ReadFunc) (time.Duration, error) {
	var ahead time.Duration
	least := time.Duration(math.MaxInt64)
	for range clockLooks {
		asked := clock.Mark()
		told, err := now(ctx)
		if err != nil {
			return 0, fmt.Errorf("read the database's time: %w", err)
		}
		took := clock.Since(asked)
		if took >= least {
			continue
		}
		least = took
		// The database returns whole milliseconds, rounded down.
		ahead = told.Add(time.Millisecond / 2).Sub(asked.Add(took / 2))
		if ahead.Abs() <= took/2+time.Millisecond {
			ahead = 0
		}
	}
	return ahead, nil
}

// worldAt returns the range of the world's times to which a moment of this process's clock may correspond.
func (p *pace) worldAt(at time.Time) (earliest, latest time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n+1 < len(p.marks) && !p.marks[n+1].at.After(at) {
		n++
	}
	m, end := p.marks[n], p.world.Now()
	if n+1 < len(p.marks) {
		end = p.marks[n+1].world
	}
	if m.changing {
		return m.world, end
	}
	gone := max(time.Duration(float64(at.Sub(m.at))*m.speed), 0)
	earliest, latest = m.world.Add(gone), m.world.Add(gone)
	if m.speed > 0 {
		earliest, latest = clock.Later(m.world, earliest.Add(-paceSlack)), latest.Add(paceSlack)
	}
	return earliest, latest
}

// Now implements clock.Clock: it returns the time by which subtasks wait, which never decreases.
func (p *pace) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting().UTC().Truncate(time.Millisecond)
}

func (p *pace) waiting() time.Time {
	mark := clock.Mark()
	now := p.base.Add(time.Duration(float64(mark.Sub(p.real)) * p.speed))
	if world := p.world.Now(); world.After(now) {
		p.base, p.real, now = world, mark, world
	}
	return now
}

// Until implements clock.Clock.
func (p *pace) Until(t time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := t.Sub(p.waiting())
	if left <= 0 {
		return left
	}
	return time.Duration(float64(left) / p.speed)
}

// slow makes the waiting clock run at the speed of real time from now on.
func (p *pace) slow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.base = p.waiting()
	p.real, p.speed = clock.Mark(), 1
}
