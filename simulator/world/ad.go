package world

import (
	"strconv"

	"adsync/simulator/fault/trap"
)

// An account runs a fixed number of ads side by side, in slots. Each slot holds one ad after the other: the ad of
// generation g is made, edited, paused and resumed, and deleted before the next one is made. All moments follow from
// the slot's period and phase by arithmetic, so the state of an ad at any time is found without playing its history.
const (
	GenerationsMax = 128 // a period of at least 30 days from 2025 up to 2035 has fewer
	slotsMax       = 256
	adsPerProject  = 5
)

// Ad is one object of the platform's lowest configuration level.
type Ad struct {
	key      Key
	calendar *Calendar // of its account
	class    Class
	Number   int64 // unique in its platform's account
	ID       int64
	Project  int64 // 0 where the platform has no projects
	Created  int64
	Deleted  int64 // may lie in the future
	woken    int64 // of its account
	// creatives is how many it has in a giant account; 0 leaves it to the ad.
	creatives int
	Traps     *trap.Switches
	inherits  string // the name that it begins with, of one that was deleted; "" is one of its own
}

// Status is an ad's or a creative's.
type Status uint8

// The states of ads and creatives.
const (
	StatusActive Status = iota
	StatusPaused
	StatusDeleted
)

func (s Status) String() string { return [...]string{"active", "paused", "deleted"}[s] }

// Object is an ad as the platform's configuration shows it at a moment. Money is in fen.
type Object struct {
	Ad
	Name     string
	Status   Status // of the advertiser's own doing, or deleted
	Budget   int64  // a day; 0 is unlimited
	Bid      int64
	Aim      Key // its audience
	Modified int64
	Traits   []trap.ID // the traps that it is one of
}

// Audience is whom an ad is shown to.
type Audience struct {
	From, To int64  // years of age
	Gender   string // MALE, FEMALE, or "" for all
	Regions  []int64
}

// Audience is whom an ad or project of the key is shown to.
func (k Key) Audience() Audience {
	ages := pick(k.Sub(1), [][2]int64{{18, 23}, {24, 30}, {31, 40}, {41, 49}})
	a := Audience{From: ages[0], To: ages[1], Gender: pick(k.Sub(2), []string{"MALE", "FEMALE", ""})}
	for i, region := range []int64{110_000, 310_000, 330_000, 440_000} {
		if i == 0 || k.Sub(uint64(10+i)).Chance(40) {
			a.Regions = append(a.Regions, region)
		}
	}
	return a
}

// series is the succession of ads in a slot.
type series struct {
	account *Account
	key     Key
	slot    int
	period  int64
	start   int64 // of generation 0, before FirstMoment
}

func (a *Account) series(slot int) series {
	k := a.Key.Sub(100 + uint64(slot))
	period := k.Sub(1).between(400*DayLength, 1200*DayLength)
	if k.Sub(2).Chance(20) {
		// A fifth of the slots tries something new every month or two, so that each day sees ads come and go.
		period = k.Sub(1).between(30*DayLength, 75*DayLength)
	}
	return series{account: a, key: k, slot: slot, period: period, start: FirstMoment.Unix() - k.Sub(3).Below(period)}
}

func (s series) created(generation int) int64 {
	return s.start + int64(generation)*s.period + s.key.Sub(uint64(1000+generation)).Below(s.period/50)
}

// last is the newest generation made by a moment, or -1.
func (s series) last(moment int64) int {
	g := int(floorDiv(moment-s.start, s.period))
	if g >= 0 && s.created(g) > moment {
		g--
	}
	return max(g, -1)
}

func (s series) ad(generation int) Ad {
	k := s.key.Sub(uint64(5000 + generation))
	a, p := s.account, s.account.Platform
	number := (int64(a.Index)*slotsMax+int64(s.slot))*GenerationsMax + int64(generation)
	made := s.created(generation)
	x := Ad{
		key: k, calendar: a.Calendar, class: a.Class, Number: number,
		ID:        p.ObjectBase + number*p.ObjectStep + k.Sub(1).Below(p.ObjectStep),
		Created:   made,
		Deleted:   made + s.period*k.Sub(2).between(55, 95)/100,
		woken:     a.Woken,
		creatives: a.creativesEach,
		Traps:     a.traps,
	}
	if generation > 0 && x.Falls(trap.NameReused) {
		before := s.ad(generation - 1)
		x.inherits = before.At(before.Deleted).Name
	}
	if p.HasProjects {
		x.Project = a.projectID(s.slot / adsPerProject)
	}
	return x
}

// Ads calls yield with every ad made by now, in the order of their ids, deleted ones too if wanted.
func (a *Account) Ads(now int64, withDeleted bool, yield func(Ad)) {
	for slot := range a.Slots {
		s := a.series(slot)
		last := s.last(now)
		first := last
		if withDeleted {
			first = 0
		}
		for g := max(first, 0); g <= last; g++ {
			if x := s.ad(g); withDeleted || x.Deleted > now {
				yield(x)
			}
		}
	}
}

// adsOn calls yield with every ad that lived on a day, in the order of their ids.
func (a *Account) adsOn(day int, yield func(Ad)) {
	start := a.Calendar.Start(day)
	for slot := range a.Slots {
		s := a.series(slot)
		for g, last := max(s.last(start), 0), s.last(start+a.Calendar.Length(day)-1); g <= last; g++ {
			if x := s.ad(g); x.Deleted > start {
				yield(x)
			}
		}
	}
}

