package world

import (
	"fmt"
	"strconv"

	"adsync/simulator/fault/trap"
)

// A giant is an account with more creatives than a platform reports on in one answer.
const (
	giantSlots = 250
	GiantMax   = giantSlots * creativesMax * 3 / 4
	// AdsMax is the most ads that each account of a world may run at a time.
	AdsMax = giantSlots * 3 / 4
)

// AccountsMax keeps all ids within the platforms' number of digits.
const AccountsMax = 1_000_000

// fewAccounts is a number of accounts too small for a large one among them.
const fewAccounts = 5

// World is the part that never changes: which accounts and ads exist at which time, as a pure function of the seed.
// Computing an account or an ad takes a few multiplications, and none is stored. Orders about accounts are stored
// separately.
type World struct {
	Seed     int64
	Accounts int
	Usd      int // one account in so many is in USD with its days in Los Angeles; 0 is none
	// Currencies means that as many accounts are in JPY, and in KWD, on platforms whose accounts may be in any currency.
	Currencies  bool
	Active      int // so many of 100 accounts run ads; 0 is the share given by classes
	AppAccounts int // so many accounts of a platform share an app; 0 is AppAccountsDefault
	Ads         int // how many ads each account has at a time, about; 0 is a mix of empty, small and large accounts
	Giant       int // how many creatives the first account of each platform runs; 0 is as many as a large account
	Specs       []*Spec
	Lives       *Lives
	Edits       *AdEdits
	Corrections *Corrections
	Traps       *trap.Switches
}

// Count returns how many accounts a platform has.
func (w *World) Count(p *Spec) int {
	n := len(w.Specs)
	for i, s := range w.Specs {
		if s == p {
			return (w.Accounts + n - 1 - i) / n
		}
	}
	return 0
}

// Class is the size of an account.
type Class uint8

// The classes of accounts.
const (
	ClassEmpty  Class = iota // has no ads
	ClassQuiet               // has ads, all permanently paused
	ClassSmall               // 1 to 5 ads at a time
	ClassMedium              // 8 to 40
	ClassLarge               // 50 to 160
)

// classes is the class of each account in a block of 40, so that each seed has the same skew: 35 % silent, one large.
var classes = func() (deal [40]Class) {
	at := 0
	for _, part := range []struct {
		c Class
		n int
	}{{ClassLarge, 1}, {ClassMedium, 5}, {ClassSmall, 20}, {ClassQuiet, 9}, {ClassEmpty, 5}} {
		for range part.n {
			deal[at] = part.c
			at++
		}
	}
	return deal
}()

// running is how many classes of a block run ads: the first ones.
const running = 26

// ActiveMax is running per 100 accounts.
const ActiveMax = running * 100 / 40

// thin makes accounts above the wanted share of running accounts sleep, evenly over their classes. Each block keeps
// its large account.
func (w *World) thin(place int) Class {
	if keep := max((w.Active*len(classes)+50)/100, 1); w.Active > 0 && place < running && place*keep%running >= keep {
		return ClassQuiet
	}
	return classes[place]
}

// Account is one advertiser account of a platform.
type Account struct {
	Platform *Spec
	Index    int
	ID       int64
	Key      Key
	// Calendar is nil for an account in CNY and China's time.
	Calendar *Calendar
	Class    Class
	Slots    int   // how many ads it runs at the same time
	Woken    int64 // from when a sleeping account runs its ads; 0 is never
	edits    []AdEdit
	// creativesEach is how many creatives each ad of a giant has.
	creativesEach int
	traps         *trap.Switches
}

// oddDaysKnown is how many days back clients pull figures.
const oddDaysKnown = 30

// HasOddDays reports whether one of the days up to last has 23 or 25 hours for some accounts.
func (w *World) HasOddDays(last int) bool {
	if w.Usd == 0 || w.Usd > w.Accounts {
		return false
	}
	for day := last - oddDaysKnown; day <= last; day++ {
		if Pacific().Length(day) != DayLength {
			return true
		}
	}
	return false
}

