package simulator

import (
	"adsync/simulator/baidu"
	"adsync/simulator/bilibili"
	"adsync/simulator/kuaishou"
	"adsync/simulator/oceanengine"
	"adsync/simulator/platform"
	"adsync/simulator/tencent"
	"adsync/simulator/tiktok"
)

// platforms lists all platforms, a line each. Accounts are assigned to them in turn, so their order is part of the
// world.
func platforms() []platform.Platform {
	return []platform.Platform{
		tencent.New(),
		oceanengine.New(),
		kuaishou.New(),
		tiktok.New(),
		baidu.New(),
		bilibili.New(),
	}
}
