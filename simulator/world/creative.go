package world

import "strconv"

// creativesMax bounds the creatives of an ad; only those of a giant account come near it.
const creativesMax = 512

// Creative is one of an ad's creatives: a video with its cover, or a group of images. It is made with its ad or later,
// and deleted with it or before. The first one lives and runs for as long as its ad.
type Creative struct {
	key     Key
	Ad      *Ad
	N       int // of the ad's
	ID      int64
	Created int64
	Deleted int64 // may lie in the future
	played  int64 // until when it shares in figures
	// Material is what reports know it by where creatives are parts of their ad, else 0.
	Material int64
	// Mode is the platform's word for what kind of material it is, where creatives are parts of their ad.
	Mode string
	// IsTitle says that it is no creative but the title of its ad, which such platforms report on too.
	IsTitle bool
}

// creativeCount is how many creatives an ad has had in the end.
func (x *Ad) creativeCount() int {
	if x.creatives > 0 {
		return x.creatives
	}
	return int(pick(x.key.Sub(60), []int64{2, 2, 2, 3, 3, 4}))
}

func (x *Ad) creative(a *Account, n int) Creative {
	k := x.key.Sub(uint64(2000 + n))
	c := Creative{key: k, Ad: x, N: n, ID: a.Platform.CreativeBase + x.Number*creativesMax + int64(n), Created: x.Created,
		Deleted: x.Deleted}
	if n > 1 && x.creatives == 0 {
		c.Created += (x.Deleted - x.Created) * k.Sub(1).between(2, 60) / 100
	}
	if n > 0 && x.creatives == 0 && k.Sub(2).Chance(20) {
		c.Deleted = c.Created + (x.Deleted-c.Created)*k.Sub(3).between(20, 90)/100
	}
	c.played = c.Deleted
	for i := range a.edits {
		if e := &a.edits[i]; e.drops(&c) {
			// It is done with its day, whose figures are shared out already. One that would have been deleted on that day
			// anyway had no part in it.
			c.Deleted, c.played = e.At, min(c.Deleted, a.Calendar.Start(a.Calendar.DayOf(e.At)+1))
		}
	}
	if a.Platform.CreativesAreParts {
		kind, number := c.partOf(a)
		l := a.library(kind)
		c.Material, c.Mode = a.Platform.Material(kind, l.number(number)), a.Platform.Mode(kind, l.shape(number))
	}
	return c
}

// EachCreative calls yield with the ad's creatives made by now, in the order of their ids, deleted ones too.
func (x *Ad) EachCreative(a *Account, now int64, yield func(Creative)) {
	for n := range x.creativeCount() {
		if c := x.creative(a, n); c.Created <= now {
			yield(c)
		}
	}
}

// IsVideo tells a video from a group of images.
func (c *Creative) IsVideo() bool { return c.key.Sub(4).Chance(60) }

func (c *Creative) edits(child uint64, daysMin, daysMax int64) Edit {
	k := c.key.Sub(child)
	period := k.Sub(1).between(daysMin*DayLength, daysMax*DayLength)
	return Edit{period: period, phase: k.Sub(2).Below(period)}
}

// StatusAt is the advertiser's own switch at a moment after the creative was made. A third of the creatives rest now
// and then; the first one of an ad never does, nor those of a giant.
func (c *Creative) statusAt(moment int64) (s Status, changed int64) {
	if c.N == 0 || c.Ad.creatives > 0 || !c.key.Sub(5).Chance(33) {
		return StatusActive, c.Created
	}
	cycle := c.edits(10, 6, 50)
	on := cycle.period * c.key.Sub(6).between(60, 95) / 100
	cycle.phase %= on
	n, resumed := cycle.Version(c.Created, moment)
	if rest := c.Created + n*cycle.period - cycle.phase + on; moment >= rest {
		return StatusPaused, rest
	}
	return StatusActive, resumed
}

// ListedCreative is a creative as the configuration shows it at a moment.
type ListedCreative struct {
	Creative
	Name     string
	Status   Status
	Modified int64
	Swaps    int64 // of covers and images so far
}

// Assets are the video and then its cover, or the images.
func (c *ListedCreative) Assets(a *Account) []Asset { return c.AssetsOf(a, c.Swaps) }

// IsUnlisted tells whether the creative was deleted while its ad lived on, which a platform that has no creatives of
// their own shows by showing it no more.
func (c *ListedCreative) IsUnlisted() bool {
	return c.Status == StatusDeleted && c.Deleted < c.Ad.Deleted
}

// At is the creative's configuration at a moment after it was made. A deleted one keeps the values of its last second.
func (c *Creative) At(now int64) ListedCreative {
	x := ListedCreative{Creative: *c}
	moment := max(min(now, c.Deleted-1), c.Created)
	version, renamed := c.edits(20, 30, 200).Version(c.Created, moment)
	x.Name = c.nameOf(version)
	var swapped, switched int64
	x.Swaps, swapped = c.edits(21, 20, 120).Version(c.Created, moment)
	x.Status, switched = c.statusAt(moment)
	x.Modified = max(renamed, swapped, switched)
	if c.Deleted <= now {
		x.Status, x.Modified = StatusDeleted, c.Deleted
	}
	return x
}

