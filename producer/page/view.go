package page

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"adsync/base/money"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer/overview"
)

// view is an overview with all words and numbers formatted for the template.
type view struct {
	Version, Caller string
	LogOut          bool
	// Mood is that of the worst item: bad, warn, note or well; old if the tables could not be read.
	Mood, Headline string
	At, Business   string // "" where they are not known, and where the second is as good as the first
	AtISO          string
	Troubles       []client.Trouble
	Attention      []item // what is bad or to be watched
	Notes          []item
	Media          []mediaView
	Theirs         string
	Open, Ended    []runView
	OpenMore       bool
	OpenCount      int
	Limits         []limitView
	Pauses         []pauseView
	HasTables      bool
}

type item struct {
	client.Attention

	Word, Count, Stake, Named, SinceText, SinceISO string
}

type mediaView struct {
	Name     string
	Spend    []spendView
	First    string // the progress of the first pull, while it is under way
	Accounts []share
	All      string
	Oldest   string
	Late     string // the age from which figures are late
	Parked   []string
}

// share is a part of the accounts and of the bar that shows them.
type share struct {
	Kind, Word, Count string
	From, Wide        string // percent
}

type spendView struct {
	Currency, Ours, Theirs, Difference, Day, Zone string
	Same                                          bool // to the hundredth
	Bars                                          []bar
	Peak                                          string
	Trend                                         string
}

// bar is an hour's spend: today's over that of the day before.
type bar struct {
	X, Y, H, BeforeY, BeforeH string
	Title                     string
	Present                   bool
}

type runView struct {
	ID, Task, Media, State, Mood, Done, Rate, Error string
	Percent                                         string
	When, WhenISO                                   string
}

type limitView struct {
	Media, Endpoint, Subject, Allowed, Used, Percent, Waiting string
	Mood, Word                                                string
}

type pauseView struct{ Media, Endpoint, Subject, Until, UntilISO string }

var severityWords = map[string]string{overview.Bad: "Act", overview.Warn: "Watch", overview.Note: "Note"}

func viewOf(o overview.Overview) view {
	v := view{Troubles: o.Troubles, HasTables: !o.At.IsZero(), OpenMore: o.OpenMore, OpenCount: len(o.Open)}
	if v.HasTables {
		v.At, v.AtISO = clockTime(o.At), iso(o.At)
		if apart := o.Business.Sub(o.At).Abs(); apart > time.Minute {
			v.Business = o.Business.UTC().Format("2006-01-02 15:04:05 MST")
		}
	}
	worst := ""
	for _, a := range o.Attention {
		if worst == "" {
			worst = a.Severity
		}
		if a.Severity == overview.Note {
			v.Notes = append(v.Notes, itemOf(a))
		} else {
			v.Attention = append(v.Attention, itemOf(a))
		}
	}
	v.Mood, v.Headline = mood(worst, len(v.Attention), len(o.Troubles), v.HasTables)
	if first := o.FirstPull(); v.Mood == "well" && first != "" {
		v.Mood, v.Headline = "note", first
	}
	v.Theirs = map[string]string{overview.Ledger: "Platform says",
		overview.DayTotals: "Accounts’ day totals"}[o.Theirs]
	for i := range o.Media {
		v.Media = append(v.Media, mediaOf(&o.Media[i]))
	}
	for i := range o.Open {
		v.Open = append(v.Open, runOf(&o.Open[i]))
	}
	for i := range o.Ended {
		v.Ended = append(v.Ended, runOf(&o.Ended[i]))
	}
	for i := range o.Limits {
		v.Limits = append(v.Limits, limitOf(&o.Limits[i]))
	}
	for _, p := range o.Pauses {
		v.Pauses = append(v.Pauses, pauseView{p.Media, cmp.Or(p.Endpoint, "all endpoints"),
			strings.TrimSpace(p.Scope + " " + p.Subject), clockTime(p.Until), iso(p.Until)})
	}
	return v
}

