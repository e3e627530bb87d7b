package simulator

import "strconv"

// project groups the ads of neighbouring slots, on platforms that have projects. Money is in fen.
type project struct {
	id       int64
	name     string
	status   status
	budget   int64
	created  int64
	aim      key // its audience
	modified int64
}

func (a *account) projectID(n int) int64 {
	p := a.p
	number := int64(a.index)*slotsMax + int64(n)
	return p.projectBase + number*p.objectStep + a.key.sub(uint64(300+n)).below(p.objectStep)
}

// projects lists the account's, in the order of their ids. They are all older than the world's first day.
func (a *account) projects(now int64) []project {
	list := make([]project, 0, (a.slots+adsPerProject-1)/adsPerProject)
	for n := 0; n*adsPerProject < a.slots; n++ {
		k := a.key.sub(uint64(400 + n))
		made := firstMoment.Unix() - k.sub(1).below(90*dayLength)
		rhythm := edit{period: k.sub(2).between(5*dayLength, 60*dayLength)}
		version, changed := rhythm.version(made, now)
		x := project{id: a.projectID(n), created: made, modified: changed}
		x.name = pick(k.sub(3), []string{"安卓激活", "iOS 付费", "小游戏拉新", "Web2App", "品牌曝光"}) + "_" + strconv.Itoa(n+1)
		if k.sub(4).chance(60) {
			x.budget = 100_000 + 100*k.sub(5).sub(uint64(version)).below(50_000)
		}
		x.aim = k.sub(6).sub(uint64(version))
		if a.class == classQuiet && (a.woken == 0 || now < a.woken) {
			x.status = statusPaused
		}
		list = append(list, x)
	}
	return list
}
