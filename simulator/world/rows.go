package world

import (
	"slices"
	"strconv"
)

// Level is the level of a report's rows.
type Level uint8

// The levels.
const (
	LevelAccount Level = iota
	LevelAd
	LevelCreative
)

func (l Level) String() string { return [...]string{"account", "ad", "creative"}[l] }

// NoHour is the hour of a row for a whole day.
const NoHour = -1

// Row is one row of a report in its finest form: a day or an hour of an account or an ad.
type Row struct {
	Day    int
	Hour   int   // NoHour in daily reports
	Object int64 // 0 at account level
	Ad     *Ad   // nil at account level; the ad that the row was computed from, even if Object differs
	// Creative is set at its level only.
	Creative *Creative
	Figures
}

// AdID returns the id of the row's ad, or of the ad of its creative; 0 at account level.
func (r *Row) AdID() int64 {
	if r.Creative != nil {
		return r.Ad.ID
	}
	return r.Object
}

// Scope selects rows.
type Scope struct {
	Level    Level
	Hourly   bool
	From, To int // days, both included
}

// Altering serves an account's rows and objects with differences from the truth.
type Altering interface {
	Rows(v *View, a *Account, s Scope) []Row
	Objects(v *View, a *Account) []Object
}

// View is the world at a moment: the truth, or the data as served.
type View struct {
	Now         int64
	Corrections *Corrections
	Alterations Altering // nil in the truth
	Scratch     *[]Row   // memory for the rows of one query, valid until the next one; nil allocates
	Fell        bool     // rows include a past day whose spend has fallen
	Grew        bool     // rows include a day whose amounts have grown since it was a week old
}

// Rows returns an account's rows in order of day, hour and object. There are no rows without impressions.
func (v *View) Rows(a *Account, s Scope) []Row {
	if v.Alterations != nil {
		return v.Alterations.Rows(v, a, s)
	}
	return v.TrueRows(a, s)
}

// TrueRows returns an account's rows in the truth.
func (v *View) TrueRows(a *Account, s Scope) (rows []Row) {
	if a.Class == ClassEmpty || a.sleeps() {
		return nil
	}
	// Future days have no figures, and neither have days before the world.
	s.From, s.To = max(s.From, DayOf(FirstMoment.Unix())), min(s.To, a.Calendar.DayOf(v.Now))
	if v.Scratch != nil {
		rows = (*v.Scratch)[:0]
		defer func() { *v.Scratch = rows }()
	}
	ads := make([]*Ad, 0, a.Slots)
	for day := s.From; day <= s.To; day++ {
		ads = ads[:0]
		a.adsOn(day, func(x Ad) { ads = append(ads, &x) })
		switch {
		case s.Level == LevelCreative:
			rows = v.creativeRows(rows, a, s, day, ads)
		case s.Hourly:
			rows = v.hourRows(rows, a, s, day, ads)
		default:
			rows = v.dayRows(rows, a, s, day, ads)
		}
	}
	return rows
}

func (v *View) dayRows(rows []Row, a *Account, s Scope, day int, ads []*Ad) []Row {
	corrects := v.Corrections.of(a, day, v.Now)
	end := a.Calendar.PublishedSecond(day, v.Now)
	total := Row{Day: day, Hour: NoHour}
	for _, x := range ads {
		d := x.day(day, v.Now, corrects)
		f := d.until(end)
		if f[Impressions] == 0 {
			continue
		}
		v.Fell, v.Grew = v.Fell || d.fell, v.Grew || d.grew(&f)
		if s.Level == LevelAd {
			rows = append(rows, Row{Day: day, Hour: NoHour, Object: x.ID, Ad: x, Figures: f})
		} else {
			total.Add(&f)
		}
	}
	if total.Figures[Impressions] > 0 {
		rows = append(rows, total)
	}
	return rows
}