func mood(worst string, items, troubles int, tables bool) (mood, headline string) {
	switch {
	case !tables:
		return "bad", "The tables cannot be read"
	case troubles > 0:
		return "bad", "Something does not answer"
	case items == 1:
		return worst, "One thing needs attention"
	case items > 1:
		return worst, fmt.Sprintf("%d things need attention", items)
	default:
		return "well", "All is well"
	}
}

func itemOf(a client.Attention) item {
	i := item{Attention: a, Word: severityWords[a.Severity]}
	if a.Accounts > 0 {
		i.Count = number(a.Accounts) + " account"
		if a.Accounts > 1 {
			i.Count += "s"
		}
		if a.AtLeast {
			i.Count = "at least " + i.Count
		}
	}
	var stake []string
	for _, m := range a.Money {
		stake = append(stake, m.Currency+" "+money.Format(m.Micros, m.Currency))
	}
	i.Named = strings.Join(a.Examples, ", ")
	if a.Accounts > int64(len(a.Examples)) {
		i.Named += " …"
	}
	i.Stake = strings.Join(stake, " · ")
	if !a.Since.IsZero() {
		i.SinceText, i.SinceISO = a.Since.UTC().Format("01-02 15:04 MST"), iso(a.Since)
	}
	return i
}

func mediaOf(m *client.MediaOverview) mediaView {
	v := mediaView{Name: m.Name, All: number(m.Accounts), Late: short(m.LateSeconds), Oldest: "never pulled"}
	if m.OldestSeconds >= 0 {
		v.Oldest = short(m.OldestSeconds)
	}
	if m.Pulled == 0 {
		v.Oldest = "none is pulled"
	}
	if m.FirstPull {
		v.First = overview.FirstPullOf(m)
	}
	from := 0.0
	for _, s := range []struct {
		kind, word string
		n          int64
	}{{"fresh", "fresh", m.Fresh}, {"late", "late", m.Late}, {"new", "new", m.New}, {"parked", "parked", m.Parked},
		{"quiet", "quiet", m.Quiet}} {
		wide := 100 * float64(s.n) / float64(max(1, m.Fresh+m.Late+m.New+m.Parked+m.Quiet))
		v.Accounts = append(v.Accounts, share{Kind: s.kind, Word: s.word, Count: number(s.n), From: percent(from),
			Wide: percent(wide)})
		from += wide
	}
	for _, w := range m.ParkedReasons {
		v.Parked = append(v.Parked, fmt.Sprintf("%s %s", number(w.Accounts), w.Reason))
	}
	for i := range m.Spend {
		v.Spend = append(v.Spend, spendOf(&m.Spend[i]))
	}
	return v
}

// The picture of the hours: its height, and how wide an hour and its bar are.
const (
	hoursHigh = 56.0
	hourWide  = 10.0
)

func spendOf(s *client.Spend) spendView {
	v := spendView{Currency: s.Currency, Ours: money.Format(s.Ours, s.Currency), Day: s.Day, Zone: s.Zone}
	if s.Theirs != nil {
		v.Theirs = money.Format(*s.Theirs, s.Currency)
		v.Difference, v.Same = difference(s.Ours, *s.Theirs, s.Currency)
	}
	peak := int64(1)
	for h := range s.Hours {
		peak = max(peak, s.Hours[h], s.Before[h])
	}
	v.Peak = money.Format(peak, s.Currency)
	var today, before int64
	for h := range s.Hours {
		high := func(cost int64) float64 { return math.Max(0, hoursHigh*float64(cost)/float64(peak)) }
		b := bar{
			X: decimal(float64(h) * hourWide), Y: decimal(hoursHigh - high(s.Hours[h])), H: decimal(high(s.Hours[h])),
			BeforeY: decimal(hoursHigh - high(s.Before[h])), BeforeH: decimal(high(s.Before[h])), Present: int64(h) == s.Hour,
			Title: fmt.Sprintf("%02d:00  today %s, the day before %s", h, money.Format(s.Hours[h], s.Currency),
				money.Format(s.Before[h], s.Currency)),
		}
		v.Bars = append(v.Bars, b)
		if int64(h) < s.Hour {
			today, before = today+s.Hours[h], before+s.Before[h]
		}
	}
	if s.Hour > 0 && before > 0 {
		v.Trend = fmt.Sprintf("%+.1f %% to %02d:00, against the day before", 100*float64(today-before)/float64(before),
			s.Hour)
	}
	return v
}

