package story

import "adsync/simulator/night"

// Night returns the plan of a whole night, made from the platforms' nights. In each scene, events of all platforms come
// first, then those of single platforms.
func Night(platforms []night.Platform) Plan {
	var shifted, tokens []Event
	for _, p := range platforms {
		shifted = append(shifted, of(p.Media, shiftedPages(p)))
		if !p.KeepsTokens {
			tokens = append(tokens, of(p.Media, tokensDead(p.Media)))
		}
	}
	plan := Plan{Speed: 60, Scenes: []Scene{
		{At: night.Evening, Title: "the evening: everything is pulled for the first time", Events: shifted},
		{At: night.Midnight, Title: "midnight: yesterday ends under the pulls"},
		{At: night.FirstHour, Title: "the new day's first figures, answers are cut off"},
		{At: night.LookBack, Title: "the look-back, and a platform that has no yesterday",
			Events: []Event{editedLate(platforms)}},
		{At: night.LateFigures, Title: "late conversions come in, and yesterday is corrected",
			Events: []Event{takenBack(platforms)}},
		{At: night.Lists, Title: "all lists are pulled again, over a limit"},
		{At: night.Tokens, Title: "tokens end before their time", Events: tokens},
		{At: night.Opening, Title: "a frozen account is opened again"},
		{At: night.OldAnswers, Title: "an older answer comes late, and a platform fails",
			Events: []Event{olderLast(platforms)}},
		{At: night.Morning, Title: "the morning: yesterday is pulled again, without a figure", Calm: true},
		{At: night.Reconciling,
			Title: "yesterday is reconciled, rows are lost in our tables, an account goes to another game"},
	}}
	for i := range plan.Scenes {
		sc := &plan.Scenes[i]
		for _, p := range platforms {
			for _, e := range p.Events {
				if e.At == sc.At {
					sc.Events = append(sc.Events, of(p.Media, ownEvent(p.Media, e)))
				}
			}
		}
	}
	return plan
}

// of makes an event one of a single platform.
func of(media string, e Event) Event {
	e.media = media
	return e
}

// ownEvent is an event of one platform.
func ownEvent(media string, e night.Event) Event {
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
		return dropped(media, e.Gone, e.What)
	case night.MetricRetired:
		return metricRetired(media, e.Field)
	case night.DaysOrdered:
		return daysOrdered(media, e.Days)
	case night.DayLost:
		return hole(media, e.Ago)
	case night.HourRepeated:
		return hourRepeated(media, e.Ago)
	case night.AccountRebound:
		return rebound(media)
	case night.RefreshLost:
		return refreshLost(media, e.Endpoint)
	case night.GrantWithdrawn:
		return grantWithdrawn(media)
	default:
		return fault(media, e.Name, e.What, e.Order)
	}
}
