package simulator

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// assetKind is what an asset of an account's library is.
type assetKind uint8

const (
	assetImage assetKind = iota
	assetVideo
)

func (k assetKind) String() string { return [...]string{"image", "video"}[k] }

// assetsMax bounds an account's assets of a kind: some hundreds to begin with, and one each few days up to 2035.
const assetsMax = 1 << 13

// library is an account's images or videos: a stock from before the world, and uploads ever since.
type library struct {
	account *account
	kind    assetKind
	key     key
	stock   int64
	period  int64 // of an upload
}

func (a *account) library(kind assetKind) library {
	k := a.key.sub(200 + uint64(kind))
	return library{
		account: a, kind: kind, key: k,
		stock:  10 + int64(2+1-kind)*int64(a.slots), // more images than videos
		period: k.sub(1).between(3, 20) * dayLength,
	}
}

func (l library) uploaded(n int64) int64 {
	if n < l.stock {
		return firstMoment.Unix() - 1400*dayLength + 100*dayLength*n/l.stock // before the oldest ad of the world
	}
	return firstMoment.Unix() + (n-l.stock)*l.period + l.key.sub(uint64(100+n)).below(l.period)
}

// count is how many assets were uploaded by a moment, and never less than the stock.
func (l library) count(moment int64) int64 {
	since := moment - firstMoment.Unix()
	if since < 0 {
		return l.stock
	}
	n := l.stock + since/l.period
	if l.uploaded(n) <= moment {
		n++
	}
	return n
}

// number tells an asset from all others of the platform.
func (l library) number(n int64) int64 { return int64(l.account.index)*assetsMax + n }

// asset is an image or a video.
type asset struct {
	kind          assetKind
	id            string
	material      int64 // the number that reports know it by, where they do
	name          string
	width, height int64
	size          int64 // in bytes
	milliseconds  int64 // of a video
	signature     string
	created       int64 // 0 of some, which the platform does not date
	modified      int64
}

// shape is an asset's width and height.
func (l library) shape(n int64) [2]int64 {
	return pick(l.assetKey(n).sub(1), [][2]int64{{1280, 720}, {720, 1280}, {1080, 1920}, {800, 800}})
}

func (l library) assetKey(n int64) key { return l.key.sub(uint64(100_000 + n)) }

func (l library) asset(n int64) asset {
	k := l.assetKey(n)
	number, p := l.number(n), l.account.p
	x := asset{kind: l.kind, id: p.assetID(l.kind, number, k), created: l.uploaded(n), modified: l.uploaded(n), signature: signature(k)}
	if l.account.traps.isOn(trapUndatedFile) && (n == 0 || k.sub(97).chance(4)) {
		x.created = 0
	}
	if p.material != nil {
		x.material = p.material(l.kind, number)
	}
	shape := l.shape(n)
	x.width, x.height = shape[0], shape[1]
	x.size = k.sub(2).between(40_000, 900_000)
	x.name = l.kind.String() + "_" + strconv.FormatInt(n+1, 10)
	if l.kind == assetVideo {
		x.size *= 40
		x.milliseconds = k.sub(3).between(6_000, 60_000)
	}
	return x
}

// signature stands for the md5 of an asset's content.
func signature(k key) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(k.sub(10)))
	binary.BigEndian.PutUint64(b[8:], uint64(k.sub(11)))
	return hex.EncodeToString(b[:])
}

// assets lists an account's images or videos in the order of their upload, which is that of their numbers.
func (a *account) assets(kind assetKind, now int64) []asset {
	l := a.library(kind)
	list := make([]asset, 0, l.count(now))
	for n := range l.count(now) {
		list = append(list, l.asset(n))
	}
	return list
}
