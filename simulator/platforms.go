package simulator

import (
	"adsync/simulator/oceanengine"
	"adsync/simulator/platform"
	"adsync/simulator/tencent"
)

// platforms lists all platforms, a line each. Accounts are assigned to them in turn, so their order is part of the
// world.
func platforms() []platform.Platform {
	return []platform.Platform{
		tencent.New(),
		oceanengine.New(),
	}
}
