package world

import "strconv"

// creativesMax bounds the creatives of an ad; only ads of a giant account have nearly as many.
const creativesMax = 512

// Creative is one of an ad's creatives: a video with its cover, or a group of images. It is created with its ad or
// later, and deleted with it or before. The first one exists and runs as long as its ad.
type Creative struct {
	key     Key
	Ad      *Ad
	N       int // its number in the ad
	ID      int64
	Created int64
	Deleted int64 // may be in the future
	played  int64 // until when it has figures
	// Material is its id in reports where creatives are parts of their ad, otherwise 0.
	Material int64
	// Mode is the platform's name for its kind of material, where creatives are parts of their ad.
	Mode    string
	isVideo bool // on platforms that have only videos
	// IsTitle means that it is not a creative but the title of its ad, on which such platforms report too.
	IsTitle bool
}

// creativeCount returns how many creatives an ad has over its whole life.
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
	c.isVideo = a.Platform.VideosOnly
	c.played = c.Deleted
	for i := range a.edits {
		if e := &a.edits[i]; e.drops(&c) {
			// It keeps its figures of that day, which are distributed already. A creative whose own deletion falls on that day
			// has none.
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

// EachCreative calls yield with the ad's creatives created by now, in order of id, including deleted ones.
func (x *Ad) EachCreative(a *Account, now int64, yield func(Creative)) {
	for n := range x.creativeCount() {
		if c := x.creative(a, n); c.Created <= now {
			yield(c)
		}
	}
}

// IsVideo reports whether it is a video and not a group of images.
func (c *Creative) IsVideo() bool { return c.isVideo || c.key.Sub(4).Chance(60) }

func (c *Creative) edits(child uint64, daysMin, daysMax int64) Edit {
	k := c.key.Sub(child)
	period := k.Sub(1).between(daysMin*DayLength, daysMax*DayLength)
	return Edit{period: period, phase: k.Sub(2).Below(period)}
}

// statusAt returns the status set by the advertiser at a moment after the creative was created. A third of the
// creatives are paused from time to time; the first one of an ad never is, nor are those of a giant or a package.
func (c *Creative) statusAt(moment int64) (s Status, changed int64) {
	if c.N == 0 || c.Ad.creatives > 0 || c.Ad.Packed || !c.key.Sub(5).Chance(33) {
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

// ListedCreative is a creative in the configuration at a moment.
type ListedCreative struct {
	Creative
	Name     string
	Status   Status
	Modified int64
	Swaps    int64 // changes of covers and images so far
}

// Assets returns the video and its cover, or the images.
func (c *ListedCreative) Assets(a *Account) []Asset { return c.AssetsOf(a, c.Swaps) }

// IsUnlisted reports whether the creative was deleted while its ad still exists. A platform without separate
// creatives, and the list of a package, then no longer have it.
func (c *ListedCreative) IsUnlisted() bool {
	return c.Status == StatusDeleted && c.Deleted < c.Ad.Deleted
}

// At returns the configuration at a moment after the creative was created. A deleted one keeps the values of its last
// second.
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

// AssetsOf returns the assets that the creative shows, from the account's library at the time when the ad was
// created. The creatives of an ad show different videos. A video stays; covers and images change.
func (c *Creative) AssetsOf(a *Account, version int64) []Asset {
	if a.Platform.CreativesAreParts && !c.IsVideo() {
		// Another image would be another material, and thus another part.
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

// partOf returns the file of the creative where creatives are parts of their ad: its video or its image. The parts of
// an ad are different files, and a file is a part of several ads.
func (c *Creative) partOf(a *Account) (kind AssetKind, number int64) {
	if c.IsVideo() {
		return AssetVideo, c.videoNumber(a.library(AssetVideo))
	}
	return AssetImage, (c.Ad.key.Sub(61).Below(1<<40) + int64(c.N)) % a.library(AssetImage).count(c.Ad.Created)
}

// CreativeFloor returns a number below the ids of all of an account's creatives, close enough for short cursors.
func (a *Account) CreativeFloor() int64 {
	return a.Platform.CreativeBase + int64(a.Index)*slotsMax*GenerationsMax*creativesMax - 1
}

// Creatives lists the creatives in an account's configuration, including deleted ones, in order of id. Those of a
// package have its name and times.
func (a *Account) Creatives(now int64) []ListedCreative {
	var list []ListedCreative
	a.Ads(now, true, func(x Ad) {
		before := len(list)
		x.EachCreative(a, now, func(c Creative) { list = append(list, c.At(now)) })
		if x.Packed {
			x.pack(list[before:], now)
		}
	})
	return list
}

// pack gives the creatives of a package its name and times. The package changes with each of them and ends with its ad.
func (x *Ad) pack(list []ListedCreative, now int64) {
	changed := x.Created
	for i := range list {
		changed = max(changed, list[i].Modified)
	}
	if x.Deleted <= now {
		changed = x.Deleted
	}
	for i := range list {
		list[i].Name, list[i].Created, list[i].Modified = x.packName, x.Created, changed
	}
}

// player is a creative that has a share of an ad's figures on a day.
type player struct {
	creative *Creative
	weight   int64
	figures  Figures
}

// players returns the creatives that share an ad's figures of a day: those that ran when the day, or their ad, began,
// and existed to the end of it. The first one always does.
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

// share splits the ad's figures of an hour among the players, exactly. A player's part of each figure follows from
// where its impressions begin and end among all impressions, so that a player without impressions gets nothing.
func share(list []player, f *Figures, hour Key, price int64) {
	var total int64
	for i := range list {
		total += list[i].weight
		list[i].figures = Figures{}
	}
	all := f[Impressions]
	// The last player gets the rest from rounding, so the order changes each hour.
	first := int(hour.Below(int64(len(list))))
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
				unit = max(price, 1) // payments are not split
			}
			n /= unit
			x.figures[m] = (n*to/all - n*from/all) * unit
		}
		from = to
	}
}
