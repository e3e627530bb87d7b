package simulator

// The money of accounts. As of the figures, nothing of it is kept: what an account has at a moment follows from the week
// that the moment is in.
//
// A week begins on Monday at 00:00 with a sweep: what was left goes back to the company's wallet, and a fixed sum of the
// account comes in from there. Then a grant is given and cash is paid in, as much as the ads will cost up to the end of
// Thursday, rounded up; what Friday to Sunday cost is paid in on Thursday during working hours, by some accounts of Tencent's through a
// bank. Ads are paid from the grant first, then from cash, and from what a bank has transferred last (developers.e.qq.com/docs/accounts/fund).
// So the balance is what came in minus what the ads have cost, to the fen, and never
// below zero. Since what came in is settled by what the ads cost without the corrections of later nights, it does not move with
// those; an order to correct the truth upwards raises it.
//
// Accounts that run no ads have a sum of cash that never moves, and those without any ads have never had money.

// funds is the amount of each kind of money, in fen. What came through a bank is cash too, and Tencent keeps it apart.
type funds struct{ cash, bank, grant int64 }

func (f funds) total() int64 { return f.cash + f.bank + f.grant }

func (f funds) plus(g funds) funds { return funds{f.cash + g.cash, f.bank + g.bank, f.grant + g.grant} }
func (f funds) minus(g funds) funds {
	return funds{f.cash - g.cash, f.bank - g.bank, f.grant - g.grant}
}

// fundKind is a kind of money by the name that the truth or a platform gives it, and what of an account's money is of it.
type fundKind struct {
	name string
	of   func(funds) int64
}

// fundDay is the cash flow of a day.
type fundDay struct {
	day                                    int
	deposit, paid, transferIn, transferOut funds
	balance                                funds // at the day's end
}

// fundNow is what an account has now.
type fundNow struct {
	balance   funds
	paidToday funds
	locked    int64 // of the cash: kept for what the platform may still charge
}

const (
	weekLength = 7
	// depositStep is what amounts are rounded up to: a hundred yuan.
	depositStep = 100 * 100
	// fundsToldAfter is how long after its end a day's cash flow is told: at 08:00.
	fundsToldAfter = 8 * hourLength
	thursday       = 3 // days after the week's first
)

// weekOf is the first day of a day's week, a Monday.
func weekOf(day int) int { return day - (day+3)%weekLength }

// lastTold is the newest day whose cash flow is told.
func (c *calendar) lastTold(now int64) int { return c.dayOf(now-fundsToldAfter) - 1 }

// hasMoney tells whether the account ever had any.
func (a *account) hasMoney() bool { return a.class != classEmpty }

// usesBank tells whether the account pays in by bank transfer too: a third of Tencent's do, and the first one, so that any world has one.
func (a *account) usesBank() bool {
	return a.p.name == "tencent" && a.runsAds() && (a.index == 0 || a.key.sub(62).chance(33))
}

// float is the sum that is always there at a week's beginning.
func (a *account) float() int64 { return depositStep * a.key.sub(60).between(1, 20) }

func roundUp(amount, step int64) int64 { return (amount + step - 1) / step * step }

// spent is what an account's ads cost on a day up to a second of it, as it is known at a moment.
func (a *account) spent(day int, second, known int64, corrects []correctedDays) (sum int64) {
	if second == 0 || day < dayOf(firstMoment.Unix()) {
		return 0
	}
	a.adsOn(day, func(x ad) {
		d := x.day(day, known, corrects)
		f := d.until(second)
		sum += f[cost]
	})
	return sum
}

// fundWeek is the money of an account in a week.
type fundWeek struct {
	first       int
	float       int64
	grant       int64
	early, late int64                 // cash paid in at the week's beginning, and on Thursday
	lateAt      int64                 // the second of Thursday
	byBank      bool                  // what is paid in on Thursday comes through a bank
	before      [weekLength + 1]int64 // what the ads have cost up to each day's beginning; nothing on days to come
}

