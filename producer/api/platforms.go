package api

import (
	"maps"
	"slices"
	"strings"

	"adsync/base/httpapi"
	"adsync/media"
)

// platformList is the platforms that this installation has.
type platformList []media.Platform

// named returns the platform of a name, or all when it is empty.
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

// names lists the platforms for who has to choose one.
func (l platformList) names() string {
	all := make([]string, len(l))
	for i, p := range l {
		all[i] = p.Name()
	}
	return strings.Join(all, " or ")
}

// mediasOf returns the platforms of all tasks' handlers, system among them.
func mediasOf(handlers *media.Registry) []string {
	medias := map[string]bool{}
	for _, handler := range handlers.Names() {
		name, _, _ := strings.Cut(handler, ".")
		medias[name] = true
	}
	return slices.Sorted(maps.Keys(medias))
}
