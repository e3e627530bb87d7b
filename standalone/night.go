package standalone

import "adsync/simulator/night"

// nightOf is the story: what the platforms' nights are made of. In each scene come first what happens to all platforms, then what
// happens to one.
func nightOf(platforms []night.Platform) storyPlan {
	var shifted, tokens []event
	for _, p := range platforms {
		shifted = append(shifted, shiftedPages(p))
		tokens = append(tokens, tokensDead(p.Media))
	}
	plan := storyPlan{speed: 60, scenes: []scene{
		{at: night.Evening, title: "the evening: everything is pulled for the first time", events: shifted},
		{at: night.Midnight, title: "midnight: yesterday ends under the pulls"},
		{at: night.FirstHour, title: "the new day's first figures, answers are cut off"},
		{at: night.LookBack, title: "the look-back, and a platform that has no yesterday", events: []event{editedLate(platforms)}},
		{at: night.LateFigures, title: "late conversions come in, and yesterday is corrected", events: []event{takenBack(platforms)}},
		{at: night.Lists, title: "all lists are pulled anew, over a limit"},
		{at: night.Tokens, title: "tokens end before their time", events: tokens},
		{at: night.Opening, title: "an account is frozen no more"},
		{at: night.OldAnswers, title: "an older answer comes late, and a platform fails", events: []event{olderLast(platforms)}},
		{at: night.Morning, title: "the morning: yesterday is pulled again, without a figure", calm: true},
		{at: night.Reconciling, title: "yesterday is reconciled, rows are lost in our tables, an account goes to another game"},
	}}
	for i := range plan.scenes {
		sc := &plan.scenes[i]
		for _, p := range platforms {
			for _, e := range p.Events {
				if e.At == sc.at {
					sc.events = append(sc.events, ownEvent(p.Media, e))
				}
			}
		}
	}
	return plan
}

// ownEvent is an event of one platform.
func ownEvent(media string, e night.Event) event {
	switch e.Kind {
	case night.AccountFrozen:
		return accountFrozen(media)
	case night.AccountOpened:
		return accountOpened(media)
	case night.AccountRevoked:
		return accountRevoked(media)
	case night.EmptyYesterday:
		return emptyYesterday(media)
	case night.YesterdayCorrected:
		return corrected(media)
	case night.CreativesDropped:
		return dropped(media, e.Gone)
	case night.MetricRetired:
		return metricRetired(media, e.Field)
	case night.DayLost:
		return hole(media)
	case night.AccountRebound:
		return rebound(media)
	default:
		return fault(media, e.Name, e.What, e.Order)
	}
}
