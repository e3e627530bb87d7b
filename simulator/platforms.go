package simulator

import (
	"fmt"
	"slices"
	"strings"

	"adsync/simulator/baidu"
	"adsync/simulator/bilibili"
	"adsync/simulator/kuaishou"
	"adsync/simulator/oceanengine"
	"adsync/simulator/platform"
	"adsync/simulator/tencent"
	"adsync/simulator/tiktok"
)

// Named returns the platforms of the list with these names, in the order of the list.
func Named(names []string) ([]platform.Platform, error) {
	all := platforms()
	for _, name := range names {
		if !slices.Contains(namesOf(all), name) {
			return nil, fmt.Errorf("there is no simulated platform %q: want some of %s", name,
				strings.Join(namesOf(all), ", "))
		}
	}
	return slices.DeleteFunc(all, func(p platform.Platform) bool { return !slices.Contains(names, p.Spec().Name) }), nil
}

func namesOf(list []platform.Platform) []string {
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Spec().Name
	}
	return names
}

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
