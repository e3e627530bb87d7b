package world

// The money of accounts. As with figures, none of it is stored: an account's balance at a moment follows from the
// week of the moment.
//
// A week begins on Monday at 00:00 with a sweep: the remaining money returns to the company's wallet, and a fixed sum
// of the account comes in from there. Then a grant is given and cash is paid in for the ads' cost up to the end of
// Thursday, rounded up. The cost of Friday to Sunday is paid in on Thursday during working hours, by some accounts
// through a bank. Ads are paid from the grant first, then from cash, and from bank transfers last
// (developers.e.qq.com/docs/accounts/fund). So the balance is the deposits minus the ads' cost, to the fen, and never
// below zero. Deposits are based on the ads' cost without the corrections of later nights, so those do not change
// them; an order to correct the truth upwards raises them.
//
// Accounts that run no ads have a sum of cash that never changes, and those without any ads have never had money.

// Funds is the amount of each kind of money, in fen. Bank transfers are cash too, and some platforms report them
// separately.
type Funds struct{ Cash, Bank, Grant int64 }

// Total returns the sum of all kinds.
func (f Funds) Total() int64 { return f.Cash + f.Bank + f.Grant }

// Plus returns the sum by kind.
func (f Funds) Plus(g Funds) Funds { return Funds{f.Cash + g.Cash, f.Bank + g.Bank, f.Grant + g.Grant} }

// Minus returns the difference by kind.
func (f Funds) Minus(g Funds) Funds {
	return Funds{f.Cash - g.Cash, f.Bank - g.Bank, f.Grant - g.Grant}
}

// FundKind is a kind of money with its name in the truth or on a platform, and with the function that returns its
// amount.
type FundKind struct {
	Name string
	Of   func(Funds) int64
}

// FundDay is the cash flow of a day.
type FundDay struct {
	Day                                    int
	Deposit, Paid, TransferIn, TransferOut Funds
	Balance                                Funds // at the end of the day
}

// FundNow is an account's current money.
type FundNow struct {
	Balance   Funds
	PaidToday Funds
	Locked    int64 // part of the cash: reserved for charges that may follow
}

const (
	weekLength = 7
	// depositStep is the unit to which amounts are rounded up: a hundred yuan.
	depositStep = 100 * 100
	// FundsPublishedAfter is how long after its end a day's cash flow is published: at 08:00.
	FundsPublishedAfter = 8 * HourLength
	thursday            = 3 // days after the first of the week
)

// WeekOf returns the first day of a day's week, a Monday.
func WeekOf(day int) int { return day - (day+3)%weekLength }

// LastPublished returns the newest day whose cash flow is published.
func (c *Calendar) LastPublished(now int64) int { return c.DayOf(now-FundsPublishedAfter) - 1 }

// hasMoney reports whether the account ever had money.
func (a *Account) hasMoney() bool { return a.Class != ClassEmpty }

// UsesBank reports whether the account also pays in by bank transfer. On some platforms a third of the accounts do,
// and always the first one, so that each world has one.
func (a *Account) UsesBank() bool {
	return a.Platform.Name == "tencent" && a.RunsAds() && (a.Index == 0 || a.Key.Sub(62).Chance(33))
}

// float returns the fixed sum at the start of each week.
func (a *Account) float() int64 { return depositStep * a.Key.Sub(60).between(1, 20) }

func roundUp(amount, step int64) int64 { return (amount + step - 1) / step * step }

// spent returns the ads' cost on a day up to a second, as known at a moment.
func (a *Account) spent(day int, second, known int64, corrects []CorrectedDays) (sum int64) {
	if second == 0 || day < DayOf(FirstMoment.Unix()) {
		return 0
	}
	a.adsOn(day, func(x Ad) {
		d := x.day(day, known, corrects)
		f := d.until(second)
		sum += f[Cost]
	})
	return sum
}

// fundWeek is the money of an account in a week.
type fundWeek struct {
	first       int
	float       int64
	grant       int64
	early, late int64                 // cash paid in at the start of the week, and on Thursday
	lateAt      int64                 // the second on Thursday
	byBank      bool                  // the deposit on Thursday is a bank transfer
	before      [weekLength + 1]int64 // the ads' cost up to the start of each day; none on future days
}

// week computes the money of the account in the week that begins on a day, as known now.
func (v *View) week(a *Account, first int) fundWeek {
	w := fundWeek{first: first, float: a.float(), byBank: a.UsesBank()}
	k := a.Key.Sub(61).Sub(uint64(first))
	var planned [2]int64
	for i := range weekLength {
		day := first + i
		corrects := v.Corrections.of(a, day, v.Now)
		// The cost of a day at its end, before the corrections of later nights.
		start, length := a.Calendar.Start(day), a.Calendar.Length(day)
		plan := a.spent(day, length, start, nil)
		if len(corrects) > 0 {
			plan = max(plan, a.spent(day, length, start, corrects))
		}
		planned[i/(thursday+1)] += plan
		w.before[i+1] = w.before[i] + a.spent(day, a.Calendar.PublishedSecond(day, v.Now), v.Now, corrects)
	}
	w.early = roundUp(planned[0], depositStep)
	w.late = roundUp(planned[1], depositStep)
	if k.Sub(1).Chance(60) {
		w.grant = (w.early + w.late) * k.Sub(2).between(2, 20) / 100 / depositStep * depositStep
	}
	w.lateAt = k.Sub(3).between(9*HourLength, 18*HourLength)
	return w
}

// paid splits the ads' cost since the start of the week by kind of money.
func (w *fundWeek) paid(spent int64) Funds {
	f := Funds{Grant: min(spent, w.grant)}
	f.Cash = spent - f.Grant
	if w.byBank {
		f.Cash = min(f.Cash, w.float+w.early)
		f.Bank = spent - f.Grant - f.Cash
	}
	return f
}

// deposited returns the deposits on a day of the week up to a second.
func (w *fundWeek) deposited(i int, second int64) (f Funds) {
	if i == 0 {
		f = Funds{Cash: w.early, Grant: w.grant}
	}
	if i == thursday && second >= w.lateAt {
		if w.byBank {
			f.Bank += w.late
		} else {
			f.Cash += w.late
		}
	}
	return f
}

// balance returns the money on a day of the week at a second, when the ads have cost spent since the start of the
// week.
func (w *fundWeek) balance(i int, second, spent int64) Funds {
	f := Funds{Cash: w.float}
	for d := range i {
		f = f.Plus(w.deposited(d, DayLength))
	}
	return f.Plus(w.deposited(i, second)).Minus(w.paid(spent))
}

// left returns the money at the end of the week.
func (w *fundWeek) left() Funds { return w.balance(weekLength-1, DayLength, w.before[weekLength]) }

// RunsAds reports whether the account runs ads, so that its money changes.
func (a *Account) RunsAds() bool { return a.Class != ClassEmpty && a.Class != ClassQuiet }

// FundNow returns an account's money at the view's moment.
func (v *View) FundNow(a *Account) FundNow {
	switch {
	case !a.hasMoney():
		return FundNow{}
	case !a.RunsAds():
		return FundNow{Balance: Funds{Cash: a.float()}}
	}
	day := a.Calendar.DayOf(v.Now)
	w := v.week(a, WeekOf(day))
	i := day - w.first
	n := FundNow{
		Balance:   w.balance(i, v.Now-a.Calendar.Start(day), w.before[i+1]),
		PaidToday: w.paid(w.before[i+1]).Minus(w.paid(w.before[i])),
	}
	n.Locked = n.Balance.Cash / 50 // not charged yet: a fiftieth, in whole fen
	return n
}

// FundDays returns the cash flow of the published days, from and to included, in order.
func (v *View) FundDays(a *Account, from, to int) (days []FundDay) {
	from, to = max(from, DayOf(FirstMoment.Unix())), min(to, a.Calendar.LastPublished(v.Now))
	if !a.hasMoney() {
		return nil
	}
	var w, past fundWeek
	for day := from; day <= to; day++ {
		if !a.RunsAds() {
			days = append(days, FundDay{Day: day, Balance: Funds{Cash: a.float()}})
			continue
		}
		if first := WeekOf(day); first != w.first {
			past, w = w, v.week(a, first)
		}
		i := day - w.first
		d := FundDay{
			Day:     day,
			Deposit: w.deposited(i, DayLength),
			Paid:    w.paid(w.before[i+1]).Minus(w.paid(w.before[i])),
			Balance: w.balance(i, DayLength, w.before[i+1]),
		}
		if i == 0 {
			if past.first != w.first-weekLength {
				past = v.week(a, w.first-weekLength)
			}
			d.TransferIn.Cash = w.float
			if w.first > DayOf(FirstMoment.Unix()) { // the first week of the world has no week before it
				d.TransferOut = past.left()
			}
		}
		days = append(days, d)
	}
	return days
}

// TruthKinds returns an account's kinds of money in the truth.
func (a *Account) TruthKinds() []FundKind {
	kinds := []FundKind{{"cash", func(f Funds) int64 { return f.Cash }}, {"grant", func(f Funds) int64 { return f.Grant }}}
	if a.UsesBank() {
		kinds = append(kinds, FundKind{"bank", func(f Funds) int64 { return f.Bank }})
	}
	return kinds
}
