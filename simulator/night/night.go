package night

import "time"

// Moment is a time of the night, counted from midnight.
type Moment = time.Duration

// The moments of the night's events.
const (
	Evening     Moment = -20 * time.Minute // everything is pulled for the first time
	Midnight    Moment = 0
	FirstHour   Moment = 30 * time.Minute  // the new day's first figures
	LookBack    Moment = 100 * time.Minute // the days before are pulled again
	LateFigures Moment = 130 * time.Minute // late conversions are published
	Lists       Moment = 210 * time.Minute // all lists are pulled from the start
	Tokens      Moment = 260 * time.Minute // tokens end early
	Opening     Moment = 320 * time.Minute // closed accounts are open again
	OldAnswers  Moment = 390 * time.Minute // answers are late or missing
	Morning     Moment = 520 * time.Minute // all earlier orders are over; yesterday is pulled again
	Reconciling Moment = 540 * time.Minute // yesterday is reconciled
)

// Platform is a platform's part in the night.
type Platform struct {
	Media string
	// HourlyReports is the endpoint of the reports that keep accounts fresh, DailyReports the endpoint of the reports of
	// days.
	HourlyReports, DailyReports string
	// OldReports is the endpoint of the reports of days before the last week; "" is DailyReports.
	OldReports string
	// Ads is adsync's table of the platform's ads, and Modified its column with the time of an ad's last edit.
	Ads, Modified string
	// KeepsTokens is set where access tokens have no end and no refresh: none dies in the night.
	KeepsTokens bool
	// Events happen only on this platform. Those of one moment happen in this order.
	Events []Event
}

// Event is an event on a platform.
type Event struct {
	At   Moment
	Kind Kind
	// Name, What and Order belong to a Fault: its name, its effect on adsync, and the order for the control API, without
	// the platform. What may be the effect of CreativesDropped.
	Name, What string
	Order      map[string]any
	// Ago is how many days before the story's midnight the day of DayLost began, or the earliest day of HourRepeated.
	Ago int
	// Days is how many days DaysOrdered orders.
	Days int
	// Field is the figure of MetricRetired.
	Field string
	// Endpoint is the endpoint of RefreshLost.
	Endpoint string
	// Gone is the query of CreativesDropped that counts the rows marked as deleted. Its only parameter is our id of the
	// account.
	Gone string
}

// Kind is the kind of an event.
type Kind int

// The kinds of events. A frozen, opened or revoked account is not the platform's first account, which the other kinds
// concern.
const (
	Fault              Kind = iota // the simulator disturbs a number of calls
	AccountFrozen                  // an account is closed for a while
	AccountOpened                  // the account of AccountFrozen is opened again
	AccountRevoked                 // a login loses its permission for an account permanently
	EmptyYesterday                 // success, no rows, for a day that has figures
	YesterdayCorrected             // a correction of yesterday's figures is published
	CreativesDropped               // creatives are removed from all ads, and no list has the time of their removal
	MetricRetired                  // reports no longer know a figure
	DaysOrdered                    // several days are ordered at once, and no report has more than one
	DayLost                        // our own tables lose a day, with its coverage
	RefreshLost                    // the answer of a refresh is lost, and the login is authorised again
	GrantWithdrawn                 // the tokens of all logins end without a refresh, and they are authorised again
	HourRepeated                   // a day with an hour that occurs twice is pulled, for an account abroad
	AccountRebound                 // an operator finds that an account was bound to the wrong game
)
