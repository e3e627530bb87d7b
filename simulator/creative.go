package simulator

import "strconv"

// creativesMax bounds the creatives of an ad; only those of a giant account come near it.
const creativesMax = 512

// creative is one of an ad's creatives: a video with its cover, or a group of images. It is made with its ad or later,
// and deleted with it or before. The first one lives and runs for as long as its ad.
type creative struct {
	key     key
	ad      *ad
	n       int // of the ad's
	id      int64
	created int64
	deleted int64 // may lie in the future
	played  int64 // until when it shares in figures
	// material is what reports know it by where creatives are parts of their ad, else 0.
	material int64
	// mode is the platform's word for what kind of material it is, where creatives are parts of their ad.
	mode string
	// isTitle says that it is no creative but the title of its ad, which such platforms report on too.
	isTitle bool
}

// creativeCount is how many creatives an ad has had in the end.
func (x *ad) creativeCount() int {
	if x.creatives > 0 {
		return x.creatives
	}
	return int(pick(x.key.sub(60), []int64{2, 2, 2, 3, 3, 4}))
}

func (x *ad) creative(a *account, n int) creative {
	k := x.key.sub(uint64(2000 + n))
	c := creative{key: k, ad: x, n: n, id: a.p.creativeBase + x.number*creativesMax + int64(n), created: x.created, deleted: x.deleted}
	if n > 1 && x.creatives == 0 {
		c.created += (x.deleted - x.created) * k.sub(1).between(2, 60) / 100
	}
	if n > 0 && x.creatives == 0 && k.sub(2).chance(20) {
		c.deleted = c.created + (x.deleted-c.created)*k.sub(3).between(20, 90)/100
	}
	c.played = c.deleted
	for i := range a.edits {
		if e := &a.edits[i]; e.drops(&c) {
			// It is done with its day, whose figures are shared out already. One that would have been deleted on that day anyway had no part in it.
			c.deleted, c.played = e.At, min(c.deleted, a.calendar.start(a.calendar.dayOf(e.At)+1))
		}
	}
	if a.p.creativesAreParts {
		kind, number := c.partOf(a)
		l := a.library(kind)
		c.material, c.mode = a.p.material(kind, l.number(number)), a.p.mode(kind, l.shape(number))
	}
	return c
}

// eachCreative calls yield with the ad's creatives made by now, in the order of their ids, deleted ones too.
func (x *ad) eachCreative(a *account, now int64, yield func(creative)) {
	for n := range x.creativeCount() {
		if c := x.creative(a, n); c.created <= now {
			yield(c)
		}
	}
}

// isVideo tells a video from a group of images.
func (c *creative) isVideo() bool { return c.key.sub(4).chance(60) }

func (c *creative) edits(child uint64, daysMin, daysMax int64) edit {
	k := c.key.sub(child)
	period := k.sub(1).between(daysMin*dayLength, daysMax*dayLength)
	return edit{period: period, phase: k.sub(2).below(period)}
}

// statusAt is the advertiser's own switch at a moment after the creative was made. A third of the creatives rest now
// and then; the first one of an ad never does, nor those of a giant.
func (c *creative) statusAt(moment int64) (s status, changed int64) {
	if c.n == 0 || c.ad.creatives > 0 || !c.key.sub(5).chance(33) {
		return statusActive, c.created
	}
	cycle := c.edits(10, 6, 50)
	on := cycle.period * c.key.sub(6).between(60, 95) / 100
	cycle.phase %= on
	n, resumed := cycle.version(c.created, moment)
	if rest := c.created + n*cycle.period - cycle.phase + on; moment >= rest {
		return statusPaused, rest
	}
	return statusActive, resumed
}

// listedCreative is a creative as the configuration shows it at a moment.
type listedCreative struct {
	creative
	name     string
	status   status
	modified int64
	swaps    int64 // of covers and images so far
}

// assets are the video and then its cover, or the images.
func (c *listedCreative) assets(a *account) []asset { return c.assetsOf(a, c.swaps) }

// isUnlisted tells whether the creative was deleted while its ad lived on, which a platform that has no creatives of
// their own shows by showing it no more.
func (c *listedCreative) isUnlisted() bool {
	return c.status == statusDeleted && c.deleted < c.ad.deleted
}

// at is the creative's configuration at a moment after it was made. A deleted one keeps the values of its last second.
func (c *creative) at(now int64) listedCreative {
	x := listedCreative{creative: *c}
	moment := max(min(now, c.deleted-1), c.created)
	version, renamed := c.edits(20, 30, 200).version(c.created, moment)
	x.name = c.nameOf(version)
	var swapped, switched int64
	x.swaps, swapped = c.edits(21, 20, 120).version(c.created, moment)
	x.status, switched = c.statusAt(moment)
	x.modified = max(renamed, swapped, switched)
	if c.deleted <= now {
		x.status, x.modified = statusDeleted, c.deleted
	}
	return x
}

