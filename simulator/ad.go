package simulator

import "strconv"

// An account runs a fixed number of ads side by side, in slots. Each slot holds one ad after the other: the ad of
// generation g is made, edited, paused and resumed, and deleted before the next one is made. All moments follow from
// the slot's period and phase by arithmetic, so the state of an ad at any time is found without playing its history.
const (
	generationsMax = 128 // a period of at least 30 days from 2025 up to 2035 has fewer
	slotsMax       = 256
	adsPerProject  = 5
)

// ad is one object of the platform's lowest configuration level.
type ad struct {
	key      key
	calendar *calendar // of its account
	class    class
	number   int64 // unique in its platform's account
	id       int64
	project  int64 // 0 where the platform has no projects
	created  int64
	deleted  int64 // may lie in the future
	woken    int64 // of its account
	// creatives is how many it has in a giant account; 0 leaves it to the ad.
	creatives int
	traps     *switches
	inherits  string // the name that it begins with, of one that was deleted; "" is one of its own
}

type status uint8

const (
	statusActive status = iota
	statusPaused
	statusDeleted
)

func (s status) String() string { return [...]string{"active", "paused", "deleted"}[s] }

// object is an ad as the platform's configuration shows it at a moment. Money is in fen.
type object struct {
	ad
	name     string
	status   status // of the advertiser's own doing, or deleted
	budget   int64  // a day; 0 is unlimited
	bid      int64
	aim      key // its audience
	modified int64
	traits   []trapID // the traps that it is one of
}

// audience is whom an ad is shown to.
type audience struct {
	from, to int64  // years of age
	gender   string // MALE, FEMALE, or "" for all
	regions  []int64
}

func (k key) audience() audience {
	ages := pick(k.sub(1), [][2]int64{{18, 23}, {24, 30}, {31, 40}, {41, 49}})
	a := audience{from: ages[0], to: ages[1], gender: pick(k.sub(2), []string{"MALE", "FEMALE", ""})}
	for i, region := range []int64{110_000, 310_000, 330_000, 440_000} {
		if i == 0 || k.sub(uint64(10+i)).chance(40) {
			a.regions = append(a.regions, region)
		}
	}
	return a
}

// series is the succession of ads in a slot.
type series struct {
	account *account
	key     key
	slot    int
	period  int64
	start   int64 // of generation 0, before firstMoment
}

func (a *account) series(slot int) series {
	k := a.key.sub(100 + uint64(slot))
	period := k.sub(1).between(400*dayLength, 1200*dayLength)
	if k.sub(2).chance(20) {
		// A fifth of the slots tries something new every month or two, so that each day sees ads come and go.
		period = k.sub(1).between(30*dayLength, 75*dayLength)
	}
	return series{account: a, key: k, slot: slot, period: period, start: firstMoment.Unix() - k.sub(3).below(period)}
}

func (s series) created(generation int) int64 {
	return s.start + int64(generation)*s.period + s.key.sub(uint64(1000+generation)).below(s.period/50)
}

// last is the newest generation made by a moment, or -1.
func (s series) last(moment int64) int {
	g := int(floorDiv(moment-s.start, s.period))
	if g >= 0 && s.created(g) > moment {
		g--
	}
	return max(g, -1)
}

func (s series) ad(generation int) ad {
	k := s.key.sub(uint64(5000 + generation))
	a, p := s.account, s.account.p
	number := (int64(a.index)*slotsMax+int64(s.slot))*generationsMax + int64(generation)
	made := s.created(generation)
	x := ad{
		key: k, calendar: a.calendar, class: a.class, number: number,
		id:        p.objectBase + number*p.objectStep + k.sub(1).below(p.objectStep),
		created:   made,
		deleted:   made + s.period*k.sub(2).between(55, 95)/100,
		woken:     a.woken,
		creatives: a.creativesEach,
		traps:     a.traps,
	}
	if generation > 0 && x.falls(trapNameReused) {
		before := s.ad(generation - 1)
		x.inherits = before.at(before.deleted).name
	}
	if p.hasProjects {
		x.project = a.projectID(s.slot / adsPerProject)
	}
	return x
}

// ads calls yield with every ad made by now, in the order of their ids, deleted ones too if wanted.
func (a *account) ads(now int64, withDeleted bool, yield func(ad)) {
	for slot := range a.slots {
		s := a.series(slot)
		last := s.last(now)
		first := last
		if withDeleted {
			first = 0
		}
		for g := max(first, 0); g <= last; g++ {
			if x := s.ad(g); withDeleted || x.deleted > now {
				yield(x)
			}
		}
	}
}

// adsOn calls yield with every ad that lived on a day, in the order of their ids.
func (a *account) adsOn(day int, yield func(ad)) {
	start := a.calendar.start(day)
	for slot := range a.slots {
		s := a.series(slot)
		for g, last := max(s.last(start), 0), s.last(start+a.calendar.length(day)-1); g <= last; g++ {
			if x := s.ad(g); x.deleted > start {
				yield(x)
			}
		}
	}
}

