package simulator

import (
	"slices"
	"strconv"
)

// level is what a report's rows are about.
type level uint8

const (
	levelAccount level = iota
	levelAd
	levelCreative
)

func (l level) String() string { return [...]string{"account", "ad", "creative"}[l] }

// noHour is the hour of a row that is about a whole day.
const noHour = -1

// row is one row of a report in its finest form: a day or an hour of an account or an ad.
type row struct {
	day    int
	hour   int   // noHour in daily reports
	object int64 // 0 at account level
	ad     *ad   // nil at account level; the ad that the row was made of even if object says another
	// creative is set at its level only.
	creative *creative
	figures
}

// adID is the ad that the row is about, or whose creative it is about; 0 at account level.
func (r *row) adID() int64 {
	if r.creative != nil {
		return r.ad.id
	}
	return r.object
}

// scope is which rows are asked for.
type scope struct {
	level    level
	hourly   bool
	from, to int // days, both included
}

// altering serves an account's rows and objects otherwise than the truth has them.
type altering interface {
	Rows(v *view, a *account, s scope) []row
	Objects(v *view, a *account) []object
}

// view is the world at a moment: the truth, or what is served of it.
type view struct {
	now         int64
	corrections *corrections
	alterations altering // nil in the truth
	scratch     *[]row   // memory for the rows of one question; they end with the next one. nil makes new memory
	fell        bool     // rows were made of a past day whose spend has fallen
	grew        bool     // and of one whose amounts have grown since it was a week old
}

// rows makes an account's rows in the order of day, hour, object. Rows without impressions do not exist.
func (v *view) rows(a *account, s scope) []row {
	if v.alterations != nil {
		return v.alterations.Rows(v, a, s)
	}
	return v.trueRows(a, s)
}

func (v *view) trueRows(a *account, s scope) (rows []row) {
	if a.class == classEmpty || a.sleeps() {
		return nil
	}
	// Days to come have no figures, and neither have days before the world.
	s.from, s.to = max(s.from, dayOf(firstMoment.Unix())), min(s.to, a.calendar.dayOf(v.now))
	if v.scratch != nil {
		rows = (*v.scratch)[:0]
		defer func() { *v.scratch = rows }()
	}
	ads := make([]*ad, 0, a.slots)
	for day := s.from; day <= s.to; day++ {
		ads = ads[:0]
		a.adsOn(day, func(x ad) { ads = append(ads, &x) })
		switch {
		case s.level == levelCreative:
			rows = v.creativeRows(rows, a, s, day, ads)
		case s.hourly:
			rows = v.hourRows(rows, a, s, day, ads)
		default:
			rows = v.dayRows(rows, a, s, day, ads)
		}
	}
	return rows
}

func (v *view) dayRows(rows []row, a *account, s scope, day int, ads []*ad) []row {
	corrects := v.corrections.of(a, day, v.now)
	end := a.calendar.publishedSecond(day, v.now)
	total := row{day: day, hour: noHour}
	for _, x := range ads {
		d := x.day(day, v.now, corrects)
		f := d.until(end)
		if f[impressions] == 0 {
			continue
		}
		v.fell, v.grew = v.fell || d.fell, v.grew || d.grew(&f)
		if s.level == levelAd {
			rows = append(rows, row{day: day, hour: noHour, object: x.id, ad: x, figures: f})
		} else {
			total.add(&f)
		}
	}
	if total.figures[impressions] > 0 {
		rows = append(rows, total)
	}
	return rows
}

func (v *view) hourRows(rows []row, a *account, s scope, day int, ads []*ad) []row {
	corrects := v.corrections.of(a, day, v.now)
	end := a.calendar.publishedSecond(day, v.now)
	type running struct {
		adDay
		ad   *ad
		last figures
	}
	var list []running
	for _, x := range ads {
		if d := x.day(day, v.now, corrects); d.spanN > 0 {
			list = append(list, running{adDay: d, ad: x})
			v.fell = v.fell || d.fell
		}
	}
	if s.level == levelAd {
		rows = slices.Grow(rows, len(list)*int((end+hourLength-1)/hourLength))
	}
	for _, hour := range a.calendar.hours(day) {
		if hour.from >= end {
			break
		}
		total := row{day: day, hour: hour.name}
		for i := range list {
			x := &list[i]
			sum := x.until(min(hour.to, end))
			if sum[impressions] == x.last[impressions] {
				continue
			}
			f := sum.minus(&x.last)
			x.last = sum
			if s.level == levelAd {
				rows = append(rows, row{day: day, hour: hour.name, object: x.ad.id, ad: x.ad, figures: f})
			} else {
				total.add(&f)
			}
		}
		if total.figures[impressions] > 0 {
			rows = append(rows, total)
		}
	}
	return rows
}

// creativeRows splits the ads' hours over their creatives; a creative's day is the sum of its hours.
func (v *view) creativeRows(rows []row, a *account, s scope, day int, ads []*ad) []row {
	corrects := v.corrections.of(a, day, v.now)
	end := a.calendar.publishedSecond(day, v.now)
	type running struct {
		adDay
		ad      *ad
		last    figures
		players []player
		days    []figures // of the players
	}
	var list []running
	for _, x := range ads {
		if d := x.day(day, v.now, corrects); d.spanN > 0 {
			r := running{adDay: d, ad: x, players: x.players(a, day)}
			r.days = make([]figures, len(r.players))
			list = append(list, r)
		}
	}
	for _, hour := range a.calendar.hours(day) {
		if hour.from >= end {
			break
		}
		for i := range list {
			x := &list[i]
			sum := x.until(min(hour.to, end))
			if sum[impressions] == x.last[impressions] {
				continue
			}
			f := sum.minus(&x.last)
			x.last = sum
			share(x.players, &f, x.ad.key.sub(uint64(20_000+day*24+hour.name)), x.price)
			for n := range x.players {
				p := &x.players[n]
				x.days[n].add(&p.figures)
				if s.hourly && p.figures[impressions] > 0 {
					rows = append(rows, row{day: day, hour: hour.name, object: p.creative.id, ad: x.ad, creative: p.creative, figures: p.figures})
				}
			}
		}
	}
	if s.hourly {
		return rows
	}
	for i := range list {
		x := &list[i]
		for n, f := range x.days {
			if c := x.players[n].creative; f[impressions] > 0 {
				rows = append(rows, row{day: day, hour: noHour, object: c.id, ad: x.ad, creative: c, figures: f})
			}
		}
	}
	return rows
}

// objects lists an account's ads as its configuration shows them, deleted ones too, in the order of their ids.
func (v *view) objects(a *account) []object {
	if v.alterations != nil {
		return v.alterations.Objects(v, a)
	}
	return v.trueObjects(a)
}

func (v *view) trueObjects(a *account) []object {
	list := make([]object, 0, 3*a.slots)
	a.ads(v.now, true, func(x ad) {
		o := x.at(v.now)
		for i := range a.edits {
			a.edits[i].apply(&o, v.now)
		}
		list = append(list, o)
	})
	return list
}

func objectText(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}
