package api

import (
	"maps"
	"slices"
	"strings"

	"adsync/base/httpapi"
	"adsync/media"
)

// platformList has the platforms of this installation.
type platformList []media.Platform

// named returns the platform with a name, or all platforms if the name is empty.
func (l platformList) named(name string) ([]media.Platform, error) {
	if name == "" {
		return l, nil
	}
	for _, p := range l {
		if p.Name() == name {
			return []media.Platform{p}, nil
		}
	}
	return nil, httpapi.Refused("media", "%q is refused: want %s", name, l.names())
}

// names lists the platforms' names for a refusal.
func (l platformList) names() string {
	all := make([]string, len(l))
	for i, p := range l {
		all[i] = p.Name()
	}
	return strings.Join(all, " or ")
}

// platformsOf returns the platforms of all tasks' handlers, system among them.
func platformsOf(handlers *media.Registry) []string {
	platforms := map[string]bool{}
	for _, handler := range handlers.Names() {
		name, _, _ := strings.Cut(handler, ".")
		platforms[name] = true
	}
	return slices.Sorted(maps.Keys(platforms))
}
