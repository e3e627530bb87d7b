package world

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"adsync/simulator/fault/trap"
)

// AssetKind is the kind of an asset in an account's library.
type AssetKind uint8

// The kinds of assets.
const (
	AssetImage AssetKind = iota
	AssetVideo
)

func (k AssetKind) String() string { return [...]string{"image", "video"}[k] }

// assetsMax bounds an account's assets of a kind: some hundreds at the start, and one every few days up to 2035.
const assetsMax = 1 << 13

// library is an account's images or videos: a stock from before the world's start, and uploads since then.
type library struct {
	account *Account
	kind    AssetKind
	key     Key
	stock   int64
	period  int64 // seconds between uploads
}

func (a *Account) library(kind AssetKind) library {
	k := a.Key.Sub(200 + uint64(kind))
	return library{
		account: a, kind: kind, key: k,
		stock:  10 + int64(2+1-kind)*int64(a.Slots), // more images than videos
		period: k.Sub(1).between(3, 20) * DayLength,
	}
}

func (l library) uploaded(n int64) int64 {
	if n < l.stock {
		return FirstMoment.Unix() - 1400*DayLength + 100*DayLength*n/l.stock // before the world's oldest ad
	}
	return FirstMoment.Unix() + (n-l.stock)*l.period + l.key.Sub(uint64(100+n)).Below(l.period)
}

// count returns how many assets were uploaded by a moment, at least the stock.
func (l library) count(moment int64) int64 {
	since := moment - FirstMoment.Unix()
	if since < 0 {
		return l.stock
	}
	n := l.stock + since/l.period
	if l.uploaded(n) <= moment {
		n++
	}
	return n
}

// number returns the number of an asset, which is unique on the platform.
func (l library) number(n int64) int64 { return int64(l.account.Index)*assetsMax + n }

// Asset is an image or a video.
type Asset struct {
	Kind          AssetKind
	ID            string
	Material      int64 // its number in reports, on platforms that have one
	Name          string
	Width, Height int64
	Size          int64 // in bytes
	Milliseconds  int64 // length of a video
	Signature     string
	Created       int64 // 0 for some assets, which the platform does not date
	Modified      int64
}

// shape returns an asset's width and height.
func (l library) shape(n int64) [2]int64 {
	return pick(l.assetKey(n).Sub(1), [][2]int64{{1280, 720}, {720, 1280}, {1080, 1920}, {800, 800}})
}

func (l library) assetKey(n int64) Key { return l.key.Sub(uint64(100_000 + n)) }

func (l library) asset(n int64) Asset {
	k := l.assetKey(n)
	number, p := l.number(n), l.account.Platform
	x := Asset{Kind: l.kind, ID: p.AssetID(l.kind, number, k), Created: l.uploaded(n), Modified: l.uploaded(n),
		Signature: signature(k)}
	if l.account.traps.IsOn(trap.UndatedFile) && (n == 0 || k.Sub(97).Chance(4)) {
		x.Created = 0
	}
	if p.Material != nil {
		x.Material = p.Material(l.kind, number)
	}
	shape := l.shape(n)
	x.Width, x.Height = shape[0], shape[1]
	x.Size = k.Sub(2).between(40_000, 900_000)
	x.Name = l.kind.String() + "_" + strconv.FormatInt(n+1, 10)
	if l.kind == AssetVideo {
		x.Size *= 40
		x.Milliseconds = k.Sub(3).between(6_000, 60_000)
	}
	return x
}

// signature returns a text in place of the md5 of an asset's content.
func signature(k Key) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(k.Sub(10)))
	binary.BigEndian.PutUint64(b[8:], uint64(k.Sub(11)))
	return hex.EncodeToString(b[:])
}

// Assets lists an account's images or videos in order of upload, which is the order of their numbers.
func (a *Account) Assets(kind AssetKind, now int64) []Asset {
	l := a.library(kind)
	list := make([]Asset, 0, l.count(now))
	for n := range l.count(now) {
		list = append(list, l.asset(n))
	}
	return list
}