func (c *Creative) nameOf(version int64) string {
	b := append([]byte(nil), pick(c.key.Sub(30), []string{"口播", "实录", "剧情", "混剪", "CG", "试玩"})...)
	b = append(b, '_')
	b = append(b, pick(c.key.Sub(31), []string{"竖版", "横版", "方图", "三图"})...)
	b = append(b, '_')
	b = strconv.AppendInt(b, c.Ad.Number%(slotsMax*GenerationsMax), 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, int64(c.N+1), 10)
	if version > 0 {
		b = append(b, "_v"...)
		b = strconv.AppendInt(b, version+1, 10)
	}
	return string(b)
}

// AssetsOf is what the creative shows: of the account's library, as it was when the ad was made. The creatives of an ad
// show different videos. A video stays, while covers and images are swapped.
func (c *Creative) AssetsOf(a *Account, version int64) []Asset {
	if a.Platform.CreativesAreParts && !c.IsVideo() {
		// Another image would be another material, and so another part.
		kind, number := c.partOf(a)
		return []Asset{a.library(kind).asset(number)}
	}
	images := a.library(AssetImage)
	start, stock := c.Ad.key.Sub(61).Below(1<<40), images.count(c.Ad.Created)
	image := func(i int64) Asset { return images.asset((start + int64(c.N)*3 + version + i) % stock) }
	if c.IsVideo() {
		videos := a.library(AssetVideo)
		return []Asset{videos.asset(c.videoNumber(videos)), image(0)}
	}
	list := make([]Asset, c.key.Sub(7).between(1, 3))
	for i := range list {
		list[i] = image(int64(i))
	}
	return list
}

func (c *Creative) videoNumber(videos library) int64 {
	return (c.Ad.key.Sub(62).Below(1<<40) + int64(c.N)) % videos.count(c.Ad.Created)
}

// partOf is the file that the creative is where creatives are parts of their ad: its video, or its image. The parts
// of an ad are different files, and a file is a part of several ads.
func (c *Creative) partOf(a *Account) (kind AssetKind, number int64) {
	if c.IsVideo() {
		return AssetVideo, c.videoNumber(a.library(AssetVideo))
	}
	return AssetImage, (c.Ad.key.Sub(61).Below(1<<40) + int64(c.N)) % a.library(AssetImage).count(c.Ad.Created)
}

// CreativeFloor is below the ids of all of an account's creatives, near enough for short cursors.
func (a *Account) CreativeFloor() int64 {
	return a.Platform.CreativeBase + int64(a.Index)*slotsMax*GenerationsMax*creativesMax - 1
}

// Creatives lists an account's creatives as its configuration shows them, deleted ones too, in the order of their ids.
func (a *Account) Creatives(now int64) []ListedCreative {
	var list []ListedCreative
	a.Ads(now, true, func(x Ad) {
		x.EachCreative(a, now, func(c Creative) { list = append(list, c.At(now)) })
	})
	return list
}

// player is a creative that shares in the figures of an ad on a day.
type player struct {
	creative *Creative
	weight   int64
	figures  Figures
}

// players are the creatives that share in the ad's figures of a day: those that lived and ran when the day, or their
// ad, began, and were there to the end of it. The first one always is.
func (x *Ad) players(a *Account, day int) []player {
	from, to := max(x.calendar.Start(day), x.Created), min(x.calendar.Start(day+1), x.Deleted)
	list := make([]player, 0, 4)
	for n := range x.creativeCount() {
		c := x.creative(a, n)
		if c.Created > from || c.played < to {
			continue
		}
		if s, _ := c.statusAt(from); s == StatusActive {
			list = append(list, player{creative: &c, weight: c.key.Sub(8).between(10, 100)})
		}
	}
	return list
}

// share splits the ad's figures of an hour over the players, exactly: what a player gets of any figure follows from
// where its impressions begin and end among all, so that one without impressions gets nothing.
func share(list []player, f *Figures, turn Key, price int64) {
	var total int64
	for i := range list {
		total += list[i].weight
		list[i].figures = Figures{}
	}
	all := f[Impressions]
	// Whoever is last has what the roundings leave, so the order is another one each hour.
	first := int(turn.Below(int64(len(list))))
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
			if Metric(m) == PayAmount || Metric(m) == PayAmountD1 || Metric(m) == PayAmountD3 || Metric(m) == PayAmountD7 {
				unit = max(price, 1) // payments are whole ones
			}
			n /= unit
			x.figures[m] = (n*to/all - n*from/all) * unit
		}
		from = to
	}
}
