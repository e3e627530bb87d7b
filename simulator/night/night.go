package night

import "time"

// Moment is a moment of the night, from midnight on.
type Moment = time.Duration

// The moments of the night at which something happens.
const (
	Evening     Moment = -20 * time.Minute // everything is pulled for the first time
	Midnight    Moment = 0
	FirstHour   Moment = 30 * time.Minute  // the new day's first figures
	LookBack    Moment = 100 * time.Minute // the days before are pulled again
	LateFigures Moment = 130 * time.Minute // conversions come in late
	Lists       Moment = 210 * time.Minute // all lists are pulled from the start
	Tokens      Moment = 260 * time.Minute // tokens end before their time
	Opening     Moment = 320 * time.Minute // what was closed is open again
	OldAnswers  Moment = 390 * time.Minute // answers come late, or not at all
	// whatever was ordered of the platforms before is over; yesterday is pulled again
	Morning     Moment = 520 * time.Minute
	Reconciling Moment = 540 * time.Minute // yesterday is reconciled
)

// Platform is a platform's part in the night.
type Platform struct {
	Media string
	// HourlyReports is the endpoint that answers the reports by which accounts are kept fresh, DailyReports the one that
	// answers the figures of days.
	HourlyReports, DailyReports string
	// Ads is adsync's table of the platform's ads, and Modified its column with the time of an ad's last edit.
	Ads, Modified string
	// Events happen to this platform alone. Those of one moment happen in this order.
	Events []Event
}

// Event is something that happens to a platform.
type Event struct {
	At   Moment
	Kind Kind
	// Name, What and Order are of a Fault: its name, what becomes of it, and the order as the control API reads it,
	// without the platform.
	Name, What string
	Order      map[string]any
	// Field is the figure of a MetricRetired.
	Field string
	// Gone is the query of CreativesDropped that counts the rows marked as deleted. Its one parameter is our id of the
	// account.
	Gone string
}

// Kind is what happens in an event.
type Kind int

// The kinds of events. A frozen, opened or revoked account is another one than the platform's first account, which
// the other kinds are about.
const (
	Fault              Kind = iota // the simulator makes trouble automatically, a number of times
	AccountFrozen                  // an account is closed for a while
	AccountOpened                  // the end of what AccountFrozen began
	AccountRevoked                 // a login loses its permission for an account, and gets none again
	EmptyYesterday                 // success, no rows, for a day that has figures
	YesterdayCorrected             // a correction of yesterday's figures is published
	CreativesDropped               // creatives are taken out of all ads, and no list has them or a time of it
	MetricRetired                  // reports no longer know a figure
	DayLost                        // our own tables lose a day, with what they know of it
	AccountRebound                 // an operator finds that an account was bound to the wrong game
)
