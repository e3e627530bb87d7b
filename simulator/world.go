package simulator

import (
	"fmt"
	"strconv"
)

// A giant is an account of more creatives than a platform reports on in one answer.
const (
	giantSlots = 250
	giantMax   = giantSlots * creativesMax * 3 / 4
)

// accountsMax keeps all ids within the digits that the platforms use.
const accountsMax = 1_000_000

// fewAccounts are too few of a platform for a large one among them.
const fewAccounts = 5

// world is everything that never changes: which accounts and ads exist when, a pure function of the seed. Making an
// account or an ad costs a few multiplications and nothing of them is kept. What was ordered of accounts stands beside it.
type world struct {
	seed        int64
	accounts    int
	usd         int // one account in so many is in USD and keeps its days in Los Angeles; 0 is none
	active      int // so many of 100 accounts have ads that run; 0 is all that are dealt some
	appAccounts int // so many accounts of a platform share an app; 0 is AppAccountsDefault
	giant       int // how many creatives the first account of each platform runs; 0 is as many as any large one
	specs       []*spec
	lives       *lives
	edits       *adEdits
	corrections *corrections
	traps       *switches
}

// count is how many accounts a platform has.
func (w *world) count(p *spec) int {
	n := len(w.specs)
	for i, s := range w.specs {
		if s == p {
			return (w.accounts + n - 1 - i) / n
		}
	}
	return 0
}

// class is what kind of customer an account is.
type class uint8

const (
	classEmpty  class = iota // has no ads
	classQuiet               // has ads, all of them paused for good
	classSmall               // 1 to 5 ads at a time
	classMedium              // 8 to 40
	classLarge               // 50 to 160
)

// classes deals the kinds to each block of 40 accounts, so that any seed has the same skew: 35 % silent, one large.
var classes = func() (deal [40]class) {
	at := 0
	for _, part := range []struct {
		c class
		n int
	}{{classLarge, 1}, {classMedium, 5}, {classSmall, 20}, {classQuiet, 9}, {classEmpty, 5}} {
		for range part.n {
			deal[at] = part.c
			at++
		}
	}
	return deal
}()

// running is how many of a block of classes have ads that run: the first of them.
const running = 26

// activeMax is how many that are of 100.
const activeMax = running * 100 / 40

// thin puts to sleep what is more than the wanted share of running accounts, at the same distances over all their kinds. Every block
// keeps its large one.
func (w *world) thin(place int) class {
	if keep := max((w.active*len(classes)+50)/100, 1); w.active > 0 && place < running && place*keep%running >= keep {
		return classQuiet
	}
	return classes[place]
}

// account is one advertiser account of a platform.
type account struct {
	p     *spec
	index int
	id    int64
	key   key
	// calendar is nil for an account in CNY and China's time.
	calendar *calendar
	class    class
	slots    int   // how many ads it runs side by side
	woken    int64 // since when a sleeping account runs its ads; 0 is never
	edits    []adEdit
	// creativesEach is how many creatives each ad of a giant has.
	creativesEach int
	traps         *switches
}

// oddDaysKnown is how far back clients look for figures.
const oddDaysKnown = 30

// hasOddDays tells whether an account's days up to one have 23 or 25 hours.
func (w *world) hasOddDays(last int) bool {
	if w.usd == 0 || w.usd > w.accounts {
		return false
	}
	for day := last - oddDaysKnown; day <= last; day++ {
		if pacific().length(day) != dayLength {
			return true
		}
	}
	return false
}

func (w *world) account(p *spec, index int) account {
	k := key(w.seed).sub(p.number).sub(uint64(index))
	a := account{p: p, index: index, key: k, class: w.class(p, index), traps: w.traps}
	a.id = p.accountBase + int64(index)*p.accountStep + k.sub(1).below(p.accountStep)
	if w.usd > 0 && index%w.usd == w.usd-1 {
		a.calendar = pacific()
	}
	switch a.class {
	case classEmpty:
	case classQuiet:
		a.slots = int(k.sub(2).between(1, 4))
		if w.lives != nil {
			a.woken = w.lives.of(a.mapKey()).Woken
		}
	case classSmall:
		a.slots = int(k.sub(2).between(1, 5))
	case classMedium:
		a.slots = int(k.sub(2).between(8, 40))
	case classLarge:
		a.slots = int(k.sub(2).between(50, 160))
	}
	if w.edits != nil {
		a.edits = w.edits.of(a.mapKey())
	}
	if index == 0 && w.giant > 0 {
		a.slots = giantSlots
		a.creativesEach = min((w.giant*4/3+giantSlots-1)/giantSlots, creativesMax) // of four slots, one rests between two ads
	}
	return a
}

// class shuffles each block with an affine map, whose factor has no divisor in common with the length of the block.
// The first account of a platform is always large, or of medium size in a world of few: the smallest one has something to show, and
// takes no minutes to pull.
func (w *world) class(p *spec, index int) class {
	if index == 0 && w.count(p) < fewAccounts {
		return classMedium
	}
	n := len(classes)
	block := index / n
	k := key(w.seed).sub(p.number).sub(1 << 40).sub(uint64(block))
	factor := int(pick(k.sub(1), []int64{1, 3, 7, 9, 11, 13, 17, 19, 21, 23, 27, 29, 31, 33, 37, 39}))
	shift := int(k.sub(2).below(int64(n)))
	if block == 0 {
		shift = 0
	}
	return w.thin((index%n*factor + shift) % n)
}

// lookup finds an account by the platform's id.
func (w *world) lookup(p *spec, id int64) (account, bool) {
	index := (id - p.accountBase) / p.accountStep
	if id < p.accountBase || index >= int64(w.count(p)) {
		return account{}, false
	}
	a := w.account(p, int(index))
	return a, a.id == id
}

func (w *world) lookupText(p *spec, id string) (account, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return account{}, false
	}
	return w.lookup(p, n)
}

// named returns the account that an order names, or an error for whoever ordered.
func (w *world) named(media, id string) (account, error) {
	p := w.spec(media)
	if p == nil {
		return account{}, fmt.Errorf("media is one of %v, not %q", w.names(), media)
	}
	a, ok := w.lookupText(p, id)
	if !ok {
		return account{}, fmt.Errorf("%s has no account %q", media, id)
	}
	return a, nil
}

// company is who owns the account; several accounts may share one.
func (a account) company() string {
	return pick(a.key.sub(3), []string{"上海", "北京", "深圳市", "广州", "成都", "杭州", "厦门"}) +
		pick(a.key.sub(4), []string{"星尘", "云帆", "青柠", "九州", "极光", "赤兔", "墨白", "千寻", "天枢", "小鹿", "蓝鲸", "山海"}) +
		pick(a.key.sub(5), []string{"网络科技", "互动娱乐", "信息技术", "游戏", "文化传媒"}) + "有限公司"
}

// name is what the account is called where the platform names accounts.
func (a account) name() string {
	return pick(a.key.sub(6), []string{"梦幻三国", "Idle Heroes", "口袋农场", "Sky Racer", "王者远征", "消消小镇", "Dragon Isle", "山海奇谈"}) +
		"-" + pick(a.key.sub(7), []string{"安卓", "iOS", "小游戏", "PC"}) + "-" + strconv.Itoa(a.index+1)
}

// spec finds a platform by its name, or nil.
func (w *world) spec(name string) *spec {
	for _, p := range w.specs {
		if p.name == name {
			return p
		}
	}
	return nil
}

func (w *world) names() (list []string) {
	for _, p := range w.specs {
		list = append(list, p.name)
	}
	return list
}
