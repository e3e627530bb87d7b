package world

import (
	"strconv"

	"adsync/simulator/fault/trap"
)

// An account runs a fixed number of ads at the same time, in slots. Each slot holds one ad after the other: the ad of
// generation g is created, edited, paused and resumed, and deleted before the next one is created. All times are
// computed from the slot's period and phase, so the state of an ad at any time needs no replay of its history.
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
	Project  int64 // 0 if the platform has no projects
	Created  int64
	Deleted  int64 // may be in the future
	woken    int64 // Account.Woken
	// creatives is how many creatives it has in a giant account; 0 means that the ad's key determines it.
	creatives int
	// Packed means that its creatives are one package: none of them is paused alone.
	Packed   bool
	packName string
	Traps    *trap.Switches
	inherits string // the name of a deleted ad that it starts with; "" is a new name
}

// Status is the status of an ad or a creative.
type Status uint8

// The states of ads and creatives.
const (
	StatusActive Status = iota
	StatusPaused
	StatusDeleted
)

func (s Status) String() string { return [...]string{"active", "paused", "deleted"}[s] }

// Object is an ad in the platform's configuration at a moment. Money is in fen.
type Object struct {
	Ad
	Name     string
	Status   Status // set by the advertiser, or deleted
	Budget   int64  // per day; 0 is unlimited
	Bid      int64
	Aim      Key // its audience
	Modified int64
	Changed  int64     // when it last changed, whether Modified shows it or not
	Traits   []trap.ID // the traps that the ad sets
}

// Audience is the audience of an ad.
type Audience struct {
	From, To int64  // years of age
	Gender   string // MALE, FEMALE, or "" for all
	Regions  []int64
}

// Audience returns the audience of an ad or project with this key.
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

// series is the sequence of ads in a slot.
type series struct {
	account *Account
	key     Key
	slot    int
	period  int64
	start   int64 // the start of generation 0, before FirstMoment
}

func (a *Account) series(slot int) series {
	k := a.Key.Sub(100 + uint64(slot))
	period := k.Sub(1).between(400*DayLength, 1200*DayLength)
	if k.Sub(2).Chance(20) {
		// A fifth of the slots replaces its ad every month or two, so that ads are created and deleted on each day.
		period = k.Sub(1).between(30*DayLength, 75*DayLength)
	}
	return series{account: a, key: k, slot: slot, period: period, start: FirstMoment.Unix() - k.Sub(3).Below(period)}
}

func (s series) created(generation int) int64 {
	return s.start + int64(generation)*s.period + s.key.Sub(uint64(1000+generation)).Below(s.period/50)
}

// last returns the newest generation that was created by a moment, or -1.
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
	if x.Packed = p.Packs != nil && p.Packs(k); x.Packed {
		x.packName = p.PackName(x.ID)
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

// Ads calls yield with every ad created by now, in order of id; withDeleted includes deleted ads.
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

// adsOn calls yield with every ad that existed on a day, in order of id.
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

// Edit is the period and phase of the changes of one property of an ad.
type Edit struct{ period, phase int64 }

// Edits returns the Edit of a property of the ad, whose changes are daysMin to daysMax days apart.
func (x *Ad) Edits(child uint64, daysMin, daysMax int64) Edit {
	k := x.key.Sub(child)
	period := k.Sub(1).between(daysMin*DayLength, daysMax*DayLength)
	return Edit{period: period, phase: k.Sub(2).Below(period)}
}

// Version returns the number of changes since the ad was created, and the time of the last one.
func (e Edit) Version(created, moment int64) (n, changed int64) {
	n = (moment - created + e.phase) / e.period
	if n == 0 {
		return 0, created
	}
	return n, created + n*e.period - e.phase
}

// pauses returns the cycle in which an ad runs and is paused, and for how long it runs. A new ad runs.
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

// StatusAt returns the status set by the advertiser at a moment after the ad was created, and when it last changed.
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

// At returns the ad's configuration at a moment after it was created. A deleted ad keeps the values of its last
// second.
func (x *Ad) At(now int64) Object {
	o := Object{Ad: *x}
	moment := min(now, x.Deleted-1)
	var changed [4]int64
	var n int64
	n, changed[0] = x.Edits(20, 15, 90).Version(x.Created, moment)
	o.Name, o.Aim = x.nameOf(n), x.key.Sub(23).Sub(uint64(n)) // a rename changes the audience too
	n, changed[1] = x.Edits(21, 4, 40).Version(x.Created, moment)
	o.Budget = x.budgetOf(n)
	n, changed[2] = x.Edits(22, 2, 20).Version(x.Created, moment)
	if x.Falls(trap.TwoEdits) {
		// The bid changes in the same second as the budget, and is visible one second later.
		n, changed[2] = x.Edits(21, 4, 40).Version(x.Created, max(moment-1, x.Created))
	}
	o.Bid = x.key.Sub(22).Sub(uint64(10+n)).between(150, 8999)
	o.Status, changed[3] = x.StatusAt(moment)
	switched := changed[3]
	if x.class != ClassQuiet && x.Falls(trap.StatusUnstamped) {
		changed[3] = x.Created
	}
	o.Modified = max(changed[0], changed[1], changed[2], changed[3])
	o.Changed = max(o.Modified, switched)
	if x.Falls(trap.TwoEdits) && changed[2] > x.Created {
		o.Changed = max(o.Changed, changed[2]+1)
	}
	if x.Deleted <= now {
		o.Status, o.Modified, o.Changed = StatusDeleted, x.Deleted, x.Deleted
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

// budgetOf returns a budget in steps of half a yuan from 300 yuan, the platforms' minimum. A quarter is unlimited.
func (x *Ad) budgetOf(version int64) int64 {
	k := x.key.Sub(21).Sub(uint64(10 + version))
	if k.Chance(25) {
		return 0
	}
	return 30_000 + 50*k.Sub(1).Below(20_000)
}

const siteUnion = "SITE_SET_MOBILE_UNION"

// Site returns where the ad is shown, for platforms that report it.
func (x *Ad) Site() string {
	return pick(x.key.Sub(40), []string{"SITE_SET_MOMENTS", "SITE_SET_WECHAT", "SITE_SET_CHANNELS", siteUnion})
}

// InUnion reports whether the ad is shown by other publishers, on platforms that report it.
func (x *Ad) InUnion() bool { return x.Site() == siteUnion }