// edit is the rhythm in which one property of an ad changes.
type edit struct{ period, phase int64 }

func (x *ad) edits(child uint64, daysMin, daysMax int64) edit {
	k := x.key.sub(child)
	period := k.sub(1).between(daysMin*dayLength, daysMax*dayLength)
	return edit{period: period, phase: k.sub(2).below(period)}
}

// version counts the changes since the ad was made and says when the last one was.
func (e edit) version(created, moment int64) (n, changed int64) {
	n = (moment - created + e.phase) / e.period
	if n == 0 {
		return 0, created
	}
	return n, created + n*e.period - e.phase
}

// pauses is the rhythm in which an ad runs and rests. It runs when it is made.
func (x *ad) pauses() (cycle edit, on int64) {
	switch k := x.key.sub(10); {
	case x.class == classQuiet:
		return edit{period: 1 << 40}, 0
	case k.chance(40):
		return edit{period: 1 << 40}, 1 << 40
	default:
		cycle = x.edits(10, 4, 40)
		on = cycle.period * k.sub(3).between(60, 97) / 100
		cycle.phase %= on
		return cycle, on
	}
}

func (x *ad) statusAt(moment int64) (s status, changed int64) {
	if x.class == classQuiet && x.woken != 0 && moment >= x.woken {
		return statusActive, max(x.woken, x.created)
	}
	cycle, on := x.pauses()
	n, resumed := cycle.version(x.created, moment)
	rest := x.created + n*cycle.period - cycle.phase + on
	switch {
	case on == 0:
		return statusPaused, x.created
	case moment >= rest:
		return statusPaused, rest
	default:
		return statusActive, resumed
	}
}

// at is the ad's configuration at a moment after it was made. A deleted ad keeps the values of its last second.
func (x *ad) at(now int64) object {
	o := object{ad: *x}
	moment := min(now, x.deleted-1)
	var changed [4]int64
	var n int64
	n, changed[0] = x.edits(20, 15, 90).version(x.created, moment)
	o.name, o.aim = x.nameOf(n), x.key.sub(23).sub(uint64(n)) // who gives a new name shows it to others too
	n, changed[1] = x.edits(21, 4, 40).version(x.created, moment)
	o.budget = x.budgetOf(n)
	n, changed[2] = x.edits(22, 2, 20).version(x.created, moment)
	if x.falls(trapTwoEdits) {
		// The bid is changed in the second of the budget, and shows one later.
		n, changed[2] = x.edits(21, 4, 40).version(x.created, max(moment-1, x.created))
	}
	o.bid = x.key.sub(22).sub(uint64(10+n)).between(150, 8999)
	o.status, changed[3] = x.statusAt(moment)
	if x.class != classQuiet && x.falls(trapStatusUnstamped) {
		changed[3] = x.created
	}
	o.modified = max(changed[0], changed[1], changed[2], changed[3])
	if x.deleted <= now {
		o.status, o.modified = statusDeleted, x.deleted
	}
	o.traits = x.traits(&o, moment)
	return o
}

func (x *ad) nameOf(version int64) string {
	if version == 0 && x.inherits != "" {
		return x.inherits
	}
	k := x.key.sub(30)
	b := make([]byte, 0, 64)
	if x.falls(trapEmojiName) {
		b = append(b, "🎮🔥"...)
	}
	b = append(b, pick(k.sub(1), []string{"春季", "开服", "新版本", "周年庆", "Launch", "Retarget", "节日", "拉新"})...)
	b = append(b, '_')
	b = append(b, pick(k.sub(2), []string{"激活", "付费", "首日ROI", "注册", "CPA", "下载"})...)
	b = append(b, '_')
	b = append(b, pick(k.sub(3), []string{"竖版视频", "横版大图", "直播", "playable", "信息流"})...)
	b = append(b, '_')
	b = strconv.AppendInt(b, x.number%(slotsMax*generationsMax), 10)
	if version > 0 {
		b = append(b, "_v"...)
		b = strconv.AppendInt(b, version+1, 10)
	}
	if x.falls(trapNameCut) {
		b = append(b, cutCharacter...)
	}
	return string(b)
}

// budgetOf is in steps of half a yuan from 300 yuan, the least that the platforms take; a quarter is unlimited.
func (x *ad) budgetOf(version int64) int64 {
	k := x.key.sub(21).sub(uint64(10 + version))
	if k.chance(25) {
		return 0
	}
	return 30_000 + 50*k.sub(1).below(20_000)
}

// site is where the ad is shown, on platforms that tell.
func (x *ad) site() string {
	return pick(x.key.sub(40), []string{"SITE_SET_MOMENTS", "SITE_SET_WECHAT", "SITE_SET_CHANNELS", "SITE_SET_MOBILE_UNION"})
}
