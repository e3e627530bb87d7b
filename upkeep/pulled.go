package upkeep

import (
	"context"

	"adsync/media"
)

// PulledScope is a report and level whose days tasks pull for the accounts of some tiers.
type PulledScope struct {
	Scope

	tasks fillScope
}

// Pulls reports whether a task pulls it for accounts of a tier.
func (s *PulledScope) Pulls(tier string) bool {
	_, found := s.tasks.taskOf(tier)
	return found
}

// PulledScopes returns what the enabled tasks of a platform pull by the day. It skips rows of tasks that are invalid.
func PulledScopes(ctx context.Context, s ReachStore, platform media.Platform) ([]PulledScope, error) {
	scopes, err := fillScopes(ctx, s, platform)
	if err != nil {
		return nil, err
	}
	all := make([]PulledScope, len(scopes))
	for i, scope := range scopes {
		all[i] = PulledScope{Scope: Scope{scope.Name, scope.Level}, tasks: scope}
	}
	return all, nil
}