// week makes the money of the account in the week that begins on a day, as it is known now.
func (v *view) week(a *account, first int) fundWeek {
	w := fundWeek{first: first, float: a.float(), byBank: a.usesBank()}
	k := a.key.sub(61).sub(uint64(first))
	var planned [2]int64
	for i := range weekLength {
		day := first + i
		corrects := v.corrections.of(a, day, v.now)
		// What a day costs at its end, before the corrections of later nights.
		start, length := a.calendar.start(day), a.calendar.length(day)
		plan := a.spent(day, length, start, nil)
		if len(corrects) > 0 {
			plan = max(plan, a.spent(day, length, start, corrects))
		}
		planned[i/(thursday+1)] += plan
		w.before[i+1] = w.before[i] + a.spent(day, a.calendar.publishedSecond(day, v.now), v.now, corrects)
	}
	w.early = roundUp(planned[0], depositStep)
	w.late = roundUp(planned[1], depositStep)
	if k.sub(1).chance(60) {
		w.grant = (w.early + w.late) * k.sub(2).between(2, 20) / 100 / depositStep * depositStep
	}
	w.lateAt = k.sub(3).between(9*hourLength, 18*hourLength)
	return w
}

// paid splits what the ads have cost since the week's beginning.
func (w *fundWeek) paid(spent int64) funds {
	f := funds{grant: min(spent, w.grant)}
	f.cash = spent - f.grant
	if w.byBank {
		f.cash = min(f.cash, w.float+w.early)
		f.bank = spent - f.grant - f.cash
	}
	return f
}

// deposited is what was paid in on a day of the week up to a second.
func (w *fundWeek) deposited(i int, second int64) (f funds) {
	if i == 0 {
		f = funds{cash: w.early, grant: w.grant}
	}
	if i == thursday && second >= w.lateAt {
		if w.byBank {
			f.bank += w.late
		} else {
			f.cash += w.late
		}
	}
	return f
}

// balance is what there is on a day of the week at a second, when the ads have cost an amount since the week's beginning.
func (w *fundWeek) balance(i int, second, spent int64) funds {
	f := funds{cash: w.float}
	for d := range i {
		f = f.plus(w.deposited(d, dayLength))
	}
	return f.plus(w.deposited(i, second)).minus(w.paid(spent))
}

// left is what there is at the end of the week.
func (w *fundWeek) left() funds { return w.balance(weekLength-1, dayLength, w.before[weekLength]) }

// runsAds tells whether the account's money moves.
func (a *account) runsAds() bool { return a.class != classEmpty && a.class != classQuiet }

// fundNow is what an account has at the view's moment.
func (v *view) fundNow(a *account) fundNow {
	switch {
	case !a.hasMoney():
		return fundNow{}
	case !a.runsAds():
		return fundNow{balance: funds{cash: a.float()}}
	}
	day := a.calendar.dayOf(v.now)
	w := v.week(a, weekOf(day))
	i := day - w.first
	n := fundNow{
		balance:   w.balance(i, v.now-a.calendar.start(day), w.before[i+1]),
		paidToday: w.paid(w.before[i+1]).minus(w.paid(w.before[i])),
	}
	n.locked = n.balance.cash / 50 // what was not charged yet: a fiftieth, in whole fen
	return n
}

// fundDays is the cash flow of the days that are told, from and to included, in their order.
func (v *view) fundDays(a *account, from, to int) (days []fundDay) {
	from, to = max(from, dayOf(firstMoment.Unix())), min(to, a.calendar.lastTold(v.now))
	if !a.hasMoney() {
		return nil
	}
	var w, past fundWeek
	for day := from; day <= to; day++ {
		if !a.runsAds() {
			days = append(days, fundDay{day: day, balance: funds{cash: a.float()}})
			continue
		}
		if first := weekOf(day); first != w.first {
			past, w = w, v.week(a, first)
		}
		i := day - w.first
		d := fundDay{
			day:     day,
			deposit: w.deposited(i, dayLength),
			paid:    w.paid(w.before[i+1]).minus(w.paid(w.before[i])),
			balance: w.balance(i, dayLength, w.before[i+1]),
		}
		if i == 0 {
			if past.first != w.first-weekLength {
				past = v.week(a, w.first-weekLength)
			}
			d.transferIn.cash = w.float
			if w.first > dayOf(firstMoment.Unix()) { // the world's first week has none before it
				d.transferOut = past.left()
			}
		}
		days = append(days, d)
	}
	return days
}

// truthKinds are the kinds of money that the truth has of an account.
func (a *account) truthKinds() []fundKind {
	kinds := []fundKind{{"cash", func(f funds) int64 { return f.cash }}, {"grant", func(f funds) int64 { return f.grant }}}
	if a.usesBank() {
		kinds = append(kinds, fundKind{"bank", func(f funds) int64 { return f.bank }})
	}
	return kinds
}