// Account returns a platform's account by its index.
func (w *World) Account(p *Spec, index int) Account {
	k := Key(w.Seed).Sub(p.Number).Sub(uint64(index))
	a := Account{Platform: p, Index: index, Key: k, Class: w.class(p, index), traps: w.Traps}
	a.ID = p.AccountBase + int64(index)*p.AccountStep + k.Sub(1).Below(p.AccountStep)
	a.Calendar = w.calendar(p, index)
	switch a.Class {
	case ClassEmpty:
	case ClassQuiet:
		a.Slots = int(k.Sub(2).between(1, 4))
		if w.Lives != nil {
			a.Woken = w.Lives.Of(a.MapKey()).Woken
		}
	case ClassSmall:
		a.Slots = int(k.Sub(2).between(1, 5))
	case ClassMedium:
		a.Slots = int(k.Sub(2).between(8, 40))
	case ClassLarge:
		a.Slots = int(k.Sub(2).between(50, 160))
	}
	if w.Ads > 0 {
		a.Slots = slotsOf(w.Ads)
	}
	if w.Edits != nil {
		a.edits = w.Edits.of(a.MapKey())
	}
	if index == 0 && w.Giant > 0 {
		a.Slots = giantSlots
		a.creativesEach = min((slotsOf(w.Giant)+giantSlots-1)/giantSlots, creativesMax)
	}
	return a
}

// slotsOf returns how many slots run about n ads: one of four is between two ads.
func slotsOf(n int) int { return n * 4 / 3 }

// calendar returns the calendar of an account by its index. A world of few accounts in CNY has no other currency than
// CNY and USD.
func (w *World) calendar(p *Spec, index int) *Calendar {
	const others = 3 // currencies but CNY
	if w.Usd == 0 || p.ChinaOnly {
		return nil
	}
	switch last := w.Usd - 1 - index%w.Usd; {
	case last == 0:
		return Pacific()
	case !w.Currencies || !p.AnyCurrency || w.Usd <= others:
	case last == 1:
		return Tokyo()
	case last == 2:
		return Greenwich()
	}
	return nil
}

// class shuffles each block with an affine map, whose factor is coprime to the length of the block. The first account
// of a platform is always large, or medium in a world with few accounts, so that the smallest world has figures and
// is pulled quickly.
func (w *World) class(p *Spec, index int) Class {
	if w.Ads > 0 {
		return ClassMedium
	}
	if index == 0 && w.Count(p) < fewAccounts {
		return ClassMedium
	}
	n := len(classes)
	block := index / n
	k := Key(w.Seed).Sub(p.Number).Sub(1 << 40).Sub(uint64(block))
	factor := int(pick(k.Sub(1), []int64{1, 3, 7, 9, 11, 13, 17, 19, 21, 23, 27, 29, 31, 33, 37, 39}))
	shift := int(k.Sub(2).Below(int64(n)))
	if block == 0 {
		shift = 0
	}
	return w.thin((index%n*factor + shift) % n)
}

// Lookup finds an account by the platform's id.
func (w *World) Lookup(p *Spec, id int64) (Account, bool) {
	index := (id - p.AccountBase) / p.AccountStep
	if id < p.AccountBase || index >= int64(w.Count(p)) {
		return Account{}, false
	}
	a := w.Account(p, int(index))
	return a, a.ID == id
}

// LookupText finds an account by the platform's id as text.
func (w *World) LookupText(p *Spec, id string) (Account, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return Account{}, false
	}
	return w.Lookup(p, n)
}

// Named returns the account that an order names, or an error for the sender of the order.
func (w *World) Named(media, id string) (Account, error) {
	p := w.Spec(media)
	if p == nil {
		return Account{}, fmt.Errorf("media must be one of %v, not %q", w.Names(), media)
	}
	a, ok := w.LookupText(p, id)
	if !ok {
		return Account{}, fmt.Errorf("%s has no account %q", media, id)
	}
	return a, nil
}

// Company returns the owner of the account; several accounts may share one.
func (a Account) Company() string {
	return pick(a.Key.Sub(3), []string{"上海", "北京", "深圳市", "广州", "成都", "杭州", "厦门"}) +
		pick(a.Key.Sub(4), []string{"星尘", "云帆", "青柠", "九州", "极光", "赤兔", "墨白", "千寻", "天枢", "小鹿", "蓝鲸", "山海"}) +
		pick(a.Key.Sub(5), []string{"网络科技", "互动娱乐", "信息技术", "游戏", "文化传媒"}) + "有限公司"
}

// Name returns the account's name, on platforms with names.
func (a Account) Name() string {
	return pick(a.Key.Sub(6), []string{"梦幻三国", "Idle Heroes", "口袋农场", "Sky Racer", "王者远征", "消消小镇", "Dragon Isle",
		"山海奇谈"}) +
		"-" + pick(a.Key.Sub(7), []string{"安卓", "iOS", "小游戏", "PC"}) + "-" + strconv.Itoa(a.Index+1)
}

// Spec returns a platform by its name, or nil.
func (w *World) Spec(name string) *Spec {
	for _, p := range w.Specs {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Names returns the platforms' names.
func (w *World) Names() (list []string) {
	for _, p := range w.Specs {
		list = append(list, p.Name)
	}
	return list
}
