package engine

import (
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/baidu"
	"adsync/media/bilibili"
	"adsync/media/external"
	"adsync/media/kuaishou"
	"adsync/media/oceanengine"
	"adsync/media/tencent"
	"adsync/media/tiktok"
)

// Platforms returns the platforms that adsync can pull, in the order of their names in lists. It has a line for each,
// and everything that works with any platform derives from it.
func Platforms() []media.Platform {
	return []media.Platform{
		tencent.New(),
		oceanengine.New(),
		kuaishou.New(),
		tiktok.New(),
		baidu.New(),
		bilibili.New(),
	}
}

// PlatformNames returns the names of Platforms, in their order.
func PlatformNames() []string {
	var names []string
	for _, p := range Platforms() {
		names = append(names, p.Name())
	}
	return names
}

// Platform returns one of Platforms by its name; nil if it does not exist.
func Platform(name string) media.Platform {
	for _, p := range Platforms() {
		if p.Name() == name {
			return p
		}
	}
	return nil
}

// RawTables returns the raw tables of all platforms, also of those without Go code.
func RawTables() []rawtable.Table {
	tables := external.Tables()
	for _, p := range Platforms() {
		tables = append(tables, media.Tables(p)...)
	}
	return tables
}