func (v *View) hourRows(rows []Row, a *Account, s Scope, day int, ads []*Ad) []Row {
	corrects := v.Corrections.of(a, day, v.Now)
	end := a.Calendar.PublishedSecond(day, v.Now)
	type running struct {
		adDay
		ad   *Ad
		last Figures
	}
	var list []running
	for _, x := range ads {
		if d := x.day(day, v.Now, corrects); d.spanN > 0 {
			list = append(list, running{adDay: d, ad: x})
			v.Fell = v.Fell || d.fell
		}
	}
	if s.Level == LevelAd {
		rows = slices.Grow(rows, len(list)*int((end+HourLength-1)/HourLength))
	}
	for _, hour := range a.Calendar.Hours(day) {
		if hour.From >= end {
			break
		}
		total := Row{Day: day, Hour: hour.Name}
		for i := range list {
			x := &list[i]
			sum := x.until(min(hour.To, end))
			if sum[Impressions] == x.last[Impressions] {
				continue
			}
			f := sum.minus(&x.last)
			x.last = sum
			if s.Level == LevelAd {
				rows = append(rows, Row{Day: day, Hour: hour.Name, Object: x.ad.ID, Ad: x.ad, Figures: f})
			} else {
				total.Add(&f)
			}
		}
		if total.Figures[Impressions] > 0 {
			rows = append(rows, total)
		}
	}
	return rows
}

// creativeRows splits the ads' hours among their creatives; a creative's day is the sum of its hours.
func (v *View) creativeRows(rows []Row, a *Account, s Scope, day int, ads []*Ad) []Row {
	corrects := v.Corrections.of(a, day, v.Now)
	end := a.Calendar.PublishedSecond(day, v.Now)
	type running struct {
		adDay
		ad      *Ad
		last    Figures
		players []player
		days    []Figures // figures of the players
	}
	var list []running
	for _, x := range ads {
		if d := x.day(day, v.Now, corrects); d.spanN > 0 {
			r := running{adDay: d, ad: x, players: x.players(a, day)}
			r.days = make([]Figures, len(r.players))
			list = append(list, r)
		}
	}
	for _, hour := range a.Calendar.Hours(day) {
		if hour.From >= end {
			break
		}
		for i := range list {
			x := &list[i]
			sum := x.until(min(hour.To, end))
			if sum[Impressions] == x.last[Impressions] {
				continue
			}
			f := sum.minus(&x.last)
			x.last = sum
			share(x.players, &f, x.ad.key.Sub(uint64(20_000+day*24+hour.Name)), x.price)
			for n := range x.players {
				p := &x.players[n]
				x.days[n].Add(&p.figures)
				if s.Hourly && p.figures[Impressions] > 0 {
					rows = append(rows, Row{Day: day, Hour: hour.Name, Object: p.creative.ID, Ad: x.ad, Creative: p.creative,
						Figures: p.figures})
				}
			}
		}
	}
	if s.Hourly {
		return rows
	}
	for i := range list {
		x := &list[i]
		for n, f := range x.days {
			if c := x.players[n].creative; f[Impressions] > 0 {
				rows = append(rows, Row{Day: day, Hour: NoHour, Object: c.ID, Ad: x.ad, Creative: c, Figures: f})
			}
		}
	}
	return rows
}

// Objects lists the ads in an account's configuration, including deleted ones, in order of id.
func (v *View) Objects(a *Account) []Object {
	if v.Alterations != nil {
		return v.Alterations.Objects(v, a)
	}
	return v.TrueObjects(a)
}

// TrueObjects returns an account's configuration in the truth.
func (v *View) TrueObjects(a *Account) []Object {
	list := make([]Object, 0, 3*a.Slots)
	a.Ads(v.Now, true, func(x Ad) {
		o := x.At(v.Now)
		for i := range a.edits {
			a.edits[i].apply(&o, v.Now)
		}
		list = append(list, o)
	})
	return list
}

// ObjectText returns an id as text; "" for 0.
func ObjectText(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}
