package overview

import (
	"cmp"
	"context"
	"slices"

	"adsync/base/ratelimit/grant"
	"adsync/client"
)

// Limits reads the state of the call limits.
type Limits interface {
	State(ctx context.Context, media string) ([]grant.LimitState, []grant.PauseState, error)
}

// callLimits reads the state of the call limits.
type callLimits struct {
	*facts

	platforms []string
	limits    Limits // may be nil
}

func (l *callLimits) readLimits(ctx context.Context) {
	if l.limits == nil {
		return
	}
	for _, name := range l.platforms {
		states, pauses, err := l.limits.State(ctx, name)
		if err != nil {
			l.trouble("limits", err)
			return
		}
		for i := range states {
			l.o.Limits = append(l.o.Limits, limitOf(&states[i]))
		}
		for _, p := range pauses {
			if !p.Until.IsZero() {
				l.o.Pauses = append(l.o.Pauses, client.PauseOverview{Media: p.Media, Endpoint: p.Endpoint, Scope: string(p.Scope),
					Subject: p.Subject, Until: p.Until, Times: int64(p.Times)})
			}
		}
	}
	slices.SortStableFunc(l.o.Limits, func(a, b client.LimitOverview) int {
		return cmp.Or(cmp.Compare(b.Full, a.Full), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.LastMinute, a.LastMinute))
	})
	l.o.Limits = l.o.Limits[:min(len(l.o.Limits), limitsShown)]
}

func limitOf(s *grant.LimitState) client.LimitOverview {
	allowed := float64(s.Limit) * s.Share * s.Part
	limit := client.LimitOverview{
		Media: s.Media, Endpoint: s.Endpoint, Scope: string(s.Scope), Subject: s.Subject,
		Unit:    string(cmp.Or(s.Unit, grant.UnitCalls)),
		Allowed: int64(allowed), Period: s.Period.String(), Window: int64(s.Window), Ahead: int64(s.Ahead),
		Full: float64(s.Window) / max(1, allowed), LastMinute: int64(s.LastMinute), Tight: s.Part < 1,
	}
	for _, lane := range s.Lanes {
		limit.Waiting += int64(lane.Wanted)
	}
	return limit
}
