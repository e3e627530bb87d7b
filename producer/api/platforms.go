package api

import (
	"adsync/base/httpapi"
	"adsync/media"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// platforms returns the platform of a name, or all when it is empty.
func (a *api) platforms(name string) ([]media.Platform, error) {
	if name == "" {
		return a.Platforms, nil
	}
	var names []string
	for _, p := range a.Platforms {
		if p.Name() == name {
			return []media.Platform{p}, nil
		}
		names = append(names, p.Name())
	}
	return nil, httpapi.Invalid(httpapi.FieldError{Field: "media", Detail: fmt.Sprintf("%q is refused: want %s", name, strings.Join(names, " or "))})
}

// medias returns the platforms of all tasks' handlers, system among them.
func (a *api) medias() []string {
	medias := map[string]bool{}
	for _, handler := range a.Registry.Names() {
		name, _, _ := strings.Cut(handler, ".")
		medias[name] = true
	}
	return slices.Sorted(maps.Keys(medias))
}