// Edit is the rhythm in which one property of an ad changes.
type Edit struct{ period, phase int64 }

// Edits is the rhythm in which a property of the ad is changed, daysMin to daysMax apart.
func (x *Ad) Edits(child uint64, daysMin, daysMax int64) Edit {
	k := x.key.Sub(child)
	period := k.Sub(1).between(daysMin*DayLength, daysMax*DayLength)
	return Edit{period: period, phase: k.Sub(2).Below(period)}
}

// Version counts the changes since the ad was made and says when the last one was.
func (e Edit) Version(created, moment int64) (n, changed int64) {
	n = (moment - created + e.phase) / e.period
	if n == 0 {
		return 0, created
	}
	return n, created + n*e.period - e.phase
}

// pauses is the rhythm in which an ad runs and rests. It runs when it is made.
func (x *Ad) pauses() (cycle Edit, on int64) {
	switch k := x.key.Sub(10); {
	case x.class == ClassQuiet:
		return Edit{period: 1 << 40}, 0
	case k.Chance(40):
		return Edit{period: 1 << 40}, 1 << 40
	default:
		cycle = x.Edits(10, 4, 40)
		on = cycle.period * k.Sub(3).between(60, 97) / 100
		cycle.phase %= on
		return cycle, on
	}
}

// StatusAt is the advertiser's own switch at a moment after the ad was made, and when it was last turned.
func (x *Ad) StatusAt(moment int64) (s Status, changed int64) {
	if x.class == ClassQuiet && x.woken != 0 && moment >= x.woken {
		return StatusActive, max(x.woken, x.Created)
	}
	cycle, on := x.pauses()
	n, resumed := cycle.Version(x.Created, moment)
	rest := x.Created + n*cycle.period - cycle.phase + on
	switch {
	case on == 0:
		return StatusPaused, x.Created
	case moment >= rest:
		return StatusPaused, rest
	default:
		return StatusActive, resumed
	}
}

// At is the ad's configuration at a moment after it was made. A deleted ad keeps the values of its last second.
func (x *Ad) At(now int64) Object {
	o := Object{Ad: *x}
	moment := min(now, x.Deleted-1)
	var changed [4]int64
	var n int64
	n, changed[0] = x.Edits(20, 15, 90).Version(x.Created, moment)
	o.Name, o.Aim = x.nameOf(n), x.key.Sub(23).Sub(uint64(n)) // who gives a new name shows it to others too
	n, changed[1] = x.Edits(21, 4, 40).Version(x.Created, moment)
	o.Budget = x.budgetOf(n)
	n, changed[2] = x.Edits(22, 2, 20).Version(x.Created, moment)
	if x.Falls(trap.TwoEdits) {
		// The bid is changed in the second of the budget, and shows one later.
		n, changed[2] = x.Edits(21, 4, 40).Version(x.Created, max(moment-1, x.Created))
	}
	o.Bid = x.key.Sub(22).Sub(uint64(10+n)).between(150, 8999)
	o.Status, changed[3] = x.StatusAt(moment)
	if x.class != ClassQuiet && x.Falls(trap.StatusUnstamped) {
		changed[3] = x.Created
	}
	o.Modified = max(changed[0], changed[1], changed[2], changed[3])
	if x.Deleted <= now {
		o.Status, o.Modified = StatusDeleted, x.Deleted
	}
	o.Traits = x.traits(&o, moment)
	return o
}

func (x *Ad) nameOf(version int64) string {
	if version == 0 && x.inherits != "" {
		return x.inherits
	}
	k := x.key.Sub(30)
	b := make([]byte, 0, 64)
	if x.Falls(trap.EmojiName) {
		b = append(b, "🎮🔥"...)
	}
	b = append(b, pick(k.Sub(1), []string{"春季", "开服", "新版本", "周年庆", "Launch", "Retarget", "节日", "拉新"})...)
	b = append(b, '_')
	b = append(b, pick(k.Sub(2), []string{"激活", "付费", "首日ROI", "注册", "CPA", "下载"})...)
	b = append(b, '_')
	b = append(b, pick(k.Sub(3), []string{"竖版视频", "横版大图", "直播", "playable", "信息流"})...)
	b = append(b, '_')
	b = strconv.AppendInt(b, x.Number%(slotsMax*GenerationsMax), 10)
	if version > 0 {
		b = append(b, "_v"...)
		b = strconv.AppendInt(b, version+1, 10)
	}
	if x.Falls(trap.NameCut) {
		b = append(b, trap.CutCharacter...)
	}
	return string(b)
}

// budgetOf is in steps of half a yuan from 300 yuan, the least that the platforms take; a quarter is unlimited.
func (x *Ad) budgetOf(version int64) int64 {
	k := x.key.Sub(21).Sub(uint64(10 + version))
	if k.Chance(25) {
		return 0
	}
	return 30_000 + 50*k.Sub(1).Below(20_000)
}

// Site is where the ad is shown, on platforms that tell.
func (x *Ad) Site() string {
	return pick(x.key.Sub(40), []string{"SITE_SET_MOMENTS", "SITE_SET_WECHAT", "SITE_SET_CHANNELS",
		"SITE_SET_MOBILE_UNION"})
}