func (c *creative) nameOf(version int64) string {
	b := append([]byte(nil), pick(c.key.sub(30), []string{"口播", "实录", "剧情", "混剪", "CG", "试玩"})...)
	b = append(b, '_')
	b = append(b, pick(c.key.sub(31), []string{"竖版", "横版", "方图", "三图"})...)
	b = append(b, '_')
	b = strconv.AppendInt(b, c.ad.number%(slotsMax*generationsMax), 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, int64(c.n+1), 10)
	if version > 0 {
		b = append(b, "_v"...)
		b = strconv.AppendInt(b, version+1, 10)
	}
	return string(b)
}

// assetsOf is what the creative shows: of the account's library, as it was when the ad was made. The creatives of an ad
// show different videos. A video stays, while covers and images are swapped.
func (c *creative) assetsOf(a *account, version int64) []asset {
	if a.p.creativesAreParts && !c.isVideo() {
		// Another image would be another material, and so another part.
		kind, number := c.partOf(a)
		return []asset{a.library(kind).asset(number)}
	}
	images := a.library(assetImage)
	start, stock := c.ad.key.sub(61).below(1<<40), images.count(c.ad.created)
	image := func(i int64) asset { return images.asset((start + int64(c.n)*3 + version + i) % stock) }
	if c.isVideo() {
		videos := a.library(assetVideo)
		return []asset{videos.asset(c.videoNumber(videos)), image(0)}
	}
	list := make([]asset, c.key.sub(7).between(1, 3))
	for i := range list {
		list[i] = image(int64(i))
	}
	return list
}

func (c *creative) videoNumber(videos library) int64 {
	return (c.ad.key.sub(62).below(1<<40) + int64(c.n)) % videos.count(c.ad.created)
}

// partOf is the file that the creative is where creatives are parts of their ad: its video, or its image. The parts of an ad are
// different files, and a file is a part of several ads.
func (c *creative) partOf(a *account) (kind assetKind, number int64) {
	if c.isVideo() {
		return assetVideo, c.videoNumber(a.library(assetVideo))
	}
	return assetImage, (c.ad.key.sub(61).below(1<<40) + int64(c.n)) % a.library(assetImage).count(c.ad.created)
}

// creativeFloor is below the ids of all of an account's creatives, near enough for short cursors.
func (a *account) creativeFloor() int64 {
	return a.p.creativeBase + int64(a.index)*slotsMax*generationsMax*creativesMax - 1
}

// creatives lists an account's creatives as its configuration shows them, deleted ones too, in the order of their ids.
func (a *account) creatives(now int64) []listedCreative {
	var list []listedCreative
	a.ads(now, true, func(x ad) {
		x.eachCreative(a, now, func(c creative) { list = append(list, c.at(now)) })
	})
	return list
}

// player is a creative that shares in the figures of an ad on a day.
type player struct {
	creative *creative
	weight   int64
	figures  figures
}

// players are the creatives that share in the ad's figures of a day: those that lived and ran when the day, or their
// ad, began, and were there to the end of it. The first one always is.
func (x *ad) players(a *account, day int) []player {
	from, to := max(x.calendar.start(day), x.created), min(x.calendar.start(day+1), x.deleted)
	list := make([]player, 0, 4)
	for n := range x.creativeCount() {
		c := x.creative(a, n)
		if c.created > from || c.played < to {
			continue
		}
		if s, _ := c.statusAt(from); s == statusActive {
			list = append(list, player{creative: &c, weight: c.key.sub(8).between(10, 100)})
		}
	}
	return list
}

// share splits the ad's figures of an hour over the players, exactly: what a player gets of any figure follows from where
// its impressions begin and end among all, so that one without impressions gets nothing.
func share(list []player, f *figures, turn key, price int64) {
	var total int64
	for i := range list {
		total += list[i].weight
		list[i].figures = figures{}
	}
	all := f[impressions]
	// Whoever is last has what the roundings leave, so the order is another one each hour.
	first := int(turn.below(int64(len(list))))
	var weight, from int64
	for i := range list {
		x := &list[(first+i)%len(list)]
		weight += x.weight
		to := all * weight / total
		if to == from {
			continue
		}
		for m, n := range f {
			unit := int64(1)
			if metric(m) == payAmount || metric(m) == payAmountD1 || metric(m) == payAmountD3 || metric(m) == payAmountD7 {
				unit = max(price, 1) // payments are whole ones
			}
			n /= unit
			x.figures[m] = (n*to/all - n*from/all) * unit
		}
		from = to
	}
}