// difference returns how far ours is from theirs.
func difference(ours, theirs int64, currency string) (text string, same bool) {
	switch {
	case ours/money.Smallest(currency) == theirs/money.Smallest(currency):
		return "equal", true
	case theirs == 0:
		return money.Format(ours, currency), false
	default:
		return fmt.Sprintf("%+.2f %%", 100*float64(ours-theirs)/float64(theirs)), false
	}
}

func runOf(r *client.RunOverview) runView {
	v := runView{ID: r.ID, Task: r.Task, Media: r.Media,
		State: strings.ReplaceAll(string(r.State), "_", " "), Mood: "note", Error: r.Error, Percent: "0"}
	v.Done = number(r.Ended) + " of …"
	if r.Total >= 0 {
		v.Done = number(r.Ended) + " of " + number(r.Total)
	}
	if r.Total > 0 {
		v.Percent = percent(100 * float64(r.Ended) / float64(r.Total))
	}
	if r.PerSecond > 0 {
		v.Rate = strconv.FormatFloat(r.PerSecond, 'f', 1, 64) + "/s"
	}
	at := r.CreatedAt
	if !task.RunState(r.State).Open() {
		at = r.EndedAt
	}
	v.When, v.WhenISO = clockTime(at), iso(at)
	switch task.RunState(r.State) {
	case task.RunSucceeded:
		v.Mood, v.Percent = "well", "100"
	case task.RunPartial, task.RunExpired:
		v.Mood = "warn"
	case task.RunFailed:
		v.Mood = "bad"
	case task.RunFanningOut, task.RunRunning, task.RunCancelled, task.RunSkipped:
	}
	return v
}

func limitOf(l *client.LimitOverview) limitView {
	v := limitView{
		Media: l.Media, Endpoint: l.Endpoint, Subject: strings.TrimSpace(l.Scope + " " + l.Subject),
		Allowed: number(l.Allowed) + " " + l.Unit + " in " + trimPeriod(l.Period), Used: number(l.Window),
		Percent: percent(min(100, 100*l.Full)), Mood: "well", Word: "free",
	}
	if l.Endpoint == "*" {
		v.Endpoint = "all endpoints"
	}
	if l.Waiting > 0 {
		v.Waiting = number(l.Waiting)
	}
	switch {
	case l.Tight:
		v.Mood, v.Word = "warn", "tightened"
	case overview.Scarce(l):
		v.Mood, v.Word = "warn", "full"
	}
	return v
}

// trimPeriod removes zero units: 1m0s becomes 1m.
func trimPeriod(text string) string {
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05 MST") }

func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// short formats a duration in its two largest units, without zero ones.
func short(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	two := func(many time.Duration, of string, few time.Duration, rest string) string {
		text := fmt.Sprintf("%d %s", d/many, of)
		if left := d % many / few; left > 0 {
			text += fmt.Sprintf(" %d %s", left, rest)
		}
		return text
	}
	switch {
	case d >= 24*time.Hour:
		return two(24*time.Hour, "d", time.Hour, "h")
	case d >= time.Hour:
		return two(time.Hour, "h", time.Minute, "min")
	case d >= time.Minute:
		return two(time.Minute, "min", time.Second, "s")
	default:
		return fmt.Sprintf("%d s", d/time.Second)
	}
}

// number formats a count with separated thousands.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func percent(p float64) string { return decimal(p) }

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }
