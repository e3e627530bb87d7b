package world

import "strconv"

// Project groups the ads of neighbouring slots, on platforms that have projects. Money is in fen.
type Project struct {
	ID       int64
	Name     string
	Status   Status
	Budget   int64
	Created  int64
	Aim      Key // its audience
	Modified int64
}

func (a *Account) projectID(n int) int64 {
	p := a.Platform
	number := int64(a.Index)*slotsMax + int64(n)
	return p.ProjectBase + number*p.ObjectStep + a.Key.Sub(uint64(300+n)).Below(p.ObjectStep)
}

// Projects lists the account's projects in order of id. All are older than the world's first day.
func (a *Account) Projects(now int64) []Project {
	list := make([]Project, 0, (a.Slots+adsPerProject-1)/adsPerProject)
	for n := 0; n*adsPerProject < a.Slots; n++ {
		k := a.Key.Sub(uint64(400 + n))
		made := FirstMoment.Unix() - k.Sub(1).Below(90*DayLength)
		rhythm := Edit{period: k.Sub(2).between(5*DayLength, 60*DayLength)}
		version, changed := rhythm.Version(made, now)
		x := Project{ID: a.projectID(n), Created: made, Modified: changed}
		x.Name = pick(k.Sub(3), []string{"安卓激活", "iOS 付费", "小游戏拉新", "Web2App", "品牌曝光"}) + "_" + strconv.Itoa(n+1)
		if k.Sub(4).Chance(60) {
			x.Budget = 100_000 + 100*k.Sub(5).Sub(uint64(version)).Below(50_000)
		}
		x.Aim = k.Sub(6).Sub(uint64(version))
		if a.Class == ClassQuiet && (a.Woken == 0 || now < a.Woken) {
			x.Status = StatusPaused
		}
		list = append(list, x)
	}
	return list
}
